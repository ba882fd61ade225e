from django.contrib import admin

from evalsite.core.admin import ReadOnlyAdmin
from evalsite.submissions.models import Submission


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ("name", "label", "campaign", "organisation", "state", "created_at")
    list_select_related = ("campaign", "organisation")
