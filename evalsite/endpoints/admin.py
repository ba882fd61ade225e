from django.contrib import admin

from evalsite.core.admin import ReadOnlyAdmin
from evalsite.endpoints.models import Call, Collection, DailyCost, Drift, Endpoint, EndpointCheck


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ("version", "adapter", "url", "model", "state", "state_since")
    list_filter = ("state", "adapter")
    list_select_related = ("version__chatbot",)


@admin.register(Call)
class CallAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "attempt", "started_at", "status", "error_class", "cost", "model_name")
    list_filter = ("error_class",)
    list_select_related = ("endpoint__version__chatbot",)


@admin.register(Collection)
class CollectionAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "prompt_set", "state", "created_at", "finished_at")
    list_select_related = ("endpoint__version__chatbot", "prompt_set")


@admin.register(EndpointCheck)
class EndpointCheckAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "kind", "state", "created_at", "finished_at")
    list_select_related = ("endpoint__version__chatbot",)


@admin.register(DailyCost)
class DailyCostAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "day", "calls", "failed", "cost")
    list_select_related = ("endpoint__version__chatbot",)


@admin.register(Drift)
class DriftAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "sign", "before", "value", "outcome", "raised_at")
    list_select_related = ("endpoint__version__chatbot",)
