"""Addresses: the API, Django's admin, and the pages."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("evalsite.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("evalsite.pages.urls")),
]
