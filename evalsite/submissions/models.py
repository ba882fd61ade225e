"""Chatbots that people submit to campaigns, what a campaign accepts, and every change of a submission's state."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Version
from evalsite.core.db import PublicModel
from evalsite.core.reasons import reason_text


class SubmissionSettings(models.Model):
    """What a campaign accepts from submitters. A campaign without this row accepts nothing."""

    class Admission(models.TextChoices):
        CLOSED = "closed", _("nobody submits")
        MODERATED = "moderated", _("each submission waits for approval")
        OPEN = "open", _("a submission joins by itself")

    class Takes(models.TextChoices):
        FILE = "file", _("files of replies")
        ENDPOINT = "endpoint", _("endpoints")
        BOTH = "both", _("files of replies and endpoints")

    campaign = models.OneToOneField(Campaign, on_delete=models.CASCADE, related_name="submission_settings")
    admission = models.CharField(max_length=10, choices=Admission, default=Admission.CLOSED)
    takes = models.CharField(max_length=10, choices=Takes, default=Takes.BOTH)
    organisations = models.ManyToManyField(
        Organisation, blank=True, related_name="+", help_text="that may submit; none: every organisation of the site"
    )
    versions_per_week = models.PositiveIntegerField(
        null=True, blank=True, help_text="that one organisation may submit in seven days; null: no limit"
    )
    deadline = models.DateTimeField(null=True, blank=True, help_text="after which nothing is accepted; null: none")
    licence_note = models.TextField(blank=True, default="", help_text="what submitters read about rights in replies")
    terms = models.TextField(blank=True, default="", help_text="that a submitter accepts; blank: none")
    prompts_downloadable = models.BooleanField(default=False, help_text="whoever may submit may download the prompts")

    class Meta:
        verbose_name_plural = "submission settings"
        constraints = [
            models.CheckConstraint(
                condition=Q(admission__in=["closed", "moderated", "open"]), name="submission_admission_known"
            ),
            models.CheckConstraint(condition=Q(takes__in=["file", "endpoint", "both"]), name="submission_takes_known"),
            models.CheckConstraint(
                condition=Q(versions_per_week__isnull=True) | Q(versions_per_week__gte=1),
                name="submission_versions_from_one",
            ),
        ]

    def __str__(self) -> str:
        return f"submissions to {self.campaign}"

    @property
    def takes_files(self) -> bool:
        return self.takes in {self.Takes.FILE, self.Takes.BOTH}

    @property
    def takes_endpoints(self) -> bool:
        return self.takes in {self.Takes.ENDPOINT, self.Takes.BOTH}


class Submission(PublicModel):
    """One version of a chatbot, submitted to a campaign.

    `version` is null until the version exists: that of a file is created when the submission joins. `report` is the
    result for each row of its file, as it was when it was submitted.
    """

    class State(models.TextChoices):
        RECEIVED = "received", _("Received")
        CHECKED = "checked", _("Checked")
        REFUSED = "refused", _("Refused")
        WAITING = "waiting", _("Waiting for approval")
        JOINED = "joined", _("Joined")
        PLACED = "placed", _("Placed")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    class Kind(models.TextChoices):
        FILE = "file", _("a file of replies")
        ENDPOINT = "endpoint", _("an endpoint")

    BEFORE_JOINING = (State.RECEIVED, State.CHECKED, State.WAITING)
    ON_BOARD = (State.JOINED, State.PLACED)

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="submissions")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="submissions")
    submitted_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="submissions")
    name = models.CharField(max_length=200)
    label = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.RECEIVED)
    version = models.OneToOneField(
        Version, null=True, blank=True, on_delete=models.PROTECT, related_name="submission", editable=False
    )
    card = models.JSONField(default=dict, help_text="link, licence, base_model, description")
    terms_accepted = models.TextField(blank=True, default="", help_text="as they were")
    report = models.JSONField(default=dict)
    sha256 = models.CharField(max_length=64, blank=True, default="", help_text="of the replies; blank: an endpoint")
    mails = models.BooleanField(default=False, help_text="each change is told to the submitter by mail")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["received", "checked", "refused", "waiting", "joined", "placed", "withdrawn"]),
                name="submission_state_known",
            ),
            models.CheckConstraint(condition=Q(kind__in=["file", "endpoint"]), name="submission_kind_known"),
            models.CheckConstraint(
                condition=~Q(state__in=["joined", "placed"]) | Q(version__isnull=False),
                name="submission_on_board_has_version",
            ),
            models.UniqueConstraint(
                fields=["campaign", "organisation", "name", "label"],
                condition=~Q(state="refused"),
                name="submission_version_once",
            ),
        ]
        indexes = [
            models.Index(fields=["campaign", "state"], name="submission_of_campaign"),
            models.Index(
                fields=["state"],
                condition=Q(state__in=["received", "checked", "joined"]),
                name="submission_under_way",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.label} for {self.campaign}"


class SubmissionEvent(PublicModel):
    """A change of a submission's state, with its reason. Immutable. The first one says that it was received."""

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="events")
    state = models.CharField(max_length=10, choices=Submission.State)
    at = models.DateTimeField(default=timezone.now, editable=False)
    reason = models.TextField(blank=True, default="")
    reason_data = models.JSONField(null=True, editable=False, help_text="code and parameters; null: a person's words")
    actor = models.UUIDField(null=True, editable=False, help_text="public id of a person; null: the service")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["received", "checked", "refused", "waiting", "joined", "placed", "withdrawn"]),
                name="submission_event_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.submission}: {self.state}"

    @property
    def reason_text(self) -> str:
        """The reason in the active language."""
        return reason_text(self.reason, self.reason_data)


class SubmissionFile(models.Model):
    """The replies of a submission until it joins or is refused. Its version keeps them afterwards."""

    submission = models.OneToOneField(Submission, on_delete=models.CASCADE, related_name="file")
    name = models.CharField(max_length=200)
    content = models.BinaryField()

    def __str__(self) -> str:
        return f"file of {self.submission}"
