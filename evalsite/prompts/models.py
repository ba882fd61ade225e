from django.db import models
from django.db.models import Q
from django.utils import timezone

from evalsite.accounts.models import Organisation, OwnedQuerySet
from evalsite.core.db import PublicModel
from evalsite.core.names import ShownNames


class PromptSet(ShownNames, PublicModel):
    """Prompts that are used together. A set is independent of the campaigns that use it."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="prompt_sets")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "name"], name="prompt_set_name_once")]

    def __str__(self) -> str:
        return self.name


class Prompt(PublicModel):
    """The input of a chatbot: one or several turns. Immutable; a correction is a new revision.

    `turns` is a list of {"speaker", "text"}. The last turn is the one to answer. Null means that the text is unknown
    (imported votes). The context of a live conversation's turn is a prompt of origin LIVE.
    """

    class Origin(models.TextChoices):
        AUTHORED = "authored"
        IMPORT = "import"
        LIVE = "live"

    prompt_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="prompts")
    key = models.CharField(max_length=200, help_text="the id that its file gives it")
    revision = models.PositiveIntegerField(default=1)
    corrects = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="corrected_by"
    )
    category = models.CharField(max_length=100, blank=True, default="")
    turns = models.JSONField(null=True, blank=True)
    origin = models.CharField(max_length=10, choices=Origin)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["prompt_set", "key", "revision"], name="prompt_key_once_per_revision"),
            models.CheckConstraint(
                condition=Q(revision=1, corrects__isnull=True) | Q(revision__gt=1, corrects__isnull=False),
                name="prompt_correction_names_what_it_corrects",
            ),
            models.CheckConstraint(condition=~Q(key=""), name="prompt_has_key"),
            models.CheckConstraint(condition=Q(origin__in=["authored", "import", "live"]), name="prompt_origin_known"),
        ]

    def __str__(self) -> str:
        return self.key
