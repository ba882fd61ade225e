"""Live conversations: annotators chat with anonymous chatbots and judge every turn.

Texts stand here alone, where they can be erased. Prompts and replies of live turns are rows without a text.
"""

from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Entrant, Study
from evalsite.chatbots.models import Reply
from evalsite.core.db import PublicModel
from evalsite.endpoints.models import CallRequest
from evalsite.judgments.models import Annotator, Assignment
from evalsite.prompts.models import Prompt

LONGEST_MESSAGE, LONGEST_FEEDBACK, LONGEST_REPORT = 4_000, 2_000, 500


class PlannedSet(PublicModel):
    """A set of chatbots that the scheduler wants for one conversation. The one with the lowest priority is used next.

    `entrants` holds the ids in ascending order, joined by "-".
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="planned_sets")
    entrants = models.CharField(max_length=200)
    priority = models.PositiveIntegerField(default=0)
    policy = models.CharField(max_length=30, blank=True, default="")
    probability = models.FloatField(null=True, blank=True, help_text="of this draw")
    snapshot = models.UUIDField(null=True, blank=True, help_text="public id of the snapshot that it was planned from")
    plan_seed = models.PositiveBigIntegerField(null=True, blank=True)
    planned_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["campaign", "priority", "id"], name="planned_set_order")]

    def __str__(self) -> str:
        return f"{self.entrants} in {self.campaign}"


class Conversation(PublicModel):
    """A conversation of one annotator with the same chatbots from its begin to its end."""

    class State(models.TextChoices):
        OPEN = "open", _("in progress")
        ENDED = "ended", _("ended by the annotator")
        LEFT = "left", _("left before the minimum of turns")
        EXPIRED = "expired", _("ended after a time without activity")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="conversations")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="conversations")
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    start_key = models.CharField(max_length=100, help_text="Idempotency-Key of the start")
    setting = models.CharField(max_length=20, help_text="soba, sata_random or sata_written, as at its begin")
    chatbot_set = models.CharField(max_length=200, help_text="entrant ids in ascending order, joined by '-'")
    policy = models.CharField(max_length=30, help_text="that chose the chatbots")
    probability = models.FloatField(null=True, blank=True, help_text="of this choice of chatbots")
    snapshot = models.UUIDField(null=True, blank=True)
    plan_seed = models.PositiveBigIntegerField(null=True, blank=True)
    seed = models.PositiveBigIntegerField(help_text="of the orders of replies and of random continuations")
    topic = models.CharField(max_length=300, blank=True, default="", help_text="opening topic that was proposed")
    consents_to_review = models.BooleanField(
        default=False, help_text="third parties may judge turns of it, after redaction"
    )
    rating = models.PositiveSmallIntegerField(null=True, blank=True, help_text="from 1 to 5, at the end")
    feedback = models.TextField(blank=True, default="", help_text="erasable")
    started_at = models.DateTimeField(default=timezone.now, editable=False)
    active_at = models.DateTimeField(default=timezone.now, help_text="the last action of the annotator")
    ended_at = models.DateTimeField(null=True, blank=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "annotator"], condition=Q(state="open"), name="conversation_one_open"
            ),
            models.UniqueConstraint(fields=["campaign", "annotator", "start_key"], name="conversation_start_once"),
            models.CheckConstraint(
                condition=Q(state__in=["open", "ended", "left", "expired"]), name="conversation_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state="open", ended_at__isnull=True) | ~Q(state="open") & Q(ended_at__isnull=False),
                name="conversation_ended_has_time",
            ),
            models.CheckConstraint(
                condition=Q(rating__isnull=True) | Q(rating__gte=1, rating__lte=5), name="conversation_rating_1_to_5"
            ),
            models.CheckConstraint(
                condition=Q(probability__isnull=True) | Q(probability__gt=0, probability__lte=1),
                name="conversation_probability_is_one",
            ),
        ]
        indexes = [
            models.Index(fields=["active_at"], condition=Q(state="open"), name="conversation_idle"),
            models.Index(fields=["campaign", "chatbot_set", "state"], name="conversation_of_set"),
            models.Index(fields=["annotator", "campaign"], name="conversation_of_annotator"),
        ]

    def __str__(self) -> str:
        return f"conversation {self.public_id}"


class ConversationKey(models.Model):
    """The secret key of a conversation's text hashes. Erasure deletes it: short texts could be guessed otherwise."""

    conversation = models.OneToOneField(Conversation, on_delete=models.CASCADE, related_name="key")
    key = models.CharField(max_length=64, editable=False)

    def __str__(self) -> str:
        return f"key of {self.conversation}"


