"""Alarms, findings about annotators and prompts, and full Bayesian checks."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.core.db import PublicModel
from evalsite.core.reasons import reason_text


class Alarm(models.Model):
    """An open problem of a campaign's refits that a person should examine.

    At most one alarm is open at a time, until a refit succeeds. Meanwhile the last good board and the queue stay in
    use. The refit is retried at growing intervals. Slices have an alarm of their own: the next refit retries them, and
    nothing else depends on them.
    """

    class About(models.TextChoices):
        LOOP = "loop"
        SLICES = "slices"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="alarms")
    about = models.CharField(max_length=10, choices=About, default=About.LOOP)
    message = models.TextField()
    reason_data = models.JSONField(null=True, editable=False, help_text="code and parameters of the message")
    failures = models.PositiveIntegerField(default=1)
    raised_at = models.DateTimeField(default=timezone.now, editable=False)
    failed_at = models.DateTimeField(default=timezone.now, help_text="the last time")
    cleared_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "adaptive_alarm"  # Table name from before the app was split.
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "about"], condition=Q(cleared_at__isnull=True), name="alarm_one_open_about_each"
            ),
            models.CheckConstraint(condition=Q(about__in=["loop", "slices"]), name="alarm_about_known"),
        ]

    def __str__(self) -> str:
        return self.message


class Findings(models.Model):
    """Findings about the annotators and prompts of a campaign.

    The worker computes them after a refit. They are a summary, not a fact (`refits.findings`), and each computation
    replaces them.
    """

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="findings")
    annotators = models.JSONField(help_text="refits.findings.AnnotatorFinding")
    gold = models.JSONField(default=dict, blank=True, help_text="of its annotators, and of its items")
    prompts = models.JSONField(help_text="refits.findings.PromptFinding")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        db_table = "adaptive_findings"  # Table name from before the app was split.
        verbose_name_plural = "findings"

    def __str__(self) -> str:
        return f"findings of {self.campaign}"


class FullCheck(PublicModel):
    """The full Bayesian fit of a snapshot's judgments, which a person requested and which takes minutes.

    stage: progress, one of STAGES.
    result: the value of refits.full_check_fit.result_of.
    trouble: why there is no result.
    """

    STAGES = 3  # Model compiled, chains drawn, draws summarised.

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="full_checks")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="full_checks")
    input_sha256 = models.CharField(max_length=64, help_text="of the judgments that were fitted")
    stage = models.PositiveIntegerField(default=0)
    result = models.JSONField(null=True, blank=True)
    trouble = models.TextField(blank=True, default="")
    trouble_data = models.JSONField(null=True, editable=False, help_text="its code and parameters")
    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "adaptive_fullcheck"  # Table name from before the app was split.
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

    @property
    def trouble_text(self) -> str:
        """The trouble in the active language."""
        return reason_text(self.trouble, self.trouble_data)
