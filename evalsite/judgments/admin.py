from django.contrib import admin

from evalsite.core.admin import ReadOnlyAdmin
from evalsite.judgments.models import (
    Annotator,
    Answer,
    Assignment,
    Batch,
    Candidate,
    Enrolment,
    Exclusion,
    Judgment,
    Skip,
)


class CandidateInline(admin.TabularInline):
    model = Candidate
    extra = 0
    can_delete = False
    raw_id_fields = ("entrant", "reply")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnlyAdmin):
    list_display = (
        "item",
        "campaign",
        "state",
        "purpose",
        "priority",
        "annotator",
        "issued_at",
        "lease_until",
    )
    list_filter = ("state", "purpose", "source", "campaign")
    list_select_related = ("campaign", "annotator")
    inlines = (CandidateInline,)
    show_full_result_count = False


class AnswerInline(admin.TabularInline):
    model = Answer
    extra = 0
    can_delete = False
    raw_id_fields = ("candidate",)


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    list_display = ("public_id", "annotator", "batch", "late", "over_quota", "client_ms", "answered_at")
    list_filter = ("late", "over_quota", "batch__campaign")
    list_select_related = ("annotator", "batch__campaign")
    inlines = (AnswerInline,)
    show_full_result_count = False


@admin.register(Batch)
class BatchAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "number", "state", "opened_at", "closed_at")
    list_select_related = ("campaign",)


@admin.register(Annotator)
class AnnotatorAdmin(ReadOnlyAdmin):
    list_display = ("public_id", "kind", "created_at")
    list_filter = ("kind",)


@admin.register(Enrolment)
class EnrolmentAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "annotator", "blocks_claimed", "joined_at")
    list_select_related = ("campaign", "annotator")


@admin.register(Exclusion)
class ExclusionAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "annotator", "judgment", "lifted", "reason", "decided_by", "decided_at")


@admin.register(Skip)
class SkipAdmin(ReadOnlyAdmin):
    list_display = ("assignment", "reason", "skipped_at")
