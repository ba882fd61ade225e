"""Shapes of what comes in. What goes out is plain dictionaries from presenters."""

import re
import uuid
from datetime import datetime
from typing import Any

from rest_framework import serializers

from evalsite.campaigns.limits import ALPHA, POWER
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import Annotator

ID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # as we write it, and in capitals


def as_key(text: str) -> str:
    """A slug as it was given, an id as we write it: by no other spelling is it known below."""
    return text.lower() if re.fullmatch(ID, text) else text


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields that it does not know: a misspelt one must not be silently without effect."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({unknown[0]: "This field is not known here."})
        return super().to_internal_value(data)


class StrictCharField(serializers.CharField):
    """A JSON string; the framework's own field would also take a number."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be a string.")
        return super().to_internal_value(data)


class KeyField(StrictCharField):
    """A slug or an id."""

    def to_internal_value(self, data: Any) -> str:
        return as_key(super().to_internal_value(data))


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer; the framework's own field would also take a string."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("This must be an integer.")
        return super().to_internal_value(data)


class StrictFloatField(serializers.FloatField):
    """A JSON number; the framework's own field would also take a string."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("This must be a number.")
        try:
            return super().to_internal_value(data)
        except OverflowError:
            raise serializers.ValidationError("This number is too large.") from None


class StrictBooleanField(serializers.BooleanField):
    """true or false; the framework's own field would also take "yes"."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("This must be true or false.")
        return data


class QueryIntegerField(serializers.IntegerField):
    """Digits in a query; the framework's own field would also take 1.0."""

    def to_internal_value(self, data: Any) -> int:
        if not re.fullmatch("[0-9]{1,9}", str(data)):
            raise serializers.ValidationError("This must be a whole number.")
        return int(data)


class StrictUUIDField(serializers.UUIDField):
    """An id as we write it; the framework's own field would also take numbers and other notations."""

    def to_internal_value(self, data: Any) -> uuid.UUID:
        if not isinstance(data, str) or not re.fullmatch(ID, data):
            raise serializers.ValidationError("This must be an id, as this API gives them.")
        return uuid.UUID(data)


class MomentField(serializers.DateTimeField):
    """A time with its offset, in years that every database can hold."""

    def to_internal_value(self, value: Any) -> datetime:
        moment = super().to_internal_value(value)
        if not 1970 <= moment.year <= 9000:
            raise serializers.ValidationError("This must be a year from 1970 to 9000.")
        return moment

    def enforce_timezone(self, value: datetime) -> datetime:
        """Refuse a time without its offset; the framework's own field would take it for one of the server's zone."""
        if value.utcoffset() is None:
            raise InvalidInput(
                "This time has no offset from UTC.",
                hint="Write it as 2026-11-24T12:00:00Z or 2026-11-24T13:00:00+01:00 (in an address, + is %2B).",
                field=self.field_name or "",
            )
        return super().enforce_timezone(value)


class NothingSerializer(StrictSerializer):
    """An empty object."""


class EnrolSerializer(StrictSerializer):
    campaign = KeyField(max_length=80)
    kind = serializers.ChoiceField(choices=["human", "simulated", "model"], default=Annotator.Kind.HUMAN)
    consent = StrictBooleanField(default=False, help_text="to the notice of the campaign, where it asks for that")


class JoinSerializer(StrictSerializer):
    consent = StrictBooleanField(default=False, help_text="to the notice of the campaign, where it asks for that")


class QualificationSerializer(StrictSerializer):
    item = StrictIntegerField(min_value=1, max_value=2**53)
    attempt = StrictIntegerField(min_value=1, max_value=2)
    choice = StrictCharField(max_length=20)


class ClaimSerializer(StrictSerializer):
    count = StrictIntegerField(min_value=1, max_value=100, required=False)


class AnswerSerializer(StrictSerializer):
    aspect = StrictCharField(max_length=60, trim_whitespace=False)
    choice = StrictCharField(max_length=20, trim_whitespace=False)


