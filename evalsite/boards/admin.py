from django.contrib import admin

from evalsite.boards.models import Board, Decision, Refit, Snapshot
from evalsite.core.admin import ReadOnlyAdmin


@admin.register(Board)
class BoardAdmin(admin.ModelAdmin):
    list_display = ("name", "slug", "organisation", "aspect", "category")
    readonly_fields = ("default_of",)


@admin.register(Snapshot)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("board", "number", "judgments", "annotators", "converged", "seconds", "created_at")
    list_select_related = ("board",)
    exclude = ("posterior",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    list_display = ("snapshot", "stop", "reason", "decided_at")
    list_filter = ("stop",)


@admin.register(Refit)
class RefitAdmin(ReadOnlyAdmin):
    list_display = ("board", "outcome", "snapshot", "started_at", "finished_at", "message")
    list_filter = ("outcome",)
