"""Addresses of the API, version 1."""

from django.urls import path, re_path, register_converter

from evalsite.adaptive.acts import PERFORMED
from evalsite.api import acts, errors, gold, intake, results, views


class ActConverter:
    """The acts that there are: any other is an address with nothing at it."""

    regex = "|".join(PERFORMED)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ActConverter, "act")

urlpatterns = [
    path("annotators", views.EnrolView.as_view(), name="api_enrol"),
    path("campaigns/<slug:key>/claims", views.ClaimView.as_view(), name="api_claim"),
    path("campaigns/<slug:key>/returns", views.ReturnView.as_view(), name="api_return"),
    path("campaigns/<slug:key>/progress", views.ProgressView.as_view(), name="api_progress"),
    path("assignments/<uuid:assignment>/judgment", views.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<uuid:assignment>/skip", views.SkipView.as_view(), name="api_skip"),
    path("assignments/<uuid:assignment>/renewal", views.RenewalView.as_view(), name="api_renewal"),
    path("campaigns", results.CampaignsView.as_view(), name="api_campaigns"),
    path("campaigns/<slug:key>", results.CampaignView.as_view(), name="api_campaign"),
    path("campaigns/<slug:key>/chatbots", results.ChatbotsView.as_view(), name="api_chatbots"),
    path("campaigns/<slug:key>/prompts", results.PromptsView.as_view(), name="api_prompts"),
    path("campaigns/<slug:key>/gold", gold.GoldView.as_view(), name="api_gold"),
    path("campaigns/<slug:key>/judgments", results.JudgmentsView.as_view(), name="api_judgments"),
    path("campaigns/<slug:key>/judgments.csv", results.CsvView.as_view(), name="api_csv"),
    path("campaigns/<slug:key>/judgments.jsonl", results.JsonLinesView.as_view(), name="api_jsonl"),
    path("campaigns/<slug:key>/acts/<act:act>", acts.ActView.as_view(), name="api_act"),
    path("campaigns/<slug:key>/limits", acts.LimitsView.as_view(), name="api_limits"),
    path("boards", results.BoardsView.as_view(), name="api_boards"),
    path("boards/<slug:key>/snapshots", results.SnapshotsView.as_view(), name="api_snapshots"),
    path("boards/<slug:key>/snapshots/<int:number>", results.SnapshotView.as_view(), name="api_snapshot"),
    path("boards/<slug:key>", results.BoardView.as_view(), name="api_board"),
    path("organisations/<slug:organisation>/prompts", intake.PromptFileView.as_view(), name="api_send_prompts"),
    path("organisations/<slug:organisation>/chatbots", intake.ReplyFileView.as_view(), name="api_send_replies"),
    re_path(r"^.*$", errors.not_found),
]