class JudgmentSerializer(StrictSerializer):
    answers = serializers.ListField(child=AnswerSerializer(), allow_empty=False, max_length=50)
    client_ms = StrictIntegerField(min_value=0, max_value=2**31 - 1, required=False)
    comment = StrictCharField(max_length=2000, required=False, allow_blank=True)
    supersedes = StrictUUIDField(required=False)

    def validate_answers(self, answers: list[dict[str, str]]) -> dict[str, str]:
        """Aspect -> choice; an aspect answered twice is refused, since one of the two would be lost."""
        choices = {answer["aspect"]: answer["choice"] for answer in answers}
        if len(choices) != len(answers):
            raise serializers.ValidationError("An aspect is answered twice.")
        return choices


class SkipSerializer(StrictSerializer):
    reason = StrictCharField(max_length=20)
    note = StrictCharField(max_length=500, required=False, allow_blank=True)


class WantedSerializer(StrictSerializer):
    """Query of a list of judgments: which ones. Absent: all of them, but only those that count."""

    counted = serializers.ChoiceField(choices=["true", "false", "any"], default="true", help_text="seen by the fit")
    aspect = serializers.SlugField(max_length=60, required=False, help_text="its key; absent: the primary one")
    category = StrictCharField(max_length=100, required=False)
    chatbot = StrictUUIDField(required=False, help_text="on either side")
    annotator = StrictUUIDField(required=False)
    late = serializers.ChoiceField(choices=["true", "false"], required=False)
    explained = serializers.ChoiceField(
        choices=["true", "false"], required=False, help_text="with a reason or a comment"
    )
    since = MomentField(required=False, help_text="recorded then or later, as 2026-11-24T12:00:00Z")
    until = MomentField(required=False, help_text="recorded before that time, as 2026-11-24T12:00:00Z")


class ActSerializer(StrictSerializer):
    """What an act is done with; which of these it needs depends on the act, and is said where it is missing."""

    reason = StrictCharField(max_length=500, required=False, allow_blank=True)
    annotator = StrictUUIDField(required=False, help_text="exclude, readmit: the pseudonym")
    entrant = StrictUUIDField(required=False, help_text="withdraw_entrant")
    version = StrictUUIDField(required=False, help_text="add_entrant: of a chatbot of the organisation")
    prompt = StrictUUIDField(required=False, help_text="retire_prompt")
    gold = StrictUUIDField(required=False, help_text="withdraw_gold")
    username = StrictCharField(max_length=150, required=False, help_text="share: whose role")
    role = serializers.ChoiceField(
        choices=["owner", "manager", "viewer"], required=False, help_text="share; absent: takes the one given"
    )
    judgments = StrictIntegerField(min_value=1, max_value=2**31 - 1, required=False, help_text="pilot: how many")
    share = StrictFloatField(required=False, help_text="pilot, instead: of the budget, or of all questions")
    target_se = StrictFloatField(required=False, help_text="extend: smaller than now")
    min_difference = StrictFloatField(required=False, help_text="extend: smaller than now")
    power = StrictFloatField(required=False, help_text="extend, of a difference: larger than now")
    alpha = StrictFloatField(required=False, help_text="extend, of a difference: smaller than now")
    budget = StrictIntegerField(min_value=1, max_value=2**31 - 1, required=False, help_text="extend: more than now")
    deadline = MomentField(required=False, help_text="extend: later than now, as 2026-11-24T12:00:00Z")
    visibility = serializers.ChoiceField(
        choices=Campaign.Visibility.values, required=False, help_text="show: who sees the board"
    )
    shows_prompts = StrictBooleanField(required=False, help_text="show: its readers may read the prompts")
    shows_replies = StrictBooleanField(required=False, help_text="show: and some replies to them, as examples")


class LimitsSerializer(StrictSerializer):
    """All that ends a campaign; what is absent or null does not."""

    target_se = StrictFloatField(required=False, allow_null=True, help_text="in logits, of every chatbot's ability")
    min_difference = StrictFloatField(required=False, allow_null=True, help_text="instead: between neighbours")
    alpha = StrictFloatField(default=ALPHA, help_text="two-sided level of that test")
    power = StrictFloatField(default=POWER, help_text="with which it finds the difference")
    budget = StrictIntegerField(min_value=1, max_value=2**31 - 1, required=False, allow_null=True)
    deadline = MomentField(required=False, allow_null=True, help_text="as 2026-11-24T12:00:00Z")
