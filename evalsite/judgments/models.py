from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Aspect, Campaign, Entrant, GoldItem, Onboarding, QualificationItem
from evalsite.chatbots.models import Reply
from evalsite.core.db import PublicModel
from evalsite.prompts.models import Prompt

LABELS = "ABCDEFGH"  # names of candidates by position


class Annotator(PublicModel):
    """An annotator as a pseudonym. AnnotatorIdentity holds identifying data, which can be erased."""

    class Kind(models.TextChoices):
        HUMAN = "human", _("Human")
        SIMULATED = "simulated", _("Simulated")
        MODEL = "model", _("Model")
        UNKNOWN = "unknown", _("Unknown")

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.UNKNOWN)
    user = models.OneToOneField(User, null=True, blank=True, on_delete=models.SET_NULL, related_name="annotator")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["human", "simulated", "model", "unknown"]), name="annotator_kind_known"
            ),
        ]

    def __str__(self) -> str:
        return str(self.public_id)


class AnnotatorIdentity(models.Model):
    """Link between a pseudonym and a person (a platform's id, an address). Erasable without a change of judgments."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="identities")
    source = models.CharField(max_length=200, help_text="crowd platform, or the vote file that names the annotator")
    external_id = models.CharField(max_length=200)
    email = models.EmailField(blank=True, default="")

    class Meta:
        verbose_name_plural = "annotator identities"
        constraints = [models.UniqueConstraint(fields=["source", "external_id"], name="identity_once_per_source")]

    def __str__(self) -> str:
        return f"{self.source}: {self.external_id}"


class AnnotatorToken(models.Model):
    """API key of an annotator's programs. Only its SHA-256 is stored: a random 256-bit key needs no slow hash."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="tokens")
    sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"token of {self.annotator}"


class Invitation(PublicModel):
    """A link that admits annotators to a campaign. Only the hash of its secret is stored."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="invitations")
    name = models.CharField(max_length=100, help_text="whom it is for")
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    at_most = models.PositiveIntegerField(null=True, blank=True, help_text="annotators that it admits")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} to {self.campaign}"


class Enrolment(models.Model):
    """An annotator's enrolment in a campaign: by admission, by an invitation, or from a crowd platform."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="enrolments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="enrolments")
    invitation = models.ForeignKey(
        Invitation, null=True, blank=True, on_delete=models.PROTECT, related_name="enrolments"
    )
    platform = models.CharField(max_length=10, blank=True, default="", help_text="that sent the annotator")
    consented_at = models.DateTimeField(null=True, blank=True)
    erasure = models.CharField(
        max_length=6,
        choices=Onboarding.Erasure,
        default=Onboarding.Erasure.KEEP,
        help_text="what they were promised of their judgments, whatever the campaign says since",
    )
    left_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True, help_text="by who runs the campaign: nothing new is issued")
    blocks_claimed = models.PositiveIntegerField(default=0)
    network = models.CharField(
        max_length=64, blank=True, default="", help_text="keyed hash of a newcomer's network; blank once they answered"
    )
    joined_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "annotator"], name="enrolment_once"),
            models.CheckConstraint(condition=Q(erasure__in=["keep", "remove"]), name="enrolment_erasure_known"),
        ]
        indexes = [models.Index(fields=["campaign", "network"], condition=~Q(network=""), name="enrolment_newcomers")]

    def __str__(self) -> str:
        return f"{self.annotator} in {self.campaign}"

    @property
    def invited(self) -> bool:
        """Return whether a valid invitation or a crowd platform admits this annotator, whatever the campaign's
        admission."""
        by_link = self.invitation is not None and self.invitation.revoked_at is None
        return by_link or bool(self.platform)


