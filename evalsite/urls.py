"""Addresses: the API, Django's admin, and the pages."""

from django.contrib import admin
from django.urls import include, path, re_path

from evalsite.api.errors import not_found
from evalsite.pages.account_views import admin_log_in

urlpatterns = [
    path("api/v1/", include("evalsite.api.urls")),
    re_path(r"^api(/.*)?$", not_found),
    path("admin/login/", admin_log_in),
    path("admin/", admin.site.urls),
    path("", include("evalsite.pages.urls")),
]
handler400 = "evalsite.api.errors.bad_request"
handler404 = "evalsite.api.errors.not_found"
handler500 = "evalsite.api.errors.server_error"
