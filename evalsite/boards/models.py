"""Boards, and the snapshots, decisions and refits that belong to them."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, OwnedQuerySet
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.core.db import PublicModel
from evalsite.core.reasons import reason_text
from evalsite.judgments.models import Annotator


class Board(PublicModel):
    """The judgments that are ranked together: campaigns, an aspect, a slice. Each campaign has a default board."""

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

    class Meta:
        db_table = "adaptive_board"  # Table name from before the app was split.

    def __str__(self) -> str:
        return self.name


class Snapshot(PublicModel):
    """A board at one moment: the posterior and the rows that pages show.

    Snapshots are immutable. The hash of the input is the key, with the number of looks after a stop.
    """

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="snapshots")
    number = models.PositiveIntegerField()
    input_sha256 = models.CharField(max_length=64)
    engine = models.CharField(max_length=30, help_text="version of the engine that made it")
    seed = models.PositiveIntegerField()
    judgments = models.PositiveIntegerField()
    annotators = models.PositiveIntegerField()
    converged = models.BooleanField()
    seconds = models.FloatField(help_text="that the fit took")
    looks = models.PositiveIntegerField(
        null=True, help_text="for which differences are tested, once the campaigns have stopped; null: any number"
    )
    rows = models.JSONField(help_text="the rows of the board, strongest first")
    posterior = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        db_table = "adaptive_snapshot"  # Table name from before the app was split.
        get_latest_by = "number"
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="snapshot_number_once"),
            models.UniqueConstraint(
                fields=["board", "input_sha256"], condition=Q(looks=None), name="snapshot_input_once"
            ),
            models.UniqueConstraint(fields=["board", "input_sha256", "looks"], name="snapshot_input_looks_once"),
            models.CheckConstraint(condition=Q(looks=None) | Q(looks__gte=1), name="snapshot_looks_from_one"),
        ]

    def __str__(self) -> str:
        return f"snapshot {self.number} of {self.board}"


class Slice(models.Model):
    """A filter that readers can apply to a board, with the size of its data.

    The worker updates it after a refit. `own` is the board of the slice, once it has enough data to fit. `judgments`
    and `chatbots` describe the last input.
    """

    class By(models.TextChoices):
        ASPECT = "aspect"
        CATEGORY = "category"
        KIND = "kind"
        MODE = "mode"
        STYLE = "style"

    EQUAL_STYLE = "equal"  # the value of STYLE
    BOTH_MODES, OWN_MODE = "both", "own"  # values of MODE; the second one is the whole board
    LEAST_JUDGMENTS = 30  # Smaller samples show nothing about any chatbot.

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="slices")
    by = models.CharField(max_length=10, choices=By)
    value = models.CharField(
        max_length=100, help_text="an aspect's key, a category, a kind of chatbot, both modes, or equal style"
    )
    own = models.OneToOneField(Board, null=True, on_delete=models.PROTECT, related_name="slice_of")
    judgments = models.PositiveIntegerField(default=0)
    chatbots = models.PositiveIntegerField(default=0)
    trouble = models.TextField(blank=True, default="", help_text="why the last fit failed; the one before it is shown")
    seen = models.CharField(max_length=64, blank=True, default="", help_text="hash of what its input depends on")
    looked_at = models.DateTimeField(null=True, help_text="last; those of longest ago come first")

    class Meta:
        db_table = "adaptive_slice"  # Table name from before the app was split.
        ordering = ["by", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["board", "by", "value"], name="slice_once"),
            models.CheckConstraint(
                condition=Q(by__in=["aspect", "category", "kind", "mode", "style"]), name="slice_by_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.board}: {self.by} {self.value}"

    @property
    def enough(self) -> bool:
        """Return whether there are enough chatbots and judgments to rank."""
        return self.judgments >= self.LEAST_JUDGMENTS


class BoardChartData(models.Model):
    """Chart data of a board's newest snapshot: results of pairs, and what the fit learned.

    The row is a summary, not a fact (`boards.chart_data`). Each refit replaces it.
    """

    board = models.OneToOneField(Board, on_delete=models.PROTECT, related_name="record")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="+")
    pairs = models.JSONField(help_text="boards.chart_data.Pair, as lists of its fields")
    fit = models.JSONField(help_text="boards.chart_data.fit_facts")

    class Meta:
        db_table = "adaptive_record"  # Table name from before the app was split.

    def __str__(self) -> str:
        return f"record of {self.snapshot}"


class Decision(models.Model):
    """Whether to continue after a refit, and why.

    A snapshot gets another decision when the rules or the entrants change.
    """

    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="decisions")
    stop = models.BooleanField()
    reason = models.TextField()
    reason_data = models.JSONField(
        null=True,
        editable=False,
        help_text="code and parameters of the reason; null: a person's own words, or older than codes",
    )
    evidence = models.JSONField(default=dict)
    decided_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        db_table = "adaptive_decision"  # Table name from before the app was split.
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="decision_has_reason")]

    def __str__(self) -> str:
        return self.reason

    @property
    def reason_text(self) -> str:
        """The reason in the active language."""
        return reason_text(self.reason, self.reason_data)


class Refit(models.Model):
    """One run of the worker on a board, with any outcome."""

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
        db_table = "adaptive_refit"  # Table name from before the app was split.
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="failed", snapshot__isnull=True)
                | Q(outcome__in=["published", "unchanged"], snapshot__isnull=False),
                name="refit_outcome_fits_snapshot",
            ),
        ]

    def __str__(self) -> str:
        return f"refit of {self.board}: {self.outcome}"


class LiveReport(models.Model):
    """The statistics of a live campaign's selections, as the worker computed them last (boards.live_report).

    The row is a summary, not a fact. `mark` identifies the turns and exclusions that it was computed from.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="live_report")
    mark = models.CharField(max_length=64)
    content = models.JSONField(help_text="what readers of the board may see")
    cleaning = models.JSONField(help_text="proposals to exclude annotators, for the console")
    computed_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"live report of {self.campaign}"