class NetworkTrace(models.Model):
    """A keyed hash of the address block from which an annotator judged, to find coalitions and for nothing else.

    It is deleted after NETWORKS_KEPT (`judgments.network_traces`), and with the person.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="+", db_index=False)
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="+")
    network = models.CharField(max_length=64)
    seen_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["campaign", "network", "annotator"], name="network_trace_once"),
        ]

    def __str__(self) -> str:
        return f"network of {self.annotator}"


class Arrival(models.Model):
    """A visit from a crowd platform, with the data for its end. Can be erased, because it identifies the person."""

    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="arrivals")
    study = models.CharField(max_length=200, help_text="STUDY_ID, or hitId")
    session = models.CharField(max_length=200, help_text="SESSION_ID, or assignmentId")
    submit_to = models.CharField(max_length=200, blank=True, default="", help_text="turkSubmitTo")
    counts_from = models.PositiveIntegerField(default=0, help_text="judgments that an earlier visit had its code for")
    arrived_at = models.DateTimeField(default=timezone.now, editable=False)
    browser = models.CharField(
        max_length=64, blank=True, default="", help_text="hash of what the browser keeps that is shown the code"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["enrolment", "session"], name="arrival_session_once")]

    def __str__(self) -> str:
        return f"{self.session} of {self.enrolment}"


class PastWorker(models.Model):
    """An erased worker of a platform who may not start again in the campaign: a keyed hash of the id.

    It refers to no annotator and no judgment. It only allows to recognize the same id on arrival.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="past_workers")
    hmac = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["campaign", "hmac"], name="past_worker_once")]

    def __str__(self) -> str:
        return f"somebody erased in {self.campaign}"


class QualificationAnswer(models.Model):
    """An annotator's answer to a qualification item, in the first or second attempt."""

    enrolment = models.ForeignKey(Enrolment, on_delete=models.CASCADE, related_name="qualification_answers")
    item = models.ForeignKey(QualificationItem, on_delete=models.CASCADE, related_name="answers")
    attempt = models.PositiveIntegerField()
    choice = models.CharField(max_length=10)
    answered_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["enrolment", "item", "attempt"], name="qualification_answer_once"),
            models.CheckConstraint(condition=Q(attempt__in=[1, 2]), name="qualification_attempts_are_two"),
        ]

    def __str__(self) -> str:
        return f"{self.choice} ({self.attempt})"


