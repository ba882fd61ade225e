"""Reports on uploaded files, with the result for each row."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer
from evalsite.chatbots.models import Chatbot, Version
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.core.row_files import ReportRow
from evalsite.prompts.files import PromptReport
from evalsite.prompts.models import PromptSet

MAX_LISTED = 1000  # rows or ids of a file that one answer lists
MAX_COLUMN_NAME = 200


@dataclass(frozen=True, slots=True)
class PromptUpload:
    """A file of prompts, stored or only checked. prompt_set: None where storing it would make one."""

    name: str
    prompt_set: PromptSet | None
    report: PromptReport


@dataclass(frozen=True, slots=True)
class ReplyUpload:
    """A file of replies, stored or only checked. chatbot, version: None where storing it would make one."""

    name: str
    label: str
    chatbot: Chatbot | None
    version: Version | None
    report: ReplyReport


def listed_rows(rows: Iterable[ReportRow]) -> list[ReportRow]:
    """Return the rows that an answer lists, the refused ones first."""
    return sorted(rows, key=lambda row: row.fate != "refused")[:MAX_LISTED]


def _listed_columns(columns: Iterable[str]) -> list[str]:
    return [name[:MAX_COLUMN_NAME] for name in columns][:MAX_LISTED]


def _reference(row: PromptSet | Chatbot | Version | None, **more: str) -> dict[str, uuid.UUID | str | None]:
    return {"id": row.public_id if row else None, **more}


@extend_schema_serializer(component_name="Fate")
class RowReportSerializer(ResponseSerializer):
    """The result for one row of a file."""

    line = s.IntegerField(help_text="first line of the row in the file, from 1")
    prompt_id = s.CharField(source="key", allow_blank=True)
    fate = s.ChoiceField(choices=["add", "same", "refused"], help_text="same: an identical row was stored before")
    problem = s.CharField(allow_blank=True, help_text="reason for the refusal")


@extend_schema_serializer(component_name="Named")
class NameReferenceSerializer(ResponseSerializer):
    """A prompt set or a chatbot, by id and name."""

    id = s.UUIDField(allow_null=True, help_text="null if it would be created")
    name = s.CharField()


@extend_schema_serializer(component_name="VersionNamed")
class VersionReferenceSerializer(ResponseSerializer):
    """A version of a chatbot, by id and label."""

    id = s.UUIDField(allow_null=True, help_text="null if it would be created")
    label = s.CharField()  # type: ignore[assignment]  # also an attribute of every field


@extend_schema_serializer(component_name="PromptsSent")
class PromptUploadSerializer(ResponseSerializer):
    """The report on a file of prompts."""

    prompt_set = NameReferenceSerializer()
    add = s.IntegerField(help_text="rows that were stored; with check, rows that would be stored")
    same = s.IntegerField(help_text="rows that were stored before with identical text")
    refused = s.IntegerField()
    rows = RowReportSerializer(many=True, help_text="rows of the file, refused rows first, up to 1,000")
    passed_over = s.ListField(child=s.CharField(allow_blank=True), help_text="ignored columns")

    def get_prompt_set(self, row: PromptUpload) -> object:
        return _reference(row.prompt_set, name=row.name)

    def get_add(self, row: PromptUpload) -> int:
        return row.report.count("add")

    def get_same(self, row: PromptUpload) -> int:
        return row.report.count("same")

    def get_refused(self, row: PromptUpload) -> int:
        return row.report.count("refused")

    def get_rows(self, row: PromptUpload) -> list[ReportRow]:
        return listed_rows(row.report.rows)

    def get_passed_over(self, row: PromptUpload) -> list[str]:
        return _listed_columns(row.report.passed_over)


@extend_schema_serializer(component_name="RepliesSent")
class ReplyUploadSerializer(ResponseSerializer):
    """The report on a file of replies."""

    chatbot = NameReferenceSerializer()
    version = VersionReferenceSerializer()
    add = s.IntegerField(help_text="rows that were stored; with check, rows that would be stored")
    refused = s.IntegerField()
    prompts = s.IntegerField(source="report.prompts", help_text="number of prompts in the set")
    without_reply = s.IntegerField(help_text="number of prompts without a reply")
    missing = s.ListField(child=s.CharField(), help_text="prompt_ids without a reply, up to 1,000")
    rows = RowReportSerializer(many=True, help_text="rows of the file, refused rows first, up to 1,000")
    passed_over = s.ListField(child=s.CharField(allow_blank=True), help_text="ignored columns")

    def get_chatbot(self, row: ReplyUpload) -> object:
        return _reference(row.chatbot, name=row.name)

    def get_version(self, row: ReplyUpload) -> object:
        return _reference(row.version, label=row.label)

    def get_add(self, row: ReplyUpload) -> int:
        return row.report.count("add")

    def get_refused(self, row: ReplyUpload) -> int:
        return row.report.count("refused")

    def get_without_reply(self, row: ReplyUpload) -> int:
        return len(row.report.missing)

    def get_missing(self, row: ReplyUpload) -> list[str]:
        return list(row.report.missing[:MAX_LISTED])

    def get_rows(self, row: ReplyUpload) -> list[ReportRow]:
        return listed_rows(row.report.rows)

    def get_passed_over(self, row: ReplyUpload) -> list[str]:
        return _listed_columns(row.report.passed_over)
