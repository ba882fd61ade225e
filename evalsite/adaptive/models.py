from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, OwnedQuerySet, User
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.core.db import PublicModel


class Board(PublicModel):
    """Which judgments are ranked together: campaigns, an aspect, a slice. Each campaign has a default one."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="boards")
    name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True)
    aspect = models.ForeignKey(Aspect, on_delete=models.PROTECT, related_name="boards")
    campaigns = models.ManyToManyField(Campaign, related_name="boards")
    default_of = models.OneToOneField(
        Campaign, null=True, blank=True, on_delete=models.PROTECT, related_name="default_board"
    )
    category = models.CharField(max_length=100, blank=True, default="", help_text="the slice; blank ranks all prompts")
    kind = models.CharField(max_length=10, blank=True, default="", help_text="the slice; blank ranks all chatbots")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name


class Snapshot(PublicModel):
    """A board at a moment: the posterior and the rows that pages show. Immutable; keyed by its input's hash."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="snapshots")
    number = models.PositiveIntegerField()
    input_sha256 = models.CharField(max_length=64)
    engine = models.CharField(max_length=30, help_text="version of the engine that made it")
    seed = models.PositiveIntegerField()
    judgments = models.PositiveIntegerField()
    annotators = models.PositiveIntegerField()
    converged = models.BooleanField()
    seconds = models.FloatField(help_text="that the fit took")
    rows = models.JSONField(help_text="the leaderboard, strongest first")
    posterior = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        get_latest_by = "number"
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="snapshot_number_once"),
            models.UniqueConstraint(fields=["board", "input_sha256"], name="snapshot_input_once"),
        ]

    def __str__(self) -> str:
        return f"snapshot {self.number} of {self.board}"


class Slice(models.Model):
    """A filter of a board that readers may choose, and what there is behind it: summed up by the worker after a refit.

    `own` is the board that it has once there is enough to fit; judgments and chatbots are those of its last input.
    """

    class By(models.TextChoices):
        ASPECT = "aspect"
        CATEGORY = "category"
        KIND = "kind"

    LEAST_JUDGMENTS = 30  # fewer say nothing of anybody

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="slices")
    by = models.CharField(max_length=10, choices=By)
    value = models.CharField(max_length=100, help_text="an aspect's key, a category, or a kind of chatbot")
    own = models.OneToOneField(Board, null=True, on_delete=models.PROTECT, related_name="slice_of")
    judgments = models.PositiveIntegerField(default=0)
    chatbots = models.PositiveIntegerField(default=0)
    trouble = models.TextField(blank=True, default="", help_text="why the last fit failed; the one before it is shown")
    seen = models.CharField(max_length=64, blank=True, default="", help_text="hash of what its input depends on")
    looked_at = models.DateTimeField(null=True, help_text="last; those of longest ago come first")

    class Meta:
        ordering = ["by", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["board", "by", "value"], name="slice_once"),
            models.CheckConstraint(condition=Q(by__in=["aspect", "category", "kind"]), name="slice_by_known"),
        ]

    def __str__(self) -> str:
        return f"{self.board}: {self.by} {self.value}"

    @property
    def enough(self) -> bool:
        """Whether there is anything to rank."""
        return self.judgments >= self.LEAST_JUDGMENTS


class Record(models.Model):
    """How the chatbots of a board fared against each other, and what its fit learned: of its newest snapshot only.

    Not a fact but a summary of facts (adaptive.record), made anew with each refit.
    """

    board = models.OneToOneField(Board, on_delete=models.PROTECT, related_name="record")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="+")
    pairs = models.JSONField(help_text="adaptive.record.Pair, as lists of its fields")
    fit = models.JSONField(help_text="adaptive.record.fit_facts")

    def __str__(self) -> str:
        return f"record of {self.snapshot}"


class Findings(models.Model):
    """What a campaign's judgments tell of its annotators and prompts: worked out by the worker after a refit.

    Not a fact but a summary of facts (adaptive.findings), made anew each time.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="findings")
    annotators = models.JSONField(help_text="adaptive.findings.AnnotatorFinding")
    gold = models.JSONField(default=dict, blank=True, help_text="of its annotators, and of its items")
    prompts = models.JSONField(help_text="adaptive.findings.PromptFinding")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "findings"

    def __str__(self) -> str:
        return f"findings of {self.campaign}"


class Decision(models.Model):
    """Whether to go on after a refit, and why. A snapshot gets another when the rules or the entrants changed."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="decisions")
    stop = models.BooleanField()
    reason = models.TextField()
    evidence = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="decision_has_reason")]

    def __str__(self) -> str:
        return self.reason


