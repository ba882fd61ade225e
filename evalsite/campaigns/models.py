from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Protocol, Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Membership, Organisation, OwnedQuerySet, User
from evalsite.chatbots.models import Version
from evalsite.core.db import PublicModel
from evalsite.core.names import ShownNames, as_validation_error, lookalike_check
from evalsite.core.reasons import reason_code, reason_text
from evalsite.endpoints.models import CallBudget
from evalsite.prompts.models import Prompt, PromptSet


class Rubric(PublicModel):
    """The aspects that annotators judge. Campaigns that share a rubric can share a board."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="rubrics")
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="rubric_name_once")]

    def __str__(self) -> str:
        return self.name


class Answerable(Protocol):
    """What decides which answers a question has."""

    @property
    def kind(self) -> str: ...
    @property
    def allow_tie(self) -> bool: ...
    @property
    def allow_both_bad(self) -> bool: ...
    @property
    def minimum(self) -> int | None: ...
    @property
    def maximum(self) -> int | None: ...
    @property
    def labels(self) -> Sequence[str]: ...


def offered_choices(question: Answerable) -> list[str]:
    """Return the possible verdicts, ratings or labels of a question, in the order of their buttons."""
    if question.kind == Aspect.Kind.RATING:
        return [str(one) for one in range(question.minimum or 0, (question.maximum or 0) + 1)]
    if question.kind == Aspect.Kind.LABEL:
        return list(question.labels)
    tie = ["tie"] if question.allow_tie else []
    both_bad = ["both_bad"] if question.allow_both_bad else []
    return ["A", *tie, "B", *both_bad]


class Aspect(models.Model):
    """A question about the candidates. The aspect at position 0 is the primary one."""

    class Kind(models.TextChoices):
        CHOOSE_ONE = "choose_one", "choose one candidate"
        SELECT_ANY = "select_any", "select any candidates"
        RATING = "rating", "rate a candidate"
        LABEL = "label", "label a candidate"

    class Scope(models.TextChoices):
        """Subject of a rating or a label."""

        CANDIDATE = "candidate", "each candidate"
        SELECTED = "selected", "each candidate that the first question selects"
        TURN = "turn", "the turn as a whole"

    rubric = models.ForeignKey(Rubric, on_delete=models.CASCADE, related_name="aspects")
    position = models.PositiveIntegerField()
    key = models.SlugField(max_length=60)
    question = models.CharField(max_length=300)
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.CHOOSE_ONE)
    allow_tie = models.BooleanField(default=True)
    allow_both_bad = models.BooleanField(default=True)
    scope = models.CharField(max_length=12, choices=Scope, default=Scope.CANDIDATE)
    minimum = models.SmallIntegerField(null=True, blank=True, help_text="lowest rating")
    maximum = models.SmallIntegerField(null=True, blank=True, help_text="highest rating")
    labels = models.JSONField(default=list, blank=True, help_text="labels to choose from")
    one_label = models.BooleanField(default=False, help_text="an answer has exactly one label, not any number of them")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["rubric", "position"], name="aspect_position_once"),
            models.UniqueConstraint(fields=["rubric", "key"], name="aspect_key_once"),
            models.CheckConstraint(
                condition=Q(kind__in=["choose_one", "select_any", "rating", "label"]), name="aspect_kind_known"
            ),
            models.CheckConstraint(condition=Q(scope__in=["candidate", "selected", "turn"]), name="aspect_scope_known"),
            models.CheckConstraint(
                condition=~Q(kind="rating", minimum__isnull=True)
                & ~Q(kind="rating", maximum__isnull=True)
                & (Q(minimum__isnull=True) | Q(maximum__isnull=True) | Q(minimum__lt=F("maximum"))),
                name="aspect_rating_has_bounds",
            ),
        ]

    def __str__(self) -> str:
        return self.question

    @property
    def choices(self) -> list[str]:
        """Return the possible verdicts, ratings or labels, in the order of their buttons."""
        return offered_choices(self)

    def choices_among(self, labels: Iterable[str]) -> list[str]:
        """Return the possible verdicts on the candidates with these labels."""
        others = [choice for choice in self.choices if choice not in {"A", "B"}]
        return [*labels, *others]


class CampaignQuerySet(OwnedQuerySet):
    def of(self, user: User | None) -> Self:
        """Filter by this person's organisations, and by campaigns in which they have a role."""
        if user is None or not user.is_authenticated:
            return self.none()
        return self.of_key(user.pk)

    def of_key(self, user: int) -> Self:
        """Filter as `of` does, by the primary key of the person."""
        member = Membership.objects.filter(user=user).values("organisation")
        named = CampaignRole.objects.filter(user=user).values("campaign")
        return self.filter(Q(organisation__in=member) | Q(pk__in=named))


