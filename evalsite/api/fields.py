"""Fields of requests. They are stricter than the framework's own: nothing is converted or ignored silently."""

import re
import uuid
from datetime import datetime
from decimal import Decimal
from typing import Any

from rest_framework import serializers

from evalsite.core.errors import InvalidInput

ID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"  # in capitals, too
MAX_MONEY, SMALLEST = 1_000_000, Decimal("1E-10")


def as_key(text: str) -> str:
    """Return a slug unchanged, and an id in lower case, as it is stored."""
    return text.lower() if re.fullmatch(ID, text) else text


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses unknown fields: a misspelt one must not be ignored silently."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = sorted(set(data) - set(self.fields)) if isinstance(data, dict) else []
        if unknown:
            raise serializers.ValidationError({unknown[0]: "This field is not known here."})
        return super().to_internal_value(data)


class StrictCharField(serializers.CharField):
    """A JSON string. The framework's own field also accepts a number."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise serializers.ValidationError("This must be a string.")
        return super().to_internal_value(data)


class KeyField(StrictCharField):
    """A slug or an id."""

    def to_internal_value(self, data: Any) -> str:
        return as_key(super().to_internal_value(data))


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer. The framework's own field also accepts a string."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError("This must be an integer.")
        return super().to_internal_value(data)


class StrictFloatField(serializers.FloatField):
    """A JSON number. The framework's own field also accepts a string."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise serializers.ValidationError("This must be a number.")
        try:
            return super().to_internal_value(data)
        except OverflowError:
            raise serializers.ValidationError("This number is too large.") from None


class AmountField(StrictFloatField):
    """A JSON number that becomes a decimal of ten places."""

    def to_internal_value(self, data: Any) -> Any:
        number = Decimal(str(super().to_internal_value(data)))
        return number.quantize(SMALLEST) if abs(number) <= MAX_MONEY else number  # the limits refuse it


class StrictBooleanField(serializers.BooleanField):
    """true or false. The framework's own field also accepts "yes"."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise serializers.ValidationError("This must be true or false.")
        return data


class QueryIntegerField(serializers.IntegerField):
    """Digits in a query. The framework's own field also accepts 1.0."""

    def to_internal_value(self, data: Any) -> int:
        if not re.fullmatch("[0-9]{1,9}", str(data)):
            raise serializers.ValidationError("This must be a whole number.")
        return int(data)


class StrictUUIDField(serializers.UUIDField):
    """An id as this API writes it. The framework's own field also accepts numbers and other notations."""

    def to_internal_value(self, data: Any) -> uuid.UUID:
        if not isinstance(data, str) or not re.fullmatch(ID, data):
            raise serializers.ValidationError("This must be an id, as this API gives them.")
        return uuid.UUID(data)


class MomentField(serializers.DateTimeField):
    """A time with its offset from UTC, in years that every database can store."""

    def to_internal_value(self, value: Any) -> datetime:
        moment = super().to_internal_value(value)
        if not 1970 <= moment.year <= 9000:
            raise serializers.ValidationError("This must be a year from 1970 to 9000.")
        return moment

    def enforce_timezone(self, value: datetime) -> datetime:
        """Refuse a time without an offset. The framework's own field would assume the time zone of the server."""
        if value.utcoffset() is None:
            raise InvalidInput(
                "This time has no offset from UTC.",
                hint="Write it as 2026-11-24T12:00:00Z or 2026-11-24T13:00:00+01:00 (in an address, + is %2B).",
                field=self.field_name or "",
            )
        return super().enforce_timezone(value)