class Place(models.Model):
    """One planned judgment of one item. Each issue of a place is an assignment of its own.

    `item` is the item's key, independent of the order: "<prompt>:<entrant>-<entrant>", ids ascending.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="places", db_index=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="places")
    item = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["campaign", "item"], name="place_item")]

    def __str__(self) -> str:
        return self.item


class Assignment(PublicModel):
    """One issue of a place to one annotator, from the queue to its end.

    REMOVED: it was answered, but its judgment was removed together with its annotator. The row still shows the earned
    pay. VOID: a live turn that could not be judged because a chatbot failed. It is paid, and nobody gets it again.
    `closed_at` is the time of the answer. It is null if the answer filled no place, so that no budget counts it.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        ISSUED = "issued"
        ANSWERED = "answered"
        EXPIRED = "expired"
        RETURNED = "returned"
        WITHDRAWN = "withdrawn"
        REMOVED = "removed"
        VOID = "void"

    class Purpose(models.TextChoices):
        MEASURE = "measure", _("to rank the chatbots")
        OVERLAP = "overlap", _("to compare annotators (it also ranks)")
        GOLD = "gold", _("to check an annotator")
        QUALIFICATION = "qualification", _("to admit an annotator")
        OPENING = "opening", _("to begin a conversation (it does not rank)")

    class Source(models.TextChoices):
        PLAN = "plan"
        IMPORT = "import"
        LIVE = "live"

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="assignments", db_index=False)
    place = models.ForeignKey(Place, on_delete=models.PROTECT, related_name="assignments")
    item = models.CharField(max_length=200, help_text="its place's; here so that the database keeps it single")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    purpose = models.CharField(max_length=14, choices=Purpose, default=Purpose.MEASURE)
    source = models.CharField(max_length=6, choices=Source, default=Source.PLAN)
    priority = models.PositiveIntegerField(default=0, help_text="its place in the plan; the lowest is issued first")
    policy = models.CharField(max_length=30, blank=True, default="")
    snapshot = models.UUIDField(null=True, blank=True, help_text="public id of the snapshot that it was planned from")
    plan_seed = models.PositiveBigIntegerField(null=True, blank=True, help_text="of the plan that drew it")
    probability = models.FloatField(
        null=True, blank=True, help_text="of this draw, given the earlier draws of the same plan"
    )
    gold = models.ForeignKey(
        GoldItem,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="assignments",
        db_index=False,
        help_text="what it shows",
    )
    order_known = models.BooleanField(default=True, help_text="whether the candidates' positions are the shown order")
    annotator = models.ForeignKey(
        Annotator, null=True, blank=True, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    block = models.UUIDField(null=True, blank=True)
    block_position = models.PositiveIntegerField(default=0)
    pay_rate = models.DecimalField(max_digits=9, decimal_places=4, default=0)
    currency = models.CharField(max_length=3, blank=True, default="")
    pay_per = models.CharField(max_length=8, choices=Campaign.PayPer, default=Campaign.PayPer.JUDGMENT)
    worked_ms = models.PositiveIntegerField(
        null=True, blank=True, help_text="to its first answer, where hours are paid"
    )
    queued_at = models.DateTimeField(default=timezone.now, editable=False)
    issued_at = models.DateTimeField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            # In the order in which a claim reads the queue: it ends as soon as it has enough.
            models.Index(fields=["campaign", "state", "priority", "id"], name="assignment_queue"),
            models.Index(fields=["lease_until"], condition=Q(state="issued"), name="assignment_leases"),
            models.Index(fields=["annotator", "state"], name="assignment_of_annotator"),
            models.Index(fields=["gold"], condition=Q(gold__isnull=False), name="assignment_of_gold"),
            # This index alone answers the sums of a person's work and pay, in its order: 200,000 rows in 40 ms.
            models.Index(
                fields=[
                    *("campaign", "annotator", "currency", "pay_rate", "pay_per"),
                    *("state", "worked_ms", "closed_at"),
                ],
                name="assignment_accounts",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["place"],
                condition=Q(state__in=["queued", "issued", "answered"]),
                name="assignment_one_open_or_answered_per_place",
            ),
            models.UniqueConstraint(
                fields=["annotator", "item"],
                condition=Q(source="plan", annotator__isnull=False),
                name="assignment_item_once_per_annotator",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "withdrawn"], annotator__isnull=True)
                | Q(
                    state__in=["issued", "answered", "expired", "returned", "removed", "void"],
                    annotator__isnull=False,
                    issued_at__isnull=False,
                    lease_until__isnull=False,
                )
                | Q(state="answered", source="import"),
                name="assignment_state_fits_annotator_and_lease",
            ),
            models.CheckConstraint(
                condition=Q(probability__isnull=True) | Q(probability__gt=0, probability__lte=1),
                name="assignment_probability_is_one",
            ),
            models.CheckConstraint(
                condition=Q(purpose__in=["measure", "overlap", "gold", "qualification", "opening"]),
                name="assignment_purpose_known",
            ),
            models.CheckConstraint(condition=Q(source__in=["plan", "import", "live"]), name="assignment_source_known"),
            models.CheckConstraint(
                condition=Q(gold__isnull=True) | Q(purpose="gold"), name="assignment_of_gold_checks"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item} ({self.state})"