class Campaign(ShownNames, PublicModel):
    """A comparison of chatbots: its entrants, prompts, annotators and limits."""

    class State(models.TextChoices):
        DRAFT = "draft", _("Draft")
        PILOT = "pilot", _("Pilot")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        STOPPED = "stopped", _("Stopped")

    COLLECTING = (State.PILOT, State.RUNNING)

    class Visibility(models.TextChoices):
        PRIVATE = "private", _("members of the organisation")
        LINK = "link", _("whoever has the link")
        PUBLIC = "public", _("everybody")

    class Admission(models.TextChoices):
        MEMBERS = "members", _("members of the organisation judge")
        OPEN = "open", _("whoever sees the campaign judges")

    class PayPer(models.TextChoices):
        JUDGMENT = "judgment", _("for one judgment")
        HOUR = "hour", _("for an hour of judging")

    class Mode(models.TextChoices):
        STATIC = "static", _("Replies from files or collections are compared")
        LIVE = "live", _("Annotators chat with the chatbots and judge every turn")
        SINGLE = "single", _("Replies are labelled or rated one at a time")

    class Screening(models.TextChoices):
        OFF = "off", "annotators are not screened"
        PROPOSE = "propose", "exclusions are proposed to a person"
        ACT = "act", "annotators are excluded, and admitted again, by rule"

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True)
    description = models.TextField(blank=True, default="")
    mode = models.CharField(max_length=6, choices=Mode, default=Mode.STATIC)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    visibility = models.CharField(max_length=10, choices=Visibility, default=Visibility.PRIVATE)
    admission = models.CharField(max_length=10, choices=Admission, default=Admission.MEMBERS)
    shows_prompts = models.BooleanField(
        default=False, help_text="whoever sees the board may read its prompts, and what each of them tells"
    )
    shows_replies = models.BooleanField(
        default=False, help_text="and some replies to them, as examples beside the chatbots that gave them"
    )
    releases_data = models.BooleanField(
        default=False, help_text="whoever sees the board may download its judgments, without names of annotators"
    )
    licence = models.CharField(
        max_length=100, blank=True, default="", help_text="of the released data, such as CC-BY-4.0"
    )
    fits_known_ties = models.BooleanField(
        default=False, help_text="where two replies are the same text, the fit takes it for a tie that somebody judged"
    )
    standing = models.BooleanField(
        default=False, help_text="never ends: after a stop it waits, and opens again when an entrant joins"
    )
    newcomer_budget = models.PositiveIntegerField(
        null=True, blank=True, help_text="judgments that each newcomer of a standing campaign adds; null: the budget"
    )
    prompt_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="campaigns")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="campaigns")
    policy = models.CharField(max_length=30, default="adaptive", help_text="that chooses what to ask (scheduler)")
    seed = models.PositiveIntegerField(default=0)
    batch_size = models.PositiveIntegerField(default=100, help_text="judgments that close a batch and start a refit")
    batch_age_s = models.PositiveIntegerField(default=60, help_text="seconds after which an open batch closes")
    block_size = models.PositiveIntegerField(default=10, help_text="assignments that an annotator claims at a time")
    lease_s = models.PositiveIntegerField(default=1200, help_text="seconds in which a claimed block is to be answered")
    votes_per_item = models.PositiveIntegerField(default=1, help_text="judgments wanted of one pair on one prompt")
    screening = models.CharField(max_length=7, choices=Screening, default=Screening.PROPOSE)
    gold_share = models.FloatField(default=0.0, help_text="of what an annotator is given; 0: none")
    vetting_votes = models.PositiveIntegerField(
        default=0, help_text="votes after which those of a newcomer count, if the campaign is open; 0: at once"
    )
    gold_mark = models.FloatField(
        null=True, blank=True, help_text="share of gold that careful annotators pass; null: gold does not screen"
    )
    gold_set = models.ForeignKey(
        PromptSet, null=True, blank=True, on_delete=models.PROTECT, related_name="gold_of", editable=False
    )
    quota = models.PositiveIntegerField(null=True, blank=True, help_text="judgments one annotator may give")
    pay_rate = models.DecimalField(max_digits=9, decimal_places=4, default=0, help_text="for what pay_per says")
    pay_per = models.CharField(max_length=8, choices=PayPer, default=PayPer.JUDGMENT)
    currency = models.CharField(max_length=3, default="USD")
    call_budget = models.OneToOneField(
        CallBudget, null=True, blank=True, on_delete=models.PROTECT, related_name="campaign", editable=False
    )
    per_day = models.PositiveIntegerField(
        null=True, blank=True, help_text="judgments expected in a day; forecasts tell days by it, nothing else does"
    )
    stop_reason = models.TextField(blank=True, default="")
    stop_reason_data = models.JSONField(
        null=True,
        editable=False,
        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    opened_at = models.DateTimeField(
        null=True, blank=True, help_text="the budget counts from here: the start, or the last reopening"
    )
    stopped_at = models.DateTimeField(null=True, blank=True)

    objects = CampaignQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["draft", "pilot", "running", "paused", "stopped"]),
                name="campaign_state_known",
            ),
            models.CheckConstraint(condition=Q(mode__in=["static", "live", "single"]), name="campaign_mode_known"),
            models.CheckConstraint(
                condition=Q(visibility__in=["private", "link", "public"]), name="campaign_visibility_known"
            ),
            models.CheckConstraint(condition=Q(admission__in=["members", "open"]), name="campaign_admission_known"),
            models.CheckConstraint(
                condition=Q(screening__in=["off", "propose", "act"]), name="campaign_screening_known"
            ),
            models.CheckConstraint(
                condition=Q(
                    batch_size__gte=1,
                    batch_age_s__gte=1,
                    block_size__gte=1,
                    lease_s__gte=1,
                    votes_per_item__gte=1,
                ),
                name="campaign_sizes_from_one",
            ),
            models.CheckConstraint(
                condition=Q(newcomer_budget__isnull=True) | Q(newcomer_budget__gte=1),
                name="campaign_newcomer_budget_from_one",
            ),
            models.CheckConstraint(condition=Q(pay_rate__gte=0), name="campaign_pay_not_negative"),
            models.CheckConstraint(condition=Q(pay_per__in=["judgment", "hour"]), name="campaign_pay_per_known"),
            models.CheckConstraint(
                condition=Q(gold_share__gte=0, gold_share__lte=0.5), name="campaign_gold_share_is_half_at_most"
            ),
            models.CheckConstraint(
                condition=Q(gold_mark__isnull=True) | Q(gold_mark__gt=0, gold_mark__lt=1),
                name="campaign_gold_mark_is_a_share",
            ),
            models.CheckConstraint(
                condition=~Q(state="stopped") | Q(stopped_at__isnull=False), name="campaign_stopped_has_time"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def judgment_price(self) -> Decimal:
        """Return the approximate cost of a judgment without gold. An hourly rate is converted at one minute each."""
        return self.pay_rate if self.pay_per == self.PayPer.JUDGMENT else self.pay_rate / 60

    @property
    def state_text(self) -> str:
        """Return the state for a sentence: "the campaign is ..."."""
        words = {
            self.State.DRAFT: pgettext("the campaign is", "draft"),
            self.State.PILOT: pgettext("the campaign is", "pilot"),
            self.State.RUNNING: pgettext("the campaign is", "running"),
            self.State.PAUSED: pgettext("the campaign is", "paused"),
            self.State.STOPPED: pgettext("the campaign is", "stopped"),
        }
        return words[self.State(self.state)]

    @property
    def waits_for_chatbots(self) -> bool:
        """Return whether a rule has stopped a standing campaign, which a new chatbot opens again."""
        by_rule = reason_code(self.stop_reason_data) not in {"", "owner_ended"}
        return self.standing and self.state == self.State.STOPPED and by_rule

    @property
    def opened_again(self) -> bool:
        """Return whether a chatbot that joined after a stop has opened the campaign again."""
        return self.opened_at is not None and self.started_at is not None and self.opened_at > self.started_at

    @property
    def state_label(self) -> str:
        """Return the state for a heading or a list."""
        return gettext("Waiting for new chatbots") if self.waits_for_chatbots else str(self.get_state_display())

    @property
    def stop_reason_text(self) -> str:
        """The reason of the stop in the active language."""
        return reason_text(self.stop_reason, self.stop_reason_data)

    @property
    def vets_newcomers(self) -> bool:
        """Return whether votes of newcomers are provisional. Where only members judge, the owner knows everybody."""
        return self.vetting_votes > 0 and self.admission == self.Admission.OPEN

    @property
    def collecting(self) -> bool:
        """Return whether new assignments may be issued."""
        return self.state in self.COLLECTING

    @property
    def is_live(self) -> bool:
        """Return whether annotators chat with the chatbots (`LiveSettings`)."""
        return self.mode == self.Mode.LIVE

    @property
    def is_single(self) -> bool:
        """Return whether an assignment has one reply, which is labelled or rated."""
        return self.mode == self.Mode.SINGLE


class Study(PublicModel):
    """Live campaigns that are launched together as arms. An annotator is allocated to one arm at random."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="studies")
    name = models.CharField(max_length=200)
    seed = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "studies"
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="study_name_once")]

    def __str__(self) -> str:
        return self.name


class LiveSettings(models.Model):
    """Settings of a live campaign: who chats with how many chatbots, and how a turn is judged and paid."""

    class Selection(models.TextChoices):
        SOBA = "soba", _("The best reply is selected")
        SATA = "sata", _("All appropriate replies are selected")

    class Fallback(models.TextChoices):
        """How a conversation continues if no reply was selected."""

        RANDOM = "random", _("with a random reply")
        WRITTEN = "written", _("with a reply that the annotator writes")

    class PayPer(models.TextChoices):
        TURN = "turn", _("for one turn")
        CONVERSATION = "conversation", _("for one conversation")

    MOST_CHATBOTS = 8

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="live")
    selection = models.CharField(max_length=4, choices=Selection, default=Selection.SOBA)
    fallback = models.CharField(max_length=7, choices=Fallback, default=Fallback.RANDOM, help_text="of SATA")
    chatbots_per_conversation = models.PositiveSmallIntegerField(default=2)
    minimum_turns = models.PositiveSmallIntegerField(default=10)
    maximum_turns = models.PositiveSmallIntegerField(null=True, blank=True, help_text="null: no maximum")
    opening_topics = models.JSONField(default=list, blank=True, help_text="texts; one is proposed at random")
    count_first_turn = models.BooleanField(default=False, help_text="whether the first turn counts for the board")
    pay_per = models.CharField(
        max_length=12, choices=PayPer, default=PayPer.TURN, help_text="what the campaign's pay_rate is paid for"
    )
    end_rating = models.BooleanField(default=True, help_text="a conversation is rated from 1 to 5 at its end")
    end_feedback = models.BooleanField(default=True, help_text="free text is asked for at the end")
    data_notice = models.TextField(blank=True, default="", help_text="Markdown; says where the texts go")
    conversations_per_annotator = models.PositiveSmallIntegerField(
        default=1, help_text="with the same chatbots in the same setting"
    )
    turn_deadline_s = models.PositiveSmallIntegerField(
        default=120, help_text="seconds after which a turn goes on without missing replies"
    )
    idle_minutes = models.PositiveIntegerField(
        default=1440, help_text="minutes without activity after which a conversation ends"
    )
    reports_to_pause = models.PositiveSmallIntegerField(default=3, help_text="annotators whose reports pause a chatbot")
    study = models.ForeignKey(Study, null=True, blank=True, on_delete=models.PROTECT, related_name="arms")
    repetition = models.PositiveSmallIntegerField(default=1, help_text="of this setting and chatbot set in its study")
    static_campaign = models.ForeignKey(
        Campaign,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="live_counterparts",
        help_text="of the same chatbots on fixed prompts: one board ranks both if a test finds no difference",
    )

    class Meta:
        verbose_name_plural = "live settings"
        constraints = [
            models.CheckConstraint(condition=Q(selection__in=["soba", "sata"]), name="live_selection_known"),
            models.CheckConstraint(condition=Q(fallback__in=["random", "written"]), name="live_fallback_known"),
            models.CheckConstraint(condition=Q(pay_per__in=["turn", "conversation"]), name="live_pay_per_known"),
            models.CheckConstraint(
                condition=Q(chatbots_per_conversation__gte=1, chatbots_per_conversation__lte=8),
                name="live_chatbots_1_to_8",
            ),
            models.CheckConstraint(
                condition=~Q(selection="soba", chatbots_per_conversation=1), name="live_single_chatbot_is_sata"
            ),
            models.CheckConstraint(
                condition=Q(minimum_turns__gte=1)
                & (Q(maximum_turns__isnull=True) | Q(maximum_turns__gte=F("minimum_turns"))),
                name="live_minimum_is_not_above_maximum",
            ),
            models.CheckConstraint(
                condition=Q(
                    conversations_per_annotator__gte=1,
                    turn_deadline_s__gte=5,
                    turn_deadline_s__lte=600,
                    idle_minutes__gte=5,
                    reports_to_pause__gte=1,
                    repetition__gte=1,
                ),
                name="live_limits_from_one",
            ),
        ]

    def __str__(self) -> str:
        return f"live settings of {self.campaign}"

    @property
    def setting(self) -> str:
        """Return the setting as reports name it: soba, sata_random or sata_written."""
        return self.selection if self.selection == self.Selection.SOBA else f"sata_{self.fallback}"


class StoppingSpec(models.Model):
    """Stopping rules of a campaign. The first rule that holds stops it (scheduler.stopping)."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="stopping")
    target_se = models.FloatField(
        null=True, blank=True, help_text="in logits: every chatbot's ability is known to this standard error"
    )
    min_difference = models.FloatField(
        null=True, blank=True, help_text="in logits, instead: neighbours that differ by so much are told apart"
    )
    alpha = models.FloatField(default=0.05, help_text="two-sided level of that test")
    power = models.FloatField(default=0.8, help_text="with which it finds the difference")
    budget = models.PositiveIntegerField(null=True, blank=True, help_text="judgments at the most")
    deadline = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(target_se__isnull=True) | Q(target_se__gt=0), name="stopping_target_se_positive"
            ),
            models.CheckConstraint(
                condition=Q(budget__isnull=True) | Q(budget__gte=1), name="stopping_budget_from_one"
            ),
            models.CheckConstraint(
                condition=Q(min_difference__isnull=True) | Q(min_difference__gt=0, target_se__isnull=True),
                name="stopping_one_aim",
            ),
            models.CheckConstraint(
                condition=Q(alpha__gt=0, power__gt=F("alpha"), power__lt=1), name="stopping_test_there_is"
            ),
        ]

    def __str__(self) -> str:
        return f"stopping of {self.campaign}"


