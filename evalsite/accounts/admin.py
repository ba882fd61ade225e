from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import organisation_verify, personal_organisation_ensure
from evalsite.core.admin import ReadOnlyAdmin


@admin.register(User)
class PersonAdmin(UserAdmin):
    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        personal_organisation_ensure(user=obj)


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0


@admin.register(Organisation)
class OrganisationAdmin(admin.ModelAdmin):
    list_display = ("name", "slug", "verified_at", "created_at")
    readonly_fields = ("verified_at",)
    inlines = (MembershipInline,)
    actions = ("verify", "withdraw_verification")

    @admin.action(description="Verify: it is who its name says")
    def verify(self, request: HttpRequest, queryset: QuerySet[Organisation]) -> None:
        self._verified(request, queryset, verified=True)

    @admin.action(description="Withdraw the verification")
    def withdraw_verification(self, request: HttpRequest, queryset: QuerySet[Organisation]) -> None:
        self._verified(request, queryset, verified=False)

    def _verified(self, request: HttpRequest, queryset: QuerySet[Organisation], *, verified: bool) -> None:
        for organisation in queryset:
            organisation_verify(organisation=organisation, verified=verified, by=cast("User", request.user))


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = ("name", "user", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at")
    exclude = ("sha256",)
