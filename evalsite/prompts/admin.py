from django.contrib import admin

from evalsite.core.admin import ReadOnlyAdmin
from evalsite.prompts.models import Prompt, PromptSet


@admin.register(PromptSet)
class PromptSetAdmin(admin.ModelAdmin):
    list_display = ("name", "organisation", "created_at")


@admin.register(Prompt)
class PromptAdmin(ReadOnlyAdmin):
    list_display = ("key", "prompt_set", "category", "revision", "origin")
    list_filter = ("prompt_set", "category", "origin")
    list_select_related = ("prompt_set",)
