"""The base of the serializers of answers: which fields it renders, in which order, and how values look."""

import uuid
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, StoredSerializer

ID = uuid.UUID("0190b6a0-0000-7000-8000-000000000001")
MOMENT = datetime(2026, 11, 27, 12, 30, tzinfo=UTC)


class PartSerializer(ResponseSerializer):
    name = s.CharField()


class TurnSerializer(StoredSerializer):
    speaker = s.CharField()
    text = s.CharField()


class WholeSerializer(ResponseSerializer):
    second = s.CharField(source="row.first")
    id = s.UUIDField(allow_null=True)
    at = s.DateTimeField(allow_null=True)
    part = PartSerializer(allow_null=True)
    parts = PartSerializer(many=True)
    turns = TurnSerializer(many=True, allow_null=True)
    same = PartSerializer(source="*")
    computed = s.IntegerField()

    def get_computed(self, row: Any) -> int:
        return len(row.parts) + int(self.context.get("more", 0))


def whole(**changes: Any) -> SimpleNamespace:
    part = SimpleNamespace(name="wheel")
    row = SimpleNamespace(first="one")
    values = {"name": "car", "row": row, "id": ID, "at": MOMENT, "part": part, "parts": [part, part], "turns": None}
    return SimpleNamespace(**{**values, **changes})


def test_fields_are_rendered_in_the_order_of_declaration() -> None:
    assert list(WholeSerializer.render(whole())) == [
        *("second", "id", "at", "part", "parts", "turns", "same", "computed"),
    ]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("second", "one"),
        ("id", "0190b6a0-0000-7000-8000-000000000001"),
        ("at", "2026-11-27T12:30:00+00:00"),
        ("part", {"name": "wheel"}),
        ("parts", [{"name": "wheel"}, {"name": "wheel"}]),
        ("same", {"name": "car"}),
        ("computed", 2),
    ],
)
def test_a_field_is_rendered_by_its_kind(field: str, expected: Any) -> None:
    assert WholeSerializer.render(whole())[field] == expected


@pytest.mark.parametrize("field", ["id", "at", "part", "turns"])
def test_a_missing_value_is_rendered_as_null(field: str) -> None:
    assert WholeSerializer.render(whole(**{field: None}))[field] is None


def test_stored_json_is_rendered_unchanged() -> None:
    turns = [{"text": "Why?", "speaker": "user", "later": 1}]
    assert WholeSerializer.render(whole(turns=turns))["turns"] is turns


def test_a_dictionary_is_rendered_like_an_object() -> None:
    assert PartSerializer.render({"name": "wheel"}) == {"name": "wheel"}


def test_the_context_belongs_to_one_answer() -> None:
    assert WholeSerializer.render(whole(), more=5)["computed"] == 7
    assert WholeSerializer.render(whole())["computed"] == 2


def test_data_of_the_framework_is_the_rendered_answer() -> None:
    assert WholeSerializer(whole()).data == WholeSerializer.render(whole())
