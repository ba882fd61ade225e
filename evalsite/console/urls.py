"""Addresses of the console. A key is a campaign's public ID or its slug."""

from django.urls import path

from evalsite.console import gold_views, library_views, onboarding_views, payments_views, setup_views, views

urlpatterns = [
    path("", views.home, name="console"),
    path("new/", setup_views.new, name="console_new"),
    path("health/", views.health, name="console_health"),
    path("notices/", views.notices, name="console_notices"),
    path("chatbots/", library_views.chatbots, name="console_library_chatbots"),
    path("chatbots/<uuid:public_id>/", library_views.chatbot, name="console_chatbot"),
    path("prompt-sets/", library_views.prompt_sets, name="console_prompt_sets"),
    path("prompt-sets/<uuid:public_id>/", library_views.prompt_set, name="console_prompt_set"),
    path("<slug:key>/", views.campaign, name="console_campaign"),
    path("<slug:key>/pairs/", views.pairs, name="console_pairs"),
    path("<slug:key>/prompts/", views.prompts, name="console_prompts"),
    path("<slug:key>/chatbots/", views.chatbots, name="console_chatbots"),
    path("<slug:key>/annotators/", views.annotators, name="console_annotators"),
    path("<slug:key>/invitations/", onboarding_views.invitations, name="console_invitations"),
    path("<slug:key>/arrivals/", onboarding_views.arrivals, name="console_arrivals"),
    path("<slug:key>/qualification/", onboarding_views.qualification, name="console_qualification"),
    path("<slug:key>/gold/", gold_views.gold, name="console_gold"),
    path("<slug:key>/payments/", payments_views.payments, name="console_payments"),
    path("<slug:key>/payments.csv", payments_views.file, name="console_payment_file"),
    path("<slug:key>/judgments/", views.judgments, name="console_judgments"),
    path("<slug:key>/skips/", views.skips, name="console_skips"),
    path("<slug:key>/fits/", views.fits, name="console_fits"),
    path("<slug:key>/notices/seen/", views.notices_seen, name="console_notices_seen"),
    path("<slug:key>/check/", views.check, name="console_check"),
    path("<slug:key>/check/state/", views.check_state, name="console_check_state"),
    path("<slug:key>/log/", views.log, name="console_log"),
    path("<slug:key>/setup/", setup_views.begin, name="console_setup"),
    path("<slug:key>/setup/<slug:step>/", setup_views.step, name="console_step"),
    path("<slug:key>/forecast/", setup_views.forecast, name="console_forecast"),
    path("<slug:key>/forecast/<uuid:inquiry>/", setup_views.forecast_of, name="console_forecast_of"),
    path("<slug:key>/act/<slug:act>/", views.act, name="console_act"),
    path("<slug:key>/preview/", views.preview, name="console_preview"),
    path("<slug:key>/preview/<uuid:inquiry>/", views.preview_of, name="console_preview_of"),
]
