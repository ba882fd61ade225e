from django.contrib import admin

from evalsite.campaigns.models import Aspect, Campaign, Entrant, Rubric, StoppingSpec


class AspectInline(admin.TabularInline):
    model = Aspect
    extra = 0


@admin.register(Rubric)
class RubricAdmin(admin.ModelAdmin):
    list_display = ("name", "organisation")
    inlines = (AspectInline,)


class StoppingInline(admin.StackedInline):
    model = StoppingSpec


class EntrantInline(admin.TabularInline):
    model = Entrant
    extra = 0
    raw_id_fields = ("version",)


@admin.register(Campaign)
class CampaignAdmin(admin.ModelAdmin):
    """The state is shown and not edited: starting and stopping are services with consequences."""

    list_display = ("name", "slug", "organisation", "state", "visibility", "started_at", "stopped_at")
    list_filter = ("state", "visibility")
    readonly_fields = ("state", "started_at", "stopped_at", "stop_reason")
    inlines = (StoppingInline, EntrantInline)
