"""The content of an uploaded vote file, and the result of its import."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer
from evalsite.core.models import Inquiry
from evalsite.exchange.vote_uploads import TAKE

COUNTS = ("votes", "a_better", "b_better", "ties", "both_bad", "prompts", "annotators", "chatbots")


@extend_schema_serializer(component_name="VoteFileProblem")
class VoteFileProblemSerializer(ResponseSerializer):
    """The reason why a file is refused, its place, and the choices that correct it."""

    code = s.CharField()
    message = s.CharField(help_text="message with file, row and column")
    hint = s.CharField(allow_blank=True)
    row = s.IntegerField(allow_null=True, help_text="number of the data row, from 1")
    line = s.IntegerField(allow_null=True)
    column = s.CharField(allow_blank=True)
    columns = s.ListField(
        child=s.CharField(allow_blank=True), help_text="columns of the file, as choices for a, b and winner"
    )
    labels = s.ListField(child=s.CharField(), help_text="labels that need a meaning (map)")
    encodings = s.ListField(child=s.CharField(), help_text="encodings that you can choose")


@extend_schema_serializer(component_name="VoteFile")
class VoteFileSerializer(ResponseSerializer):
    """The state of an uploaded vote file."""

    id = s.UUIDField(source="public_id")
    state = s.ChoiceField(choices=["waiting", "checked", "imported", "refused"])
    problem = VoteFileProblemSerializer(allow_null=True, help_text="problem of a refused file")
    looks_like = s.CharField(allow_blank=True, help_text="recognised format")
    counts = s.DictField(child=s.IntegerField(), help_text=f"of a checked file: {', '.join(COUNTS)}; else votes")
    warnings = s.ListField(child=s.CharField())
    campaign = s.CharField(allow_null=True, help_text="slug of the campaign, once it is imported")
    board = s.UUIDField(allow_null=True, help_text="id of the board, once it is imported")
    created = s.BooleanField(allow_null=True, help_text="false if the same votes were imported before")

    def get_state(self, row: Inquiry) -> str:
        if row.answered_at is None:
            return "waiting"
        if self.get_problem(row) is not None:
            return "refused"
        return "imported" if row.kind == TAKE else "checked"

    def get_problem(self, row: Inquiry) -> Mapping[str, Any] | None:
        if row.trouble:
            nowhere: dict[str, Any] = {
                "row": None,
                "line": None,
                "column": "",
                "columns": [],
                "labels": [],
                "encodings": [],
            }
            return {"code": "refused", "message": row.trouble, "hint": "", **nowhere}
        return _result(row).get("problem")

    def get_looks_like(self, row: Inquiry) -> str:
        return str(_result(row).get("looks_like", ""))

    def get_counts(self, row: Inquiry) -> dict[str, int]:
        return {name: _result(row)[name] for name in COUNTS if name in _result(row)}

    def get_warnings(self, row: Inquiry) -> list[str]:
        return list(_result(row).get("warnings", ()))

    def get_campaign(self, row: Inquiry) -> str | None:
        return _result(row).get("campaign")

    def get_board(self, row: Inquiry) -> str | None:
        return _result(row).get("board")

    def get_created(self, row: Inquiry) -> bool | None:
        return _result(row).get("created")


def _result(row: Inquiry) -> Mapping[str, Any]:
    return row.result or {}
