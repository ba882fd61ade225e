"""Live conversations as their annotators see them."""

from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer
from evalsite.campaigns.models import Aspect
from evalsite.dialogues.models import Conversation, Turn
from evalsite.dialogues.selectors import ShownConversation, ShownTurn, notice_text
from evalsite.dialogues.starting import Started, StartRefusal

POLL_MS = 400  # while replies are awaited


class MessageSerializer(ResponseSerializer):
    """One message of the conversation."""

    turn = s.IntegerField()
    speaker = s.CharField(help_text="user or chatbot")
    text = s.CharField(allow_blank=True, help_text="empty after an erasure")
    how = s.CharField(
        allow_null=True,
        help_text="why the conversation went on with this reply: chosen, random_of_selected, random_of_none, "
        "written or only; null for the annotator's messages",
    )


class ShownReplySerializer(ResponseSerializer):
    """One of the replies to judge. It never names the chatbot."""

    label = s.CharField(help_text="A to H")  # type: ignore[assignment]  # also an attribute of every field
    text = s.CharField()
    cut_off = s.BooleanField(help_text="whether the chatbot reached its maximum number of tokens")


class TurnAspectSerializer(ResponseSerializer):
    """A question about the replies of a turn."""

    key = s.CharField()
    question = s.CharField()
    kind = s.ChoiceField(choices=Aspect.Kind.values)
    scope = s.ChoiceField(choices=Aspect.Scope.values)
    choices = s.ListField(child=s.CharField(), help_text="of choose_one; labels of candidates of select_any")
    minimum = s.IntegerField(allow_null=True)
    maximum = s.IntegerField(allow_null=True)
    labels = s.ListField(child=s.CharField())
    one_label = s.BooleanField(help_text="whether an answer has exactly one label")


class OpenTurnSerializer(ResponseSerializer):
    """The open turn. Its replies are shown together, when all have arrived."""

    id = s.UUIDField(source="row.public_id")
    number = s.IntegerField(source="row.number")
    state = s.ChoiceField(choices=[Turn.State.WAITING.value, Turn.State.RELEASED.value], source="row.state")
    text = s.CharField(help_text="the annotator's message")
    posted_at = s.DateTimeField(source="row.posted_at")
    deadline = s.DateTimeField(source="row.deadline", help_text="time by which the turn continues")
    candidates = ShownReplySerializer(many=True, source="replies")
    aspects = TurnAspectSerializer(many=True)

    def get_aspects(self, row: ShownTurn) -> list[dict[str, Any]]:
        labels = [reply.label for reply in row.replies]
        return [
            {
                "key": aspect.key,
                "question": aspect.question,
                "kind": aspect.kind,
                "scope": aspect.scope,
                "choices": _choices(aspect, labels),
                "minimum": aspect.minimum,
                "maximum": aspect.maximum,
                "labels": aspect.labels,
                "one_label": aspect.one_label,
            }
            for aspect in row.aspects
        ]


def _choices(aspect: Aspect, labels: list[str]) -> list[str]:
    if aspect.kind == Aspect.Kind.CHOOSE_ONE:
        return aspect.choices_among(labels)
    return labels if aspect.kind == Aspect.Kind.SELECT_ANY else []


class NoticeSerializer(ResponseSerializer):
    """A notice to the annotator about the last turn or the campaign."""

    code = s.CharField(help_text="turn_void, no_reply, campaign_paused or campaign_stopped")
    text = s.CharField()


class ConversationSerializer(ResponseSerializer):
    """A live conversation, as shown to its annotator."""

    id = s.UUIDField(source="row.public_id")
    campaign = s.UUIDField(source="campaign.public_id")
    state = s.ChoiceField(choices=Conversation.State.values, source="row.state")
    setting = s.CharField(source="row.setting", help_text="soba, sata_random or sata_written")
    chatbots = s.IntegerField(help_text="number of chatbots that reply to each message")
    topic = s.CharField(source="row.topic", allow_blank=True, help_text="a topic to begin with")
    started_at = s.DateTimeField(source="row.started_at")
    ended_at = s.DateTimeField(source="row.ended_at", allow_null=True)
    turns_done = s.IntegerField()
    minimum_turns = s.IntegerField(source="campaign.live.minimum_turns")
    maximum_turns = s.IntegerField(source="campaign.live.maximum_turns", allow_null=True)
    can_send = s.BooleanField()
    can_end = s.BooleanField()
    asks_rating = s.BooleanField(
        source="campaign.live.end_rating", help_text="whether the campaign asks for a rating of 1 to 5 at the end"
    )
    asks_feedback = s.BooleanField(source="campaign.live.end_feedback")
    retry_after_ms = s.IntegerField(help_text="delay before the next poll while replies are awaited")
    notice = NoticeSerializer(allow_null=True)
    messages = MessageSerializer(many=True)
    turn = OpenTurnSerializer(allow_null=True)

    def get_retry_after_ms(self, row: ShownConversation) -> int:
        return POLL_MS

    def get_notice(self, row: ShownConversation) -> dict[str, str] | None:
        return {"code": row.notice, "text": notice_text(row.notice)} if row.notice else None


@dataclass(frozen=True, slots=True)
class StartOutcome:
    """A conversation, or the reason why none begins."""

    conversation: ShownConversation | None
    refusal: StartRefusal | None

    @classmethod
    def of(cls, started: Started, view: ShownConversation | None) -> "StartOutcome":
        return cls(view, started.refusal)


@extend_schema_serializer(component_name="ConversationStart")
class StartSerializer(ResponseSerializer):
    """The new or open conversation; null with a reason if none begins."""

    conversation = ConversationSerializer(allow_null=True)
    refusal = s.ChoiceField(choices=[one.value for one in StartRefusal], allow_null=True)
    hint = s.CharField(allow_blank=True, help_text="what to do about a refusal")

    def get_hint(self, row: StartOutcome) -> str:
        return row.refusal.hint if row.refusal else ""


class ReportReceiptSerializer(ResponseSerializer):
    """The receipt of a report."""

    id = s.UUIDField(source="public_id")