class Pilot(models.Model):
    """The first judgments of a campaign. It then waits for a person to continue or to change its settings."""

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="pilot")
    judgments = models.PositiveIntegerField(help_text="after which it pauses")
    begun_at = models.DateTimeField(default=timezone.now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)
    went_on_at = models.DateTimeField(null=True, blank=True, help_text="when a person launched the whole campaign")
    summary = models.JSONField(null=True, blank=True, help_text="refits.pilot_summary.Summary; null until worked out")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(judgments__gte=1), name="pilot_asks_something"),
            models.CheckConstraint(
                condition=Q(went_on_at__isnull=True) | Q(ended_at__isnull=False), name="pilot_ends_before_it_goes_on"
            ),
        ]

    def __str__(self) -> str:
        return f"pilot of {self.campaign}"


class PlanSpec(models.Model):
    """Planning options of a campaign. `campaigns.plans` checks their consistency.

    `refits.designs` maps them to the scheduler's `Design` and `CampaignState`.
    """

    class Target(models.TextChoices):
        AIM = "aim", _("what the campaign waits for")
        RANKING = "ranking", _("who is above whom")
        PRECISION = "precision", _("every chatbot's ability")
        TOP = "top", _("which are the best")
        NEWCOMER = "newcomer", _("where one chatbot stands")

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="plan")
    target = models.CharField(max_length=10, choices=Target, default=Target.AIM)
    top = models.PositiveIntegerField(null=True, blank=True, help_text="how many are the best")
    newcomer = models.ForeignKey(
        "Entrant", null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text="who is to be placed"
    )
    overlap_share = models.FloatField(default=0.0, help_text="share of items that get several votes, for screening")
    overlap_votes = models.PositiveIntegerField(default=2, help_text="votes of each of these items")
    votes_per_pair = models.PositiveIntegerField(null=True, blank=True, help_text="votes of one pair at the most")
    pair_share = models.FloatField(default=0.1, help_text="largest share of all votes that one pair may take")
    floor = models.FloatField(default=0.3, help_text="share of asks that go to open pairs at random")
    exposure = models.FloatField(default=4.0, help_text="how many times an even share of votes one prompt may take")
    balance = models.JSONField(
        null=True, blank=True, help_text="category: share of votes; {} as the prompts are; null: not balanced"
    )
    retire_after = models.PositiveIntegerField(
        null=True, blank=True, help_text="votes after which a prompt that teaches little is asked no more; null: never"
    )
    retire_below = models.FloatField(default=0.25, help_text="of what the typical prompt teaches")
    tiers = models.PositiveSmallIntegerField(
        default=2, help_text="tiers of ability in which a prompt may discriminate differently; 1: no tiers"
    )
    style_control = models.BooleanField(
        default=False, help_text="whether a second board holds length and markup of the replies equal"
    )
    merge_redundant = models.BooleanField(
        default=False, help_text="whether each group of redundant prompts is fitted as one prompt"
    )
    queued_design = models.CharField(
        max_length=64, blank=True, default="", editable=False, help_text="hash of the design that the queue is for"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(target__in=["aim", "ranking", "precision", "top", "newcomer"]), name="plan_target_known"
            ),
            models.CheckConstraint(
                condition=Q(target="top", top__gte=1) | ~Q(target="top") & Q(top__isnull=True),
                name="plan_top_fits_target",
            ),
            models.CheckConstraint(
                condition=Q(target="newcomer", newcomer__isnull=False)
                | ~Q(target="newcomer") & Q(newcomer__isnull=True),
                name="plan_newcomer_fits_target",
            ),
            models.CheckConstraint(
                condition=Q(
                    overlap_share__gte=0,
                    overlap_share__lte=1,
                    overlap_votes__gte=2,
                    pair_share__gt=0,
                    pair_share__lte=1,
                    floor__gte=0,
                    floor__lte=1,
                    exposure__gte=1,
                    retire_below__gt=0,
                    retire_below__lt=1,
                ),
                name="plan_shares_are_shares",
            ),
            models.CheckConstraint(condition=Q(tiers__gte=1, tiers__lte=4), name="plan_tiers_1_to_4"),
        ]

    def __str__(self) -> str:
        return f"plan of {self.campaign}"


