"""Admin site for staff: raw rows, with immutable rows read-only."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from evalsite.core.models import AuditEntry, Job


class ReadOnlyAdmin(admin.ModelAdmin):
    """Admin class for immutable rows: staff can view them, but not add, change or delete them."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = (
        "kind",
        "key",
        "state",
        "attempts",
        "run_after",
        "lease_owner",
        "finished_at",
        "last_error",
    )
    list_filter = ("state", "kind")


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ("at", "act", "actor", "subject", "target", "reason")
    list_filter = ("act",)


admin.site.site_header = "Touchstone"
admin.site.site_title = "Touchstone"
admin.site.index_title = "Raw view for staff"
