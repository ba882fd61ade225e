"""The body of every failure."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer
from evalsite.api.responses.uploads import RowReportSerializer, listed_rows
from evalsite.core.errors import TouchstoneError
from evalsite.core.row_files import ReportRow, RowsRefused

HINTS = {
    "not_authenticated": "Send the header Authorization: Bearer <token>.",
    "authentication_failed": "Ask for a new token: POST /api/v1/annotators, or manage.py api_token.",
    "permission_denied": "Send the value of the cookie csrftoken as header X-CSRFToken, or a token and no session.",
    "parse_error": "Send one JSON object, encoded as UTF-8.",
    "unsupported_media_type": "Send Content-Type: application/json, encoded as UTF-8.",
    "method_not_allowed": "docs/openapi.yaml lists what each address offers.",
    "not_acceptable": "Send Accept: application/json, or no such header.",
    # What a service says without a hint of its own: its message says what was wrong, and this where to look.
    "invalid": "Mend the field that is named; docs/openapi.yaml says what each request takes.",
    "not_found": "Check the address and the ids in it; docs/openapi.yaml lists the addresses.",
    "not_allowed": "Ask an owner for a role that allows it; docs/roles.md lists them.",
    "conflict": "Look at its state first: it has changed, or does not allow this.",
}


@extend_schema_serializer(component_name="Problem")
class ErrorDetailSerializer(ResponseSerializer):
    """The error, and what to do. Only refused files have `rows`."""

    code = s.CharField(help_text="stable, for programs")
    message = s.CharField(help_text="what happened")
    hint = s.CharField(help_text="what to do", allow_blank=True)
    field = s.CharField(help_text="the invalid input", allow_blank=True)
    rows = RowReportSerializer(
        many=True, required=False, help_text="for rows_refused only: the refused rows, up to 1,000"
    )

    def get_hint(self, row: TouchstoneError) -> str:
        return row.hint or HINTS.get(row.code, "")

    def get_rows(self, row: TouchstoneError) -> list[ReportRow] | None:
        return listed_rows(row.rows) if isinstance(row, RowsRefused) else None

    def to_representation(self, instance: TouchstoneError) -> dict[str, Any]:
        shown = super().to_representation(instance)
        if shown["rows"] is None:
            del shown["rows"]
        return shown


class ErrorSerializer(ResponseSerializer):
    """The body of every failure."""

    error = ErrorDetailSerializer(source="*")