class Entrant(PublicModel):
    """A version of a chatbot that takes part in a campaign."""

    class State(models.TextChoices):
        ACTIVE = "active"
        WITHDRAWN = "withdrawn"

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="entrants")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="entrants")
    state = models.CharField(max_length=10, choices=State, default=State.ACTIVE)
    withdrawn_reason = models.CharField(max_length=300, blank=True, default="")
    joined_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "version"], name="entrant_once"),
            models.CheckConstraint(condition=Q(state__in=["active", "withdrawn"]), name="entrant_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.version} in {self.campaign}"

    def clean(self) -> None:
        super().clean()
        if self._state.adding and self.version_id and self.campaign_id:
            as_validation_error(self.looks_check)

    def looks_check(self) -> None:
        """Raise Conflict for a chatbot whose name looks like that of another one in the campaign, even if withdrawn."""
        others = self.campaign.entrants.exclude(version__chatbot=self.version.chatbot)
        there = others.values_list("version__chatbot__name", flat=True)
        lookalike_check(self.version.chatbot.name, there, field="version")

    @property
    def name(self) -> str:
        """Return the name for boards. Only pages that need the version show it."""
        return self.version.chatbot.name


class Onboarding(models.Model):
    """Onboarding of a campaign's annotators: their source, the introduction, and the additions to a verdict.

    A campaign without this row uses the defaults.
    """

    class Platform(models.TextChoices):
        NONE = "none", "no crowd platform"
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Mechanical Turk"

    class Erasure(models.TextChoices):
        """Handling of a person's judgments when the person asks for erasure."""

        KEEP = "keep", _("They stay, without the person")
        REMOVE = "remove", _("They are removed with the person")

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="onboarding")
    platform = models.CharField(max_length=10, choices=Platform, default=Platform.NONE)
    code_complete = models.CharField(max_length=40, blank=True, default="")
    code_screened_out = models.CharField(max_length=40, blank=True, default="")
    code_failed = models.CharField(max_length=40, blank=True, default="")
    secret_required = models.BooleanField(
        default=True, help_text="the study's address has a secret, and nobody arrives without it"
    )
    secret_number = models.PositiveIntegerField(default=1, help_text="which secret; a new one ends those before it")
    study = models.CharField(
        max_length=200, blank=True, default="", help_text="STUDY_ID or hitId: nobody arrives from another; empty: any"
    )
    instructions = models.TextField(blank=True, default="", help_text="Markdown; shown before the example")
    notice = models.TextField(blank=True, default="", help_text="Markdown; added to what is said about the data")
    consent_required = models.BooleanField(default=False, help_text="nobody begins without agreeing to the notice")
    erasure = models.CharField(
        max_length=6, choices=Erasure, default=Erasure.KEEP, help_text="promised to whoever begins from now on"
    )
    pass_mark = models.PositiveIntegerField(default=0, help_text="qualification items to be answered right")
    reasons = models.JSONField(default=list, blank=True, help_text="words offered as reasons for a verdict")
    comments = models.BooleanField(default=False, help_text="a verdict may be explained in the annotator's words")
    comment_required = models.BooleanField(default=False, help_text="and must be")
    language = models.CharField(max_length=60, blank=True, default="", help_text="that annotators must read")
    reveal_chatbots = models.BooleanField(
        default=False, help_text="annotators see after a round which chatbots wrote the replies of closed items"
    )

    class Meta:
        db_table = "campaigns_reception"  # its name before the model was renamed
        constraints = [
            models.CheckConstraint(
                condition=Q(platform__in=["none", "prolific", "mturk"]), name="reception_platform_known"
            ),
            models.CheckConstraint(condition=Q(erasure__in=["keep", "remove"]), name="reception_erasure_known"),
            models.CheckConstraint(
                condition=Q(comments=True) | Q(comment_required=False), name="reception_required_comment_is_taken"
            ),
        ]

    def __str__(self) -> str:
        return f"onboarding of {self.campaign}"