class Refit(models.Model):
    """One run of the worker on a board, whatever came of it."""

    class Outcome(models.TextChoices):
        PUBLISHED = "published", _("Published")
        UNCHANGED = "unchanged", _("Unchanged")
        FAILED = "failed", _("Failed")

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="refits")
    outcome = models.CharField(max_length=10, choices=Outcome)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.PROTECT, related_name="refits")
    message = models.TextField(blank=True, default="")
    seen = models.CharField(max_length=64, blank=True, default="", help_text="hash of what its input depends on")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="failed", snapshot__isnull=True)
                | Q(outcome__in=["published", "unchanged"], snapshot__isnull=False),
                name="refit_outcome_fits_snapshot",
            ),
        ]

    def __str__(self) -> str:
        return f"refit of {self.board}: {self.outcome}"


class Alarm(models.Model):
    """The loop of a campaign fails: somebody is to look. One is open at a time, until a refit succeeds.

    The last good board and the queue serve on meanwhile, and the refit is tried again at growing distances. About its
    slices there is another one: they are tried again with the next refit, and what else there is does not need them.
    """

    class About(models.TextChoices):
        LOOP = "loop"
        SLICES = "slices"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="alarms")
    about = models.CharField(max_length=10, choices=About, default=About.LOOP)
    message = models.TextField()
    failures = models.PositiveIntegerField(default=1)
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    failed_at = models.DateTimeField(default=timezone.now, help_text="the last time")
    cleared_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "about"], condition=Q(cleared_at__isnull=True), name="alarm_one_open_about_each"
            ),
            models.CheckConstraint(condition=Q(about__in=["loop", "slices"]), name="alarm_about_known"),
        ]

    def __str__(self) -> str:
        return self.message


class FullCheck(PublicModel):
    """The full Bayesian fit of a snapshot's judgments beside the everyday one: a person asked, it takes minutes.

    stage: of STAGES, how far it is. result: adaptive.checking.result_of; trouble: why there is none.
    """

    STAGES = 3  # the model compiled, the chains drawn, the draws summarised

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="full_checks")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="full_checks")
    input_sha256 = models.CharField(max_length=64, help_text="of the judgments that were fitted")
    stage = models.PositiveIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)
    trouble = models.TextField(blank=True, default="")
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign"], condition=Q(finished_at__isnull=True), name="full_check_one_under_way"
            ),
            models.CheckConstraint(
                condition=Q(finished_at__isnull=True, result__isnull=True, trouble="")
                | Q(finished_at__isnull=False, result__isnull=False, trouble="")
                | Q(finished_at__isnull=False, result__isnull=True) & ~Q(trouble=""),
                name="full_check_ends_with_result_or_trouble",
            ),
        ]

    def __str__(self) -> str:
        return f"full check of {self.snapshot}"


class Notice(models.Model):
    """Something about a campaign that its owners are told, once: by mail, and on top of the console's pages.

    `mark` names the occurrence: the same one is never told twice.
    """

    class Event(models.TextChoices):
        STOP = "stop", _("a campaign has stopped")
        ALARM = "alarm", _("its refits fail")
        QUEUE = "queue", _("nothing waits to be judged")
        BUDGET = "budget", _("four fifths of its budget are spent")
        REACH = "reach", _("its target is out of reach")

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="notices")
    event = models.CharField(max_length=10, choices=Event)
    mark = models.CharField(max_length=80)
    text = models.TextField(help_text="in English; adaptive.notices says it in other languages")
    facts = models.JSONField(default=dict, blank=True, help_text="that it tells, by name; none of earlier releases")
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    seen_by = models.ManyToManyField(User, blank=True, related_name="notices_seen")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "event", "mark"], name="notice_once"),
            models.CheckConstraint(
                condition=Q(event__in=["stop", "alarm", "queue", "budget", "reach"]), name="notice_event_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} of {self.campaign}"


class Unwanted(models.Model):
    """A person wants no mail about events of this kind."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="mail_unwanted")
    event = models.CharField(max_length=10, choices=Notice.Event)

    class Meta:
        verbose_name_plural = "unwanted mail"
        constraints = [
            models.UniqueConstraint(fields=["user", "event"], name="unwanted_once"),
            models.CheckConstraint(
                condition=Q(event__in=["stop", "alarm", "queue", "budget", "reach"]), name="unwanted_event_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} wants no mail about {self.event}"
