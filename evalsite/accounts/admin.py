from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import personal_organisation_ensure
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
    list_display = ("name", "slug", "created_at")
    inlines = (MembershipInline,)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = ("name", "user", "scopes", "created_at", "expires_at", "revoked_at")
    exclude = ("sha256",)
