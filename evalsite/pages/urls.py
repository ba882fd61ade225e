"""Addresses of the pages. A key is a slug (public) or a public id (by link)."""

from django.urls import path

from evalsite.pages import health, views

urlpatterns = [
    path("", views.home, name="home"),
    path("boards/<slug:key>/", views.board, name="board"),
    path("boards/<slug:key>/live/", views.board_live, name="board_live"),
    path("judge/<slug:key>/", views.judge, name="judge"),
    path("judge/<slug:key>/begin/", views.judge_begin, name="judge_begin"),
    path("judge/<slug:key>/answer/", views.judge_answer, name="judge_answer"),
    path("judge/<slug:key>/skip/", views.judge_skip, name="judge_skip"),
    path("livez", health.livez, name="livez"),
    path("readyz", health.readyz, name="readyz"),
]
