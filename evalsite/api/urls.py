"""Addresses of the API, version 1."""

from django.urls import path, re_path

from evalsite.api import errors, views

urlpatterns = [
    path("annotators", views.EnrolView.as_view(), name="api_enrol"),
    path("campaigns/<slug:key>/claims", views.ClaimView.as_view(), name="api_claim"),
    path("campaigns/<slug:key>/returns", views.ReturnView.as_view(), name="api_return"),
    path("campaigns/<slug:key>/progress", views.ProgressView.as_view(), name="api_progress"),
    path("assignments/<uuid:assignment>/judgment", views.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<uuid:assignment>/skip", views.SkipView.as_view(), name="api_skip"),
    path("assignments/<uuid:assignment>/renewal", views.RenewalView.as_view(), name="api_renewal"),
    path("boards/<slug:key>", views.BoardView.as_view(), name="api_board"),
    re_path(r"^.*$", errors.not_found),
]
