"""Sets of imported conversations and their scorecards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, cursor
from evalsite.api.responses.campaigns import CampaignSerializer
from evalsite.campaigns.models import Campaign
from evalsite.scorecards.annotation import ChatbotSample
from evalsite.scorecards.metrics import METRICS
from evalsite.scorecards.selectors import STRATEGIES, ShownScorecard, scorecard_document


class ConversationSetSerializer(ResponseSerializer):
    """A set of imported conversations."""

    id = s.UUIDField(source="public_id")
    name = s.CharField()
    organisation = s.CharField(source="organisation.slug")
    created_at = s.DateTimeField()


class ConversationSetPageSerializer(ResponseSerializer):
    """A page of sets."""

    results = ConversationSetSerializer(many=True)
    next = cursor()


@dataclass(frozen=True, slots=True)
class PlannedAnnotation:
    """A sample, and the campaign that annotates it; None if only the sample was asked for."""

    plan: Sequence[ChatbotSample]
    judgments: int
    campaign: Campaign | None = None


class ChatbotSampleSerializer(ResponseSerializer):
    """The sample of a chatbot."""

    chatbot = s.CharField()
    conversations = s.IntegerField(help_text="in the set")
    replies = s.IntegerField(help_text="in the set")
    drawn = s.IntegerField(help_text="replies, or conversations, in the sample")

    def get_drawn(self, row: ChatbotSample) -> int:
        return len(row.drawn)


class AnnotationSerializer(ResponseSerializer):
    """A sample of replies to annotate, and its campaign."""

    sample = ChatbotSampleSerializer(many=True, source="plan")
    judgments = s.IntegerField(help_text="that the campaign collects, at most")
    campaign = CampaignSerializer(allow_null=True, help_text="null: only the sample size was asked for")


class MetricValueSerializer(ResponseSerializer):
    """A value of a chatbot with its 95 % interval."""

    value = s.FloatField()
    lower = s.FloatField(allow_null=True)
    upper = s.FloatField(allow_null=True)
    n = s.IntegerField()


class UnifiedValueSerializer(MetricValueSerializer):
    """A unified score; chatbots of band 1 are not told apart from the best one."""

    band = s.IntegerField()


class MetricCorrelationSerializer(s.Serializer[Any]):
    """A correlation of a metric with a rating."""

    metric = s.CharField()
    n = s.IntegerField()
    unit = s.CharField(help_text="chatbot or conversation")
    pearson = s.FloatField()
    p = s.FloatField()
    lower = s.FloatField(allow_null=True)
    upper = s.FloatField(allow_null=True)
    spearman = s.FloatField()

    def get_fields(self) -> dict[str, Any]:
        """Add `with`, which is a word of Python."""
        return {**super().get_fields(), "with": s.CharField()}


class ScorecardDocumentSerializer(s.Serializer[Any]):
    """A scorecard as `manage.py scorecard --json` prints it, with predicted ratings; chatbots best first."""

    chatbots = s.ListField(child=s.CharField())
    weights = s.DictField(child=s.FloatField(), help_text="of metrics; 1 where none is given")
    unified = s.DictField(
        child=s.DictField(child=UnifiedValueSerializer(allow_null=True)), help_text=", ".join(STRATEGIES)
    )
    metrics = s.DictField(
        child=s.DictField(child=MetricValueSerializer(allow_null=True)),
        help_text=", ".join(metric.name for metric in METRICS),
    )
    correlations = MetricCorrelationSerializer(many=True)
    warnings = s.ListField(child=s.CharField())
    domains = s.DictField(child=s.DictField(child=s.IntegerField()), help_text="utterances by chatbot and domain")
    profiles = s.DictField(
        child=s.DictField(), help_text="by chatbot: response_time_s, keywords with shares of replies, ratings by domain"
    )
    over_time = s.DictField(child=s.ListField(child=s.DictField()), help_text="mean ratings by chatbot and day")
    prediction = s.DictField(allow_null=True, help_text="as manage.py predict_ratings --json prints it")
    conversations = s.IntegerField()
    computed_at = s.DateTimeField()

    @classmethod
    def render(cls, shown: ShownScorecard) -> dict[str, Any]:
        """Return the body of an answer."""
        return scorecard_document(shown)
