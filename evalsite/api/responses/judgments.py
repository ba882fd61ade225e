"""Lists of judgments and of skips. Their context is `names`: the names of the campaign's entrants by key."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, cursor
from evalsite.judgments.judgment_lists import Listed, ListedSkip


class JudgmentSerializer(ResponseSerializer):
    """A judgment of one aspect."""

    id = s.UUIDField(source="judgment")
    supersedes = s.UUIDField(allow_null=True)
    assignment = s.UUIDField()
    prompt = s.CharField(help_text="key of the prompt")
    category = s.CharField(allow_blank=True)
    aspect = s.CharField()
    candidates = s.ListField(child=s.CharField(), help_text="names, A first")
    order_known = s.BooleanField(help_text="whether A is known to have been shown first")
    choice = s.ChoiceField(choices=["A", "B", "tie", "both_bad"])
    annotator = s.UUIDField(allow_null=True, help_text="a pseudonym")
    annotator_kind = s.CharField(help_text="human, simulated, model or unknown")
    counted = s.BooleanField(help_text="whether fits use it")
    late = s.BooleanField()
    client_ms = s.IntegerField(allow_null=True)
    answered_at = s.DateTimeField(allow_null=True)
    recorded_at = s.DateTimeField()
    purpose = s.CharField(help_text="measure, overlap, gold or qualification")
    policy = s.CharField(allow_blank=True, help_text="the policy that chose it")
    probability = s.FloatField(allow_null=True, help_text="the probability with which it was drawn")
    over_quota = s.BooleanField(help_text="late and above the quota of its annotator: does not count, is not paid")
    reasons = s.ListField(child=s.CharField(), help_text="reasons that the annotator chose from the campaign's list")
    comment = s.CharField(allow_blank=True, help_text="text of the annotator")

    def get_candidates(self, row: Listed) -> list[str]:
        names = self.context["names"]
        return [names[row.first], names[row.second]]

    def get_reasons(self, row: Listed) -> list[str]:
        return list(row.reasons)


@extend_schema_serializer(component_name="SkipListed")
class SkipSerializer(ResponseSerializer):
    """A skipped assignment."""

    assignment = s.UUIDField(help_text="also the cursor of this list")
    prompt = s.CharField(help_text="key of the prompt")
    category = s.CharField(allow_blank=True)
    candidates = s.ListField(child=s.CharField(), help_text="names, A first")
    annotator = s.UUIDField(allow_null=True, help_text="a pseudonym")
    annotator_kind = s.CharField(help_text="human, simulated, model or unknown")
    reason = s.CharField(help_text="cannot_judge, broken, offensive, recognised or other")
    note = s.CharField(allow_blank=True, help_text="text of the annotator")
    purpose = s.CharField(help_text="measure, overlap, gold or qualification")
    skipped_at = s.DateTimeField()

    def get_candidates(self, row: ListedSkip) -> list[str]:
        names = self.context["names"]
        return [names[row.first], names[row.second]]


@extend_schema_serializer(component_name="Judgments")
class JudgmentPageSerializer(ResponseSerializer):
    """One page of the list of judgments."""

    results = JudgmentSerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="Skips")
class SkipPageSerializer(ResponseSerializer):
    """One page of the list of skips."""

    results = SkipSerializer(many=True)
    next = cursor()