class QualificationItem(models.Model):
    """A comparison with a known answer that qualifies an annotator. It is explained at once."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="qualification_items")
    position = models.PositiveIntegerField()
    turns = models.JSONField()
    reply_a = models.TextField()
    reply_b = models.TextField()
    right = models.CharField(max_length=10, help_text="the verdict on the primary aspect")
    explanation = models.TextField()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["campaign", "position"], name="qualification_position_once"),
            models.CheckConstraint(
                condition=Q(right__in=["A", "B", "tie", "both_bad"]), name="qualification_right_known"
            ),
        ]

    def __str__(self) -> str:
        return f"qualification item {self.position} of {self.campaign}"


class CampaignRole(models.Model):
    """A person's role in one campaign. If they also have a role in the organisation, the higher one applies."""

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="roles")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="campaign_roles")
    role = models.CharField(max_length=10, choices=Membership.Role)
    given_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "user"], name="campaign_role_once"),
            models.CheckConstraint(condition=Q(role__in=["owner", "manager", "viewer"]), name="campaign_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.campaign}"


class Retirement(models.Model):
    """A prompt that is no longer used in a campaign. Its judgments still count."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="retirements")
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="retirements")
    reason = models.CharField(max_length=300)
    retired_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "prompt"], name="retirement_once")]

    def __str__(self) -> str:
        return f"{self.prompt} in {self.campaign}"


class GoldItem(PublicModel):
    """A comparison with a known answer, hidden among the others, to check an annotator. It does not affect ranks.

    It compares two texts, or the replies of two entrants. Where replies are judged one at a time it has one text
    (`text_a`). `right` holds the passing verdicts on the primary aspect. "A"
    is the first reply here, whichever side shows it. Immutable; a wrong item is withdrawn.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="gold_items")
    key = models.CharField(max_length=200, help_text="the id that its owner gives it; annotators never see it")
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="gold_items")
    text_a = models.TextField(blank=True, default="")
    text_b = models.TextField(blank=True, default="")
    entrant_a = models.ForeignKey(Entrant, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    entrant_b = models.ForeignKey(Entrant, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    right = models.JSONField(help_text="verdicts that pass")
    explanation = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "key"], name="gold_key_once"),
            models.CheckConstraint(
                condition=(Q(entrant_a__isnull=True, entrant_b__isnull=True) & ~Q(text_a=""))
                | Q(entrant_a__isnull=False, entrant_b__isnull=False, text_a="", text_b=""),
                name="gold_shows_texts_or_entrants",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def item(self) -> str:
        """Return the item key of the comparison. For a pair of entrants it equals the key of the same ranking item."""
        if self.entrant_a_id is None or self.entrant_b_id is None:
            return f"{self.prompt_id}:gold{self.pk}"
        low, high = sorted((self.entrant_a_id, self.entrant_b_id))
        return f"{self.prompt_id}:{low}-{high}"


class GoldWithdrawal(models.Model):
    """The withdrawal of a gold item that is wrong or known. It is no longer used or counted for or against anybody."""

    item = models.OneToOneField(GoldItem, on_delete=models.PROTECT, related_name="withdrawal")
    reason = models.CharField(max_length=300)
    withdrawn_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.reason