class AnalysisPlan(models.Model):
    """The sample size and tests of a live campaign. Its launch freezes them; later changes are refused.

    Shares: difference, alpha, power, baseline (of one chatbot), discordance (of two chatbots, SATA).
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="analysis_plan")
    difference = models.FloatField(default=0.1)
    alpha = models.FloatField(default=0.05)
    power = models.FloatField(default=0.8)
    baseline = models.FloatField(default=0.8)
    discordance = models.FloatField(default=0.85)
    turns = models.PositiveIntegerField(null=True, blank=True, help_text="sample size: counted turns")
    stops = models.BooleanField(default=False, help_text="the campaign ends when the sample size is reached")
    content = models.JSONField(null=True, blank=True, help_text="as frozen at the launch")
    sha256 = models.CharField(max_length=64, blank=True, default="", help_text="of the content as canonical JSON")
    frozen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(frozen_at__isnull=True, content__isnull=True, sha256="")
                | Q(frozen_at__isnull=False, content__isnull=False) & ~Q(sha256=""),
                name="analysis_plan_frozen_whole",
            ),
            models.CheckConstraint(condition=Q(stops=False) | Q(turns__gte=1), name="analysis_plan_stops_at_a_size"),
        ]

    def __str__(self) -> str:
        return f"analysis plan of {self.campaign}"


class LabelReport(models.Model):
    """Shares of labels and mean ratings on the board of a campaign that judges replies one at a time.

    The newest report replaces the earlier one. `mark` is the version of the judgments that it counts.
    """

    board = models.OneToOneField(Board, on_delete=models.CASCADE, related_name="label_report")
    content = models.JSONField(help_text="evalsite.boards.label_reports.AspectReport of each aspect, as dicts")
    mark = models.CharField(max_length=200)
    made_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"label report of {self.board}"


class PublicLogEntry(models.Model):
    """An entry of a public board's log. Append-only: each one holds the hash of the entry before it.

    The digest covers the salted content (`PublicLogContent`), which an erasure deletes. `source` names the fact that
    the entry records, so that none is recorded twice.
    """

    class Kind(models.TextChoices):
        VERSION = "version"
        WITHDRAWAL = "withdrawal"
        RETIREMENT = "retirement"
        JUDGMENTS = "judgments"
        BATCH = "batch"
        EXCLUSION = "exclusion"
        ERASURE = "erasure"
        SNAPSHOT = "snapshot"

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="log_entries", db_index=False)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind)
    source = models.CharField(max_length=60, null=True, help_text="the recorded fact; null: judgments, erasures")
    at = models.DateTimeField(help_text="when the entry was added")
    digest = models.CharField(max_length=64, help_text="of salt and content")
    previous = models.CharField(max_length=64, help_text="hash of the entry before it")
    sha256 = models.CharField(max_length=64, help_text="hash of this entry")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="log_entry_number_once"),
            models.UniqueConstraint(fields=["board", "source"], name="log_entry_source_once"),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        *("version", "withdrawal", "retirement", "judgments"),
                        *("batch", "exclusion", "erasure", "snapshot"),
                    ]
                ),
                name="log_entry_kind_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.kind}"


class PublicLogContent(models.Model):
    """Salt and content of a log entry. An erasure deletes those about the person."""

    entry = models.OneToOneField(PublicLogEntry, on_delete=models.PROTECT, related_name="content")
    annotator = models.ForeignKey(
        Annotator, null=True, on_delete=models.PROTECT, related_name="+", help_text="whom the content is about"
    )
    salt = models.CharField(max_length=32)
    content = models.TextField(help_text="canonical JSON, byte by byte as the digest covers it")

    def __str__(self) -> str:
        return f"content of {self.entry}"


class PublicLogPseudonym(models.Model):
    """An annotator's random name in a board's log, and nowhere else. An erasure deletes it."""

    board = models.ForeignKey(Board, on_delete=models.PROTECT, related_name="+")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="+", db_index=False)
    name = models.UUIDField(default=uuid.uuid4, unique=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotator", "board"], name="log_pseudonym_once")]

    def __str__(self) -> str:
        return str(self.name)