class Candidate(models.Model):
    """One reply of an assignment, at its position from 0 (0 is "A"). Created at the issue.

    A candidate of gold stores its side of the gold item. It has an entrant only if the item compares entrants.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="candidates", db_index=False)
    position = models.PositiveIntegerField()
    entrant = models.ForeignKey(Entrant, null=True, blank=True, on_delete=models.PROTECT, related_name="candidacies")
    reply = models.ForeignKey(Reply, null=True, blank=True, on_delete=models.PROTECT, related_name="candidacies")
    gold_side = models.CharField(max_length=1, blank=True, default="")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "position"], name="candidate_position_once"),
            models.UniqueConstraint(fields=["assignment", "entrant"], name="candidate_never_against_itself"),
            models.CheckConstraint(condition=Q(position__lte=7), name="candidate_positions_a_to_h"),
            models.CheckConstraint(
                condition=Q(entrant__isnull=False, reply__isnull=False)
                | Q(entrant__isnull=True, reply__isnull=True, gold_side__in=["A", "B"]),
                name="candidate_is_a_reply_or_golds",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label}: {self.entrant}"

    @property
    def label(self) -> str:
        return LABELS[self.position]

    @property
    def text(self) -> str | None:
        """Return the text that is shown; None if it is unknown."""
        if self.reply is not None:
            return self.reply.text
        gold = self.assignment.gold
        return (gold.text_a if self.gold_side == "A" else gold.text_b) if gold else None


class Batch(models.Model):
    """Judgments that are refitted together. Batches bound the data of a fit, because ids commit out of order."""

    class State(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="batches")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    size = models.PositiveIntegerField(default=0, help_text="judgments for ranking that it holds; gold fills no batch")
    opened_at = models.DateTimeField(default=timezone.now, editable=False)
    closed_at = models.DateTimeField(null=True, blank=True)
    # Set by claim_sql.judgment_add: whether the batch has its full size, and whether the campaign has stopped.
    is_full: bool
    is_after_stop: bool

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="batch_number_once"),
            models.UniqueConstraint(fields=["campaign"], condition=Q(state="open"), name="batch_one_open_per_campaign"),
            models.CheckConstraint(
                condition=Q(state="open", closed_at__isnull=True) | Q(state="closed", closed_at__isnull=False),
                name="batch_closed_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"batch {self.number} of {self.campaign}"


class Judgment(PublicModel):
    """An annotator's decision on an assignment. Append-only: an undo is a new judgment that supersedes.

    Judgments are removed only by their annotator's own erasure (judgments.judgment_removal), if that was promised. The
    database refuses any other deletion (core.deletion_guard).
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.PROTECT, related_name="judgments")
    annotator = models.ForeignKey(Annotator, null=True, blank=True, on_delete=models.PROTECT, related_name="judgments")
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="judgments", db_index=False)
    supersedes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    late = models.BooleanField(default=False, help_text="answered after its lease had ended")
    over_quota = models.BooleanField(
        default=False, help_text="late, when all that the quota takes was answered or open: fills no place, is not paid"
    )
    client_ms = models.PositiveIntegerField(null=True, blank=True, help_text="from shown to decided, by the client")
    answered_at = models.DateTimeField(null=True, blank=True, help_text="null: an imported vote does not say")
    recorded_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["assignment"],
                condition=Q(supersedes__isnull=True),
                name="judgment_first_once_per_assignment",
            ),
            models.CheckConstraint(
                condition=Q(over_quota=False) | Q(late=True), name="judgment_only_late_ones_are_over_quota"
            ),
        ]
        # Headers of boards count from this index alone: 200,000 rows in 20 ms.
        indexes = [models.Index(fields=["batch", "annotator", "supersedes"], name="judgment_tally")]

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def counts(self) -> bool:
        """Return whether the judgment filled its place, which never changes. Fits use it, unless it is excluded.

        Also true for gold: annotators must not learn which comparisons check them.
        """
        return self.assignment.state == Assignment.State.ANSWERED

    @property
    def is_paid(self) -> bool:
        """Return whether the assignment earns its agreed pay, which never changes."""
        return self.assignment.pay_rate > 0 and not self.over_quota


class Answer(models.Model):
    """A judgment's answer on one aspect: a value with or without a candidate.

    A selection of any candidates has one row for each selected candidate, or one row NONE. A rating's value is its
    number. A label is one row for each label.
    """

    class Value(models.TextChoices):
        CHOSEN = "chosen"
        TIE = "tie"
        BOTH_BAD = "both_bad"
        NONE = "none"

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="answers", db_index=False)
    aspect = models.ForeignKey(Aspect, on_delete=models.PROTECT, related_name="answers")
    candidate = models.ForeignKey(Candidate, null=True, blank=True, on_delete=models.PROTECT, related_name="answers")
    value = models.CharField(max_length=60)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["judgment", "aspect", "candidate", "value"], name="answer_once_per_candidate_and_value"
            ),
            models.UniqueConstraint(
                fields=["judgment", "aspect", "value"],
                condition=Q(candidate__isnull=True),
                name="answer_once_per_value",
            ),
            models.CheckConstraint(
                condition=~Q(candidate__isnull=True, value="chosen")
                & ~Q(candidate__isnull=False, value__in=["tie", "both_bad", "none"])
                & ~Q(value=""),
                name="answer_value_fits_candidate",
            ),
        ]

    def __str__(self) -> str:
        return self.value


class JudgmentReason(models.Model):
    """One of the campaign's reasons, as given with a judgment."""

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="reasons")
    text = models.CharField(max_length=40)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["judgment", "text"], name="judgment_reason_once")]

    def __str__(self) -> str:
        return self.text


