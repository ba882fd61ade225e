from django.contrib import admin

from evalsite.core.admin import ReadOnlyAdmin
from evalsite.refits.models import Alarm


@admin.register(Alarm)
class AlarmAdmin(ReadOnlyAdmin):
    list_display = ("campaign", "about", "message", "failures", "raised_at", "failed_at", "cleared_at")
    list_filter = ("cleared_at",)
