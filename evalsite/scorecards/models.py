"""Imported conversations with their ratings, and scorecards that were computed from them or from live conversations.

Conversations are personal data: they can be deleted, and who was erased does not come back with the next import.
"""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.accounts.models import Organisation, OwnedQuerySet
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.core.db import PublicModel
from evalsite.core.names import ShownNames
from evalsite.dialogues.models import Conversation
from evalsite.prompts.models import Prompt


class ConversationSet(ShownNames, PublicModel):
    """Conversations of several chatbots, imported or of a live campaign, that are compared on one scorecard."""

    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="conversation_sets")
    name = models.CharField(max_length=200)
    criterion = models.CharField(
        max_length=200, blank=True, default="", help_text="that is the rating; empty: rating or overall"
    )
    lowest = models.FloatField(default=1, help_text="of the scale of the rating")
    highest = models.FloatField(default=5)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    campaign = models.OneToOneField(
        Campaign,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="conversation_set",
        help_text="whose live conversations these are; null: they are imported",
    )
    mark = models.CharField(max_length=32, blank=True, default="", help_text="of the live conversations last computed")

    objects = OwnedQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="conversation_set_name_once"),
            models.CheckConstraint(condition=Q(lowest__lt=models.F("highest")), name="conversation_set_scale_ascends"),
        ]

    def __str__(self) -> str:
        return self.name


class ImportedConversation(PublicModel):
    """A conversation of one user with one chatbot, as a file has it.

    turns: [[speaker, text, seconds since 1970 or null], ...]
    """

    conversation_set = models.ForeignKey(ConversationSet, on_delete=models.CASCADE, related_name="conversations")
    key = models.CharField(max_length=200, help_text="the id that its file gives it")
    chatbot = models.CharField(max_length=200)
    user_key = models.CharField(max_length=200, blank=True, default="", help_text="as the file has it")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    probability = models.FloatField(null=True, help_text="of the assignment of the chatbot")
    turns = models.JSONField()
    replies = models.PositiveIntegerField(help_text="of the chatbot")
    feedback = models.TextField(blank=True, default="")
    digest = models.CharField(max_length=32, help_text="of all values, to detect changes")
    domains = models.JSONField(null=True, help_text="number of the domain of each turn; null: not classified yet")
    imported_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation_set", "key"], name="imported_conversation_once"),
            models.CheckConstraint(condition=~Q(key="") & ~Q(chatbot=""), name="imported_conversation_has_names"),
        ]
        indexes = [
            models.Index(fields=["conversation_set", "chatbot"], name="imported_of_chatbot"),
            models.Index(fields=["conversation_set", "user_key"], name="imported_of_user"),
        ]

    def __str__(self) -> str:
        return self.key


class ImportedRating(models.Model):
    """A rating of a conversation, or a rating or label of the n-th reply of its chatbot (`turn`).

    source, row: the file and its row; for ratings inside a conversation the source is empty.
    """

    conversation = models.ForeignKey(ImportedConversation, on_delete=models.CASCADE, related_name="ratings")
    source = models.CharField(max_length=200, blank=True, default="")
    row = models.PositiveIntegerField()
    turn = models.PositiveIntegerField(null=True)
    criterion = models.CharField(max_length=200)
    value = models.FloatField(null=True)
    label = models.CharField(max_length=30, blank=True, default="")
    group = models.CharField(max_length=11)
    user_key = models.CharField(max_length=200, blank=True, default="")
    at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["conversation", "source", "row"], name="imported_rating_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=False, label="") | Q(value__isnull=True) & ~Q(label=""),
                name="imported_rating_is_value_or_label",
            ),
            models.CheckConstraint(
                condition=Q(group__in=["user", "evaluator", "third_party"]), name="imported_rating_group_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.criterion} of {self.conversation}"


class ErasedUser(models.Model):
    """A keyed hash of a user's id that was erased from a set, so that no import brings the user back."""

    conversation_set = models.ForeignKey(ConversationSet, on_delete=models.CASCADE, related_name="erased_users")
    hmac = models.CharField(max_length=64)
    erased_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["conversation_set", "hmac"], name="erased_user_once")]

    def __str__(self) -> str:
        return f"erased user of {self.conversation_set}"