class Comment(models.Model):
    """An annotator's comment on a judgment. Can be erased, because it may identify its author."""

    judgment = models.OneToOneField(Judgment, on_delete=models.CASCADE, related_name="comment")
    text = models.CharField(max_length=2000)

    def __str__(self) -> str:
        return self.text[:60]


class Skip(models.Model):
    """An assignment that an annotator skipped, with the reason. It is not a judgment and never a tie."""

    class Reason(models.TextChoices):
        CANNOT_JUDGE = "cannot_judge", _("topic or language")
        BROKEN = "broken", _("a reply is missing or broken")
        OFFENSIVE = "offensive", _("does not want to read it")
        RECOGNISED = "recognised", _("recognises the chatbot")
        OTHER = "other", _("something else")

    assignment = models.OneToOneField(Assignment, on_delete=models.PROTECT, related_name="skip")
    reason = models.CharField(max_length=20, choices=Reason)
    skipped_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=["cannot_judge", "broken", "offensive", "recognised", "other"]),
                name="skip_reason_known",
            ),
        ]

    def __str__(self) -> str:
        return self.reason


class SkipNote(models.Model):
    """An annotator's note on a skip. Can be erased, like a comment."""

    skip = models.OneToOneField(Skip, on_delete=models.CASCADE, related_name="note")
    text = models.CharField(max_length=500)

    def __str__(self) -> str:
        return self.text[:60]


class Exclusion(models.Model):
    """A decision that a judgment, or all judgments of an annotator in a campaign, do not count (or count again).

    The latest fact about each subject is in force. A proposal has no effect until a person decides it by a further
    fact. The screening does not change a person's decision (`decided_by`). Provisional facts are a sequence of their
    own: the first says that an annotator is a newcomer, and the one that lifts it that they are vetted, for good.
    """

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="exclusions")
    annotator = models.ForeignKey(Annotator, null=True, blank=True, on_delete=models.PROTECT, related_name="exclusions")
    judgment = models.ForeignKey(Judgment, null=True, blank=True, on_delete=models.PROTECT, related_name="exclusions")
    lifted = models.BooleanField(default=False, help_text="this fact re-admits")
    proposed = models.BooleanField(default=False, help_text="by the screening, for a person to decide")
    provisional = models.BooleanField(
        default=False, help_text="a newcomer's votes do not count yet; lifted: they are vetted"
    )
    reason = models.CharField(max_length=500)
    reason_data = models.JSONField(
        null=True,
        editable=False,
        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
    )
    evidence = models.JSONField(default=dict, blank=True, help_text="the numbers that the reason rests on")
    decided_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(annotator__isnull=False, judgment__isnull=True)
                | Q(annotator__isnull=True, judgment__isnull=False),
                name="exclusion_of_annotator_or_judgment",
            ),
            models.CheckConstraint(
                condition=Q(provisional=False) | Q(annotator__isnull=False, proposed=False),
                name="exclusion_provisional_of_annotator",
            ),
        ]

    def __str__(self) -> str:
        return self.reason


class AnnotatorNote(models.Model):
    """A note about an annotator, for the people who run the campaign. Can be erased."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="annotator_notes")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="notes")
    text = models.CharField(max_length=500)
    written_at = models.DateTimeField(default=timezone.now, editable=False)
    by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return self.text[:60]


class Payment(models.Model):
    """A payment to an annotator for a campaign. A correction is a negative payment."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="payments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="payments")
    amount = models.DecimalField(max_digits=11, decimal_places=4)
    currency = models.CharField(max_length=3)
    reference = models.CharField(max_length=200, blank=True, default="", help_text="the platform's, or a bank's")
    paid_at = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} to {self.annotator}"


class Bonus(models.Model):
    """An amount owed to an annotator in addition to their judgments. A correction is a negative bonus."""

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="bonuses")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="bonuses")
    amount = models.DecimalField(max_digits=11, decimal_places=4)
    currency = models.CharField(max_length=3)
    reason = models.CharField(max_length=200)
    given_at = models.DateTimeField(default=timezone.now, editable=False)
    by = models.ForeignKey(User, null=True, blank=True, on_delete=models.PROTECT, related_name="+")

    class Meta:
        verbose_name_plural = "bonuses"

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} for {self.annotator}"
