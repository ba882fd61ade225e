from typing import Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, OwnedQuerySet
from evalsite.core.db import PublicModel
from evalsite.core.names import ShownNames, lookalike_check
from evalsite.prompts.models import Prompt


class Chatbot(ShownNames, PublicModel):
    """A compared system, with the name that the board shows."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="chatbots")
    made_by = models.ForeignKey(
        Organisation,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="made",
        help_text="whose it is, where another organisation keeps it: its members do not judge it either",
    )
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="chatbot_name_once"),
            models.CheckConstraint(condition=~Q(name=""), name="chatbot_has_name"),
        ]

    def __str__(self) -> str:
        return self.name

    def looks_check(self, field: str) -> None:
        """Raise Conflict for a name that looks like that of another chatbot in one of this chatbot's campaigns."""
        if self.pk is not None:
            beside = Chatbot.objects.filter(versions__entrants__campaign__entrants__version__chatbot=self.pk)
            lookalike_check(self.name, beside.exclude(pk=self.pk).values_list("name", flat=True), field=field)


class Version(ShownNames, PublicModel):
    """One state of a chatbot: a file of replies, or an endpoint whose replies are collected (LIVE).

    Immutable; a change is a new version.
    """

    names = ("label",)

    class Kind(models.TextChoices):
        STATIC = "static", _("a file of replies")
        LIVE = "live", _("an endpoint")

    chatbot = models.ForeignKey(Chatbot, on_delete=models.PROTECT, related_name="versions")
    label = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind)
    follows = models.OneToOneField("self", null=True, blank=True, on_delete=models.PROTECT, related_name="followed_by")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chatbot", "label"], name="version_label_once"),
            models.CheckConstraint(condition=Q(kind__in=["static", "live"]), name="version_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.chatbot} {self.label}"


class ReplyQuerySet(models.QuerySet["Reply"]):
    def shown(self) -> Self:
        """Filter by replies that annotators see: the first sample for a prompt, in force, with a text."""
        return self.filter(sample=1, corrected_by__isnull=True, text__isnull=False)


class Reply(PublicModel):
    """A version's reply to a prompt, by sample. Immutable; a correction is a new revision.

    A null `text` means unknown: imported votes name the chatbots but not the replies. A reply of a live conversation
    (LIVE) has its text in that conversation, where it can be erased. `sha256` is the hexadecimal hash
    of the text. Two replies with equal hashes are equal and are never compared.
    """

    class Origin(models.TextChoices):
        FILE = "file"
        ENDPOINT = "endpoint"
        IMPORT = "import"
        LIVE = "live"

    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="replies", db_index=False)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="replies")
    sample = models.PositiveIntegerField(default=1)
    revision = models.PositiveIntegerField(default=1)
    corrects = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="corrected_by"
    )
    text = models.TextField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, null=True, blank=True)
    origin = models.CharField(max_length=10, choices=Origin)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ReplyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "replies"
        constraints = [
            models.UniqueConstraint(
                fields=["version", "prompt", "sample", "revision"], name="reply_once_per_sample_and_revision"
            ),
            models.CheckConstraint(
                condition=Q(text__isnull=True, sha256__isnull=True) | Q(text__isnull=False, sha256__isnull=False),
                name="reply_hash_goes_with_text",
            ),
            models.CheckConstraint(
                condition=Q(revision=1, corrects__isnull=True) | Q(revision__gt=1, corrects__isnull=False),
                name="reply_correction_names_what_it_corrects",
            ),
            models.CheckConstraint(condition=Q(sample__gte=1), name="reply_sample_from_one"),
            models.CheckConstraint(
                condition=Q(origin__in=["file", "endpoint", "import", "live"]), name="reply_origin_known"
            ),
        ]
        # Replies that cannot be shown: there are none except from imported votes.
        indexes = [models.Index(fields=["version"], condition=Q(text__isnull=True), name="reply_without_text")]

    def __str__(self) -> str:
        return f"{self.version} on {self.prompt}"
