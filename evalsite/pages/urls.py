"""Addresses of the pages. A key is a slug (public) or a public ID (by link)."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from evalsite.pages import (
    account_views,
    annotator_page_views,
    arrival_views,
    board_views,
    health_views,
    judging_views,
    prompt_views,
    views,
)

urlpatterns = [
    path("", views.home, name="home"),
    path("boards/<slug:key>/", board_views.board, name="board"),
    path("boards/<slug:key>/live/", board_views.board_live, name="board_live"),
    path("boards/<slug:key>/picture.png", board_views.board_picture, name="board_picture"),
    path("boards/<slug:key>/ranking/", board_views.board_ranking, name="board_ranking"),
    path("boards/<slug:key>/charts/", board_views.board_charts, name="board_charts"),
    path("boards/<slug:key>/charts/<slug:slug>.csv", board_views.board_figure, {"form": "csv"}, name="board_csv"),
    path("boards/<slug:key>/charts/<slug:slug>.json", board_views.board_figure, {"form": "json"}, name="board_json"),
    path("boards/<slug:key>/charts/<slug:slug>/", board_views.board_chart, name="board_chart"),
    path("boards/<slug:key>/charts/<slug:slug>/part/", board_views.board_chart_part, name="board_chart_part"),
    path("boards/<slug:key>/prompts/", prompt_views.board_prompts, name="board_prompts"),
    path("boards/<slug:key>/prompts/<uuid:prompt>/", prompt_views.board_prompt, name="board_prompt"),
    path(
        "boards/<slug:key>/prompts/<uuid:prompt>/<slug:slug>.csv",
        prompt_views.prompt_figure,
        {"form": "csv"},
        name="prompt_csv",
    ),
    path(
        "boards/<slug:key>/prompts/<uuid:prompt>/<slug:slug>.json",
        prompt_views.prompt_figure,
        {"form": "json"},
        name="prompt_json",
    ),
    path("boards/<slug:key>/method/", board_views.board_method, name="board_method"),
    path("boards/<slug:key>/embed/", board_views.board_embed, name="board_embed"),
    path("boards/<slug:key>/badge.svg", board_views.board_badge_svg, name="board_badge"),
    path("boards/<slug:key>/chatbots/<uuid:chatbot>/", board_views.board_chatbot, name="board_chatbot"),
    path("boards/<slug:key>/chatbots/<uuid:chatbot>/badge.svg", board_views.chatbot_badge_svg, name="chatbot_badge"),
    path("judge/<slug:key>/", judging_views.judge, name="judge"),
    path("judge/<slug:key>/begin/", judging_views.judge_begin, name="judge_begin"),
    path("judge/<slug:key>/answer/", judging_views.judge_answer, name="judge_answer"),
    path("judge/<slug:key>/skip/", judging_views.judge_skip, name="judge_skip"),
    path("judge/<slug:key>/qualify/", judging_views.judge_qualify, name="judge_qualify"),
    path("judge/<slug:key>/submit/", judging_views.judge_submit, name="judge_submit"),
    path("join/<str:secret>/", arrival_views.join, name="join"),
    path("arrive/<uuid:campaign_id>/", arrival_views.arrive, name="arrive"),
    path("arrive/<uuid:campaign_id>/mturk/", arrival_views.mturk_frame, name="mturk_frame"),
    path("me/", annotator_page_views.me, name="me"),
    path("me/go-on/", annotator_page_views.go_on, name="go_on"),
    path("me/language/", annotator_page_views.mail_language, name="mail_language"),
    path("me/leave/", annotator_page_views.leave, name="leave"),
    path("me/erase/", annotator_page_views.erase, name="erase"),
    path("account/sign-up/", account_views.sign_up, name="sign_up"),
    path("account/login/", account_views.LogIn.as_view(), name="login"),
    path("account/logout/", LogoutView.as_view(next_page="home"), name="logout"),
    path("account/password/", account_views.ForgottenPassword.as_view(), name="password"),
    path("account/password/sent/", account_views.PasswordSent.as_view(), name="password_sent"),
    path("account/password/<uidb64>/<token>/", account_views.NewPassword.as_view(), name="password_reset_confirm"),
    path("account/address/<str:token>/", account_views.confirm_address, name="address_confirm"),
    path("console/", include("evalsite.console.urls")),
    # Another site could at most change the language, and a token would set a cookie on every cached page.
    path("language/", csrf_exempt(set_language), name="set_language"),
    path("design/", views.design, name="design"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("livez", health_views.livez, name="livez"),
    path("metrics", health_views.metrics, name="metrics"),
    path("readyz", health_views.readyz, name="readyz"),
]
