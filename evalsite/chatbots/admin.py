from django.contrib import admin

from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.core.admin import ReadOnlyAdmin


@admin.register(Chatbot)
class ChatbotAdmin(admin.ModelAdmin):
    list_display = ("name", "organisation", "made_by", "created_at")
    list_select_related = ("organisation", "made_by")


@admin.register(Version)
class VersionAdmin(ReadOnlyAdmin):
    list_display = ("chatbot", "label", "kind", "created_at")
    list_select_related = ("chatbot",)


@admin.register(Reply)
class ReplyAdmin(ReadOnlyAdmin):
    list_display = ("version", "prompt", "sample", "revision", "origin")
    list_select_related = ("version__chatbot", "prompt")