class ConversationEntrant(models.Model):
    """A chatbot of a conversation. A reserve joins on turn 1 in place of one that failed (`replaces`)."""

    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="members")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="conversations")
    replaces = models.ForeignKey(Entrant, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    left_at = models.DateTimeField(null=True, blank=True, help_text="failed on turn 1: a reserve took its place")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "entrant"], name="conversation_entrant_once"),
        ]

    def __str__(self) -> str:
        return f"{self.entrant} in {self.conversation}"


class Turn(PublicModel):
    """A message of the annotator, the chatbots' replies, and the judgment of them.

    - WAITING: calls are in progress; nothing is shown.
    - RELEASED: all replies have come and can be judged.
    - JUDGED, SKIPPED: judged, or skipped with a reason; the conversation went on.
    - DROPPED: open when the conversation ended; not judged, not paid.
    - VOID: a chatbot failed for good; not judged, but paid.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("replies are being written")
        RELEASED = "released", _("to be judged")
        JUDGED = "judged", _("judged")
        SKIPPED = "skipped", _("skipped")
        VOID = "void", _("not judged, because a chatbot failed")
        DROPPED = "dropped", _("not judged, because the conversation ended")

    OPEN = (State.WAITING, State.RELEASED)

    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="turns")
    number = models.PositiveSmallIntegerField(help_text="from 1")
    message_key = models.CharField(max_length=100, help_text="Idempotency-Key of the message")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    counts = models.BooleanField(help_text="whether its judgment enters the board; not the first turn by default")
    prompt = models.OneToOneField(Prompt, on_delete=models.PROTECT, related_name="turn")
    assignment = models.OneToOneField(
        Assignment, null=True, blank=True, on_delete=models.PROTECT, related_name="turn", help_text="from its release"
    )
    posted_at = models.DateTimeField(default=timezone.now, editable=False)
    deadline = models.DateTimeField(help_text="of the replies")
    released_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "number"], name="turn_number_once"),
            models.UniqueConstraint(fields=["conversation", "message_key"], name="turn_message_once"),
            models.UniqueConstraint(
                fields=["conversation"], condition=Q(state__in=["waiting", "released"]), name="turn_one_open"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "released", "judged", "skipped", "void", "dropped"]),
                name="turn_state_known",
            ),
        ]
        indexes = [models.Index(fields=["deadline"], condition=Q(state="waiting"), name="turn_waiting")]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.conversation}"


class TurnReplyQuerySet(models.QuerySet["TurnReply"]):
    def shown(self) -> Self:
        """Filter by released replies, in the order in which they are shown."""
        return self.filter(position__isnull=False).order_by("position")


class TurnReply(models.Model):
    """One chatbot's reply in a turn. `position` is the shown order from 0, random and set at the release."""

    class State(models.TextChoices):
        WAITING = "waiting"
        CAME = "came"
        FAILED = "failed"

    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="replies")
    entrant = models.ForeignKey(Entrant, on_delete=models.PROTECT, related_name="turn_replies")
    request = models.OneToOneField(CallRequest, on_delete=models.PROTECT, related_name="turn_reply")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    position = models.PositiveSmallIntegerField(null=True, blank=True)
    text = models.TextField(blank=True, default="", help_text="erasable")
    hmac = models.CharField(max_length=64, blank=True, default="", help_text="of the text, by the conversation's key")
    flags = models.JSONField(default=list, blank=True, help_text="of the call (cut off), and names_maker")
    error_class = models.CharField(max_length=20, blank=True, default="")
    reply = models.OneToOneField(
        Reply, null=True, blank=True, on_delete=models.PROTECT, related_name="turn_reply", help_text="from the release"
    )
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = TurnReplyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "turn replies"
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["turn", "entrant"], name="turn_reply_once"),
            models.UniqueConstraint(fields=["turn", "position"], name="turn_reply_position_once"),
            models.CheckConstraint(condition=Q(state__in=["waiting", "came", "failed"]), name="turn_reply_state_known"),
            models.CheckConstraint(condition=~Q(state="came") | ~Q(hmac=""), name="turn_reply_has_hash"),
        ]

    def __str__(self) -> str:
        return f"{self.entrant} in {self.turn}"