class Annotation(models.Model):
    """A campaign that judges a random sample of a set: its replies, whole conversations, or pairs of conversations."""

    class Unit(models.TextChoices):
        """What one assignment shows."""

        REPLY = "reply", _("one reply with the conversation before it")
        CONVERSATION = "conversation", _("one whole conversation")
        PAIR = "pair", _("two whole conversations of different chatbots")

    campaign = models.OneToOneField(Campaign, on_delete=models.PROTECT, related_name="annotation")
    conversation_set = models.ForeignKey(ConversationSet, on_delete=models.CASCADE, related_name="annotations")
    unit = models.CharField(max_length=12, choices=Unit, default=Unit.REPLY)
    whole_conversations = models.BooleanField(default=False, help_text="conversations are drawn, with all replies")
    seed = models.PositiveIntegerField(default=0, help_text="of the sample")
    size = models.JSONField(default=dict, help_text="share, number, or half_width and rate; {}: not recorded")
    error_below = models.FloatField(null=True, blank=True, help_text="ratings below are errors; null: the lowest")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(unit__in=["reply", "conversation", "pair"]), name="annotation_unit_known"
            )
        ]

    def __str__(self) -> str:
        return f"annotation of {self.conversation_set}"

    @property
    def largest_sample(self) -> int:
        """Return the number of replies of the chatbot with the most."""
        replies = self.replies.values("prompt__replies__version").annotate(n=models.Count("pk"))
        return max((row["n"] for row in replies), default=1)


class AnnotatedReply(models.Model):
    """A sampled reply: the n-th one of its conversation, or the whole conversation (`number` null).

    Its prompt and its reply row have no text. In a campaign of pairs, a prompt has one conversation of each chatbot.
    The texts stay in the conversation. Whoever erases the conversation erases them here, too.
    """

    annotation = models.ForeignKey(Annotation, on_delete=models.CASCADE, related_name="replies")
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="annotated_replies")
    reply = models.OneToOneField(Reply, on_delete=models.PROTECT, related_name="annotated_reply")
    imported = models.ForeignKey(
        ImportedConversation, null=True, blank=True, on_delete=models.CASCADE, related_name="annotated_replies"
    )
    live = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.PROTECT, related_name="annotated_replies"
    )
    number = models.PositiveIntegerField(
        null=True, blank=True, help_text="of the reply in its conversation, from 1; null: the whole conversation"
    )

    class Meta:
        verbose_name_plural = "annotated replies"
        constraints = [
            models.CheckConstraint(
                condition=Q(imported__isnull=False, live__isnull=True) | Q(imported__isnull=True, live__isnull=False),
                name="annotated_reply_has_one_conversation",
            ),
            models.CheckConstraint(
                condition=Q(number__isnull=True) | Q(number__gte=1), name="annotated_reply_from_one"
            ),
        ]

    def __str__(self) -> str:
        conversation = self.imported or self.live
        return str(conversation) if self.number is None else f"reply {self.number} of {conversation}"


class StoredScorecard(PublicModel):
    """A computed scorecard of a set, with its report of predicted ratings. The newest one is shown."""

    conversation_set = models.ForeignKey(ConversationSet, on_delete=models.CASCADE, related_name="scorecards")
    conversations = models.PositiveIntegerField()
    content = models.JSONField(help_text="as manage.py scorecard --json prints it, and scores of replicates")
    prediction = models.JSONField(null=True, help_text="as manage.py predict_ratings --json prints it")
    computed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["conversation_set", "-id"], name="scorecard_newest")]

    def __str__(self) -> str:
        return f"scorecard of {self.conversation_set}"
