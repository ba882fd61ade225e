"""Bodies of requests about live campaigns: studies, settings of conversations, and reports of replies."""

from typing import Any

from rest_framework import serializers

from evalsite.api.fields import (
    KeyField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
)
from evalsite.campaigns.live import BOUNDS, LONGEST_TOPIC, MOST_TOPICS
from evalsite.campaigns.models import LiveSettings
from evalsite.campaigns.studies import MOST_ARMS, MOST_REPETITIONS, SETTINGS
from evalsite.dialogues.third_parties import CONVERSATIONS, MOST_CONVERSATIONS


class StudyRequest(StrictSerializer):
    """A study: an arm for each setting with each set of chatbots, `repetitions` times."""

    campaign = KeyField(max_length=80, help_text="a live draft, which becomes the first arm; the others are copies")
    name = StrictCharField(max_length=200, help_text="annotators see it")
    settings = serializers.ListField(child=serializers.ChoiceField(list(SETTINGS)), allow_empty=False, max_length=3)
    chatbot_sets = serializers.ListField(
        child=serializers.ListField(child=StrictUUIDField(), allow_empty=False, max_length=100),
        default=list,
        max_length=MOST_ARMS,
        help_text="entrant ids of the draft; absent: all its chatbots take part in every arm",
    )
    repetitions = StrictIntegerField(min_value=1, max_value=MOST_REPETITIONS, default=1)


def _whole(name: str, **more: Any) -> StrictIntegerField:
    low, high = BOUNDS[name]
    return StrictIntegerField(min_value=low, max_value=high, required=False, **more)


class LiveSettingsChangeRequest(StrictSerializer):
    """Settings of the conversations of a draft. Those that are absent stay as they are."""

    selection = serializers.ChoiceField(
        LiveSettings.Selection.values, required=False, help_text="soba: the best reply; sata: all appropriate ones"
    )
    fallback = serializers.ChoiceField(
        LiveSettings.Fallback.values, required=False, help_text="how a turn continues if sata selected nothing"
    )
    chatbots_per_conversation = _whole("chatbots_per_conversation")
    minimum_turns = _whole("minimum_turns")
    maximum_turns = _whole("maximum_turns", allow_null=True)
    opening_topics = serializers.ListField(
        child=StrictCharField(max_length=LONGEST_TOPIC), required=False, max_length=MOST_TOPICS
    )
    count_first_turn = StrictBooleanField(required=False)
    pay_per = serializers.ChoiceField(LiveSettings.PayPer.values, required=False)
    end_rating = StrictBooleanField(required=False)
    end_feedback = StrictBooleanField(required=False)
    data_notice = StrictCharField(max_length=5000, required=False, allow_blank=True, help_text="Markdown")
    conversations_per_annotator = _whole("conversations_per_annotator")
    turn_deadline_s = _whole("turn_deadline_s")
    idle_minutes = _whole("idle_minutes")
    reports_to_pause = _whole("reports_to_pause")


class ThirdPartiesRequest(StrictSerializer):
    """How large the sample for third parties is."""

    conversations = StrictIntegerField(min_value=1, max_value=MOST_CONVERSATIONS, default=CONVERSATIONS)


class SettlementRequest(StrictSerializer):
    """What becomes of a report."""

    outcome = serializers.ChoiceField(["upheld", "dismissed"])