class Utterance(models.Model):
    """A part of the conversation as it was continued: the annotator's messages and the replies that they went on with.

    The text can be erased. The keyed hash stays.
    """

    class Speaker(models.TextChoices):
        USER = "user"
        CHATBOT = "chatbot"

    conversation = models.ForeignKey(Conversation, on_delete=models.PROTECT, related_name="utterances")
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="utterances")
    speaker = models.CharField(max_length=7, choices=Speaker)
    text = models.TextField(help_text="erasable")
    hmac = models.CharField(max_length=64)
    written_at = models.DateTimeField(default=timezone.now, editable=False)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "speaker"], name="utterance_once_per_speaker"),
            models.CheckConstraint(condition=Q(speaker__in=["user", "chatbot"]), name="utterance_speaker_known"),
        ]

    def __str__(self) -> str:
        return f"{self.speaker} in {self.turn}"


class Continuation(models.Model):
    """How a turn went on: with which reply, and why. A turn without this row has no reply in the history."""

    class How(models.TextChoices):
        CHOSEN = "chosen", _("the selected reply")
        RANDOM_OF_SELECTED = "random_of_selected", _("a random one of the selected replies")
        RANDOM_OF_NONE = "random_of_none", _("a random reply, because none was selected")
        WRITTEN = "written", _("a reply that the annotator wrote")
        ONLY = "only", _("the only reply that came")

    turn = models.OneToOneField(Turn, on_delete=models.PROTECT, related_name="continuation")
    how = models.CharField(max_length=18, choices=How)
    reply = models.ForeignKey(TurnReply, null=True, blank=True, on_delete=models.PROTECT, related_name="continuations")
    seed = models.PositiveBigIntegerField(null=True, blank=True, help_text="of a random choice")
    continued_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(how__in=["chosen", "random_of_selected", "random_of_none", "written", "only"]),
                name="continuation_how_known",
            ),
            models.CheckConstraint(
                condition=Q(how="written", reply__isnull=True) | ~Q(how="written") & Q(reply__isnull=False),
                name="continuation_has_reply_unless_written",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.how} in {self.turn}"


class ChatbotReport(PublicModel):
    """An annotator's report of a reply, for the owner's triage."""

    class Reason(models.TextChoices):
        HARMFUL = "harmful", _("harmful or offensive")
        PRIVATE = "private", _("personal data")
        IDENTITY = "identity", _("it says which chatbot it is")
        BROKEN = "broken", _("broken")
        OTHER = "other", _("something else")

    class Outcome(models.TextChoices):
        OPEN = "open", _("not looked at yet")
        DISMISSED = "dismissed", _("dismissed")
        UPHELD = "upheld", _("upheld")

    reply = models.ForeignKey(TurnReply, on_delete=models.PROTECT, related_name="reports")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="chatbot_reports")
    reason = models.CharField(max_length=10, choices=Reason)
    note = models.CharField(max_length=LONGEST_REPORT, blank=True, default="", help_text="erasable")
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.OPEN)
    reported_at = models.DateTimeField(default=timezone.now, editable=False)
    settled_at = models.DateTimeField(null=True, blank=True)
    settled_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["reply", "annotator"], name="chatbot_report_once"),
            models.CheckConstraint(
                condition=Q(reason__in=["harmful", "private", "identity", "broken", "other"]),
                name="chatbot_report_reason_known",
            ),
            models.CheckConstraint(
                condition=Q(outcome__in=["open", "dismissed", "upheld"]), name="chatbot_report_outcome_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason} in {self.reply}"


class EntrantPause(models.Model):
    """A chatbot that gets no new conversations in a campaign, after reports or by its owner."""

    entrant = models.OneToOneField(Entrant, on_delete=models.CASCADE, related_name="live_pause")
    by_reports = models.BooleanField(default=False)
    paused_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"pause of {self.entrant}"


class StudyAllocation(models.Model):
    """The arm of a study that an annotator was allocated to at random."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="allocations")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="allocations")
    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="allocations")
    probability = models.FloatField()
    allocated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "annotator"], name="study_allocation_once")]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.campaign}"


class ThirdPartyReview(models.Model):
    """A static campaign in which third parties judge a sample of the turns of a live one."""

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="review")
    source = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="reviews")
    seed = models.PositiveBigIntegerField(help_text="of the sample")
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"{self.campaign} of {self.source}"


class ReviewedTurn(models.Model):
    """A turn that third parties judge. Its prompt is the context, redacted, and is emptied with the conversation."""

    review = models.ForeignKey(ThirdPartyReview, on_delete=models.PROTECT, related_name="turns")
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="reviews")
    prompt = models.OneToOneField(Prompt, on_delete=models.PROTECT, related_name="reviewed_turn")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "turn"], name="reviewed_turn_once")]

    def __str__(self) -> str:
        return f"{self.turn} in {self.review}"
