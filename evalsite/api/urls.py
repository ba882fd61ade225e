"""Addresses of the API, version 1."""

from django.urls import path, re_path

from evalsite.api import errors, views

urlpatterns = [
    path("annotators", views.EnrolView.as_view(), name="api_enrol"),
    path("campaigns/<slug:key>/claims", views.ClaimView.as_view(), name="api_claim"),
    path("assignments/<uuid:assignment>/judgment", views.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<uuid:assignment>/skip", views.SkipView.as_view(), name="api_skip"),
    path("boards/<slug:key>", views.BoardView.as_view(), name="api_board"),
    re_path(r"^.*$", errors.not_found),
]
