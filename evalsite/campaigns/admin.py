from django.contrib import admin
from django.http import HttpRequest

from evalsite.campaigns.models import (
    Aspect,
    Campaign,
    Entrant,
    Onboarding,
    PlanSpec,
    QualificationItem,
    Rubric,
    StoppingSpec,
)


class AspectInline(admin.TabularInline):
    model = Aspect
    extra = 0


@admin.register(Rubric)
class RubricAdmin(admin.ModelAdmin):
    list_display = ("name", "organisation")
    inlines = (AspectInline,)


class StoppingInline(admin.StackedInline):
    model = StoppingSpec


class PlanInline(admin.StackedInline):
    """Read-only plan of a campaign. `plan_set` checks that its options are consistent."""

    model = PlanSpec
    can_delete = False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False


class OnboardingInline(admin.StackedInline):
    model = Onboarding


class QualificationInline(admin.StackedInline):
    """Qualification items. Read-only once the campaign collects, as in their service."""

    model = QualificationItem
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Campaign | None = None) -> bool:
        return obj is None or obj.state == Campaign.State.DRAFT

    def has_change_permission(self, request: HttpRequest, obj: Campaign | None = None) -> bool:
        return obj is None or obj.state == Campaign.State.DRAFT

    def has_delete_permission(self, request: HttpRequest, obj: Campaign | None = None) -> bool:
        return obj is None or obj.state == Campaign.State.DRAFT


class EntrantInline(admin.TabularInline):
    model = Entrant
    extra = 0
    raw_id_fields = ("version",)


@admin.register(Campaign)
class CampaignAdmin(admin.ModelAdmin):
    """Campaigns with a read-only state: starting and stopping are services with side effects."""

    list_display = ("name", "slug", "organisation", "state", "visibility", "started_at", "stopped_at")
    list_filter = ("state", "visibility")
    readonly_fields = ("state", "started_at", "stopped_at", "stop_reason")
    inlines = (StoppingInline, PlanInline, OnboardingInline, QualificationInline, EntrantInline)
