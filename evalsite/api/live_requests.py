"""Bodies of requests about live campaigns: studies, settings of conversations, and reports of replies."""

from collections.abc import Mapping
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
from evalsite.campaigns.live import BOUNDS, LONGEST_TOPIC, MOST_QUESTIONS, MOST_TOPICS
from evalsite.campaigns.models import Aspect, LiveSettings
from evalsite.campaigns.questions import LONGEST_LABEL, MOST_LABELS, WIDEST_SCALE
from evalsite.campaigns.services import NewAspect
from evalsite.campaigns.studies import MOST_ARMS, MOST_REPETITIONS, SETTINGS
from evalsite.dialogues.third_parties import CONVERSATIONS, MOST_CONVERSATIONS


class StudyRequest(StrictSerializer):
    """A study: an arm for each setting with each set of chatbots, `repetitions` times."""

    campaign = KeyField(max_length=80, help_text="a live draft: it becomes the first arm, and the others are copies")
    name = StrictCharField(max_length=200, help_text="name of the study, which annotators see")
    settings = serializers.ListField(child=serializers.ChoiceField(list(SETTINGS)), allow_empty=False, max_length=3)
    chatbot_sets = serializers.ListField(
        child=serializers.ListField(child=StrictUUIDField(), allow_empty=False, max_length=100),
        default=list,
        max_length=MOST_ARMS,
        help_text="entrant ids of the draft; default: every arm has all chatbots of the draft",
    )
    repetitions = StrictIntegerField(min_value=1, max_value=MOST_REPETITIONS, default=1)


def _whole(name: str, **more: Any) -> StrictIntegerField:
    low, high = BOUNDS[name]
    return StrictIntegerField(min_value=low, max_value=high, required=False, **more)


class TurnQuestionRequest(StrictSerializer):
    """A question that labels or rates the replies of a turn."""

    key = StrictCharField(max_length=60, help_text="letters, digits, hyphens and underscores")
    question = StrictCharField(max_length=300)
    kind = serializers.ChoiceField([Aspect.Kind.LABEL.value, Aspect.Kind.RATING.value])
    scope = serializers.ChoiceField(
        Aspect.Scope.values,
        default=Aspect.Scope.CANDIDATE.value,
        help_text="each reply (candidate), each selected reply, or the whole turn",
    )
    minimum = StrictIntegerField(
        min_value=0, max_value=WIDEST_SCALE, required=False, help_text="for kind rating: limit of the scale"
    )
    maximum = StrictIntegerField(
        min_value=1, max_value=WIDEST_SCALE, required=False, help_text="for kind rating: limit of the scale"
    )
    labels = serializers.ListField(
        child=StrictCharField(max_length=LONGEST_LABEL),
        default=list,
        max_length=MOST_LABELS,
        help_text="for kind label: incorrect, irrelevant and inappropriate are errors",
    )
    one_label = StrictBooleanField(default=True, help_text="whether an answer has exactly one label")


def new_question(given: Mapping[str, Any]) -> NewAspect:
    """Return a question as the services take it."""
    kind, scope = Aspect.Kind(given["kind"]), Aspect.Scope(given["scope"])
    return NewAspect(**{**given, "kind": kind, "scope": scope, "labels": tuple(given["labels"])})


class LiveSettingsChangeRequest(StrictSerializer):
    """Conversation settings of a draft. Absent settings do not change."""

    selection = serializers.ChoiceField(
        LiveSettings.Selection.values, required=False, help_text="soba: the best reply; sata: all appropriate replies"
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
    turn_questions = serializers.ListField(
        child=TurnQuestionRequest(),
        required=False,
        max_length=MOST_QUESTIONS,
        help_text="further questions about the replies of each turn; they replace the current ones",
    )


class StaticCampaignRequest(StrictSerializer):
    """The static campaign that may share the board."""

    static_campaign = KeyField(
        max_length=80, allow_null=True, help_text="slug or id of the campaign; null removes the link"
    )


class ThirdPartiesRequest(StrictSerializer):
    """The size of the sample for third parties."""

    conversations = StrictIntegerField(min_value=1, max_value=MOST_CONVERSATIONS, default=CONVERSATIONS)


class SettlementRequest(StrictSerializer):
    """The decision about a report. The chatbot stays paused until it is resumed."""

    outcome = serializers.ChoiceField(["upheld", "dismissed"])
