"""Addresses of the API, version 1."""

import uuid

from django.urls import path, re_path, register_converter
from django.urls.converters import SlugConverter

from evalsite.api import (
    action_views,
    annotator_views,
    board_views,
    campaign_views,
    collection_views,
    conversation_set_views,
    conversation_views,
    endpoint_views,
    enrolment_views,
    errors,
    gold_views,
    judgment_views,
    live_views,
    study_views,
    submission_views,
    upload_views,
    vote_file_views,
    webhook_views,
)
from evalsite.api.fields import ID, as_key
from evalsite.operations.actions import PERFORMED


class ActConverter:
    """One of the known actions. Any other address is not found."""

    regex = "|".join(PERFORMED)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class IdConverter:
    """An id, in lower or upper case. No cache uses the address as its key, so both spellings are safe."""

    regex = ID

    def to_python(self, value: str) -> uuid.UUID:
        return uuid.UUID(value)

    def to_url(self, value: uuid.UUID) -> str:
        return str(value)


class KeyConverter(SlugConverter):
    """A slug or an id; ids are changed to lower case."""

    def to_python(self, value: str) -> str:
        return as_key(value)


register_converter(ActConverter, "act")
register_converter(IdConverter, "id")
register_converter(KeyConverter, "key")

urlpatterns = [
    path("campaigns/<key:key>/submissions", submission_views.SubmissionsView.as_view(), name="api_submissions"),
    path(
        "campaigns/<key:key>/submissions/settings",
        submission_views.SubmissionSettingsView.as_view(),
        name="api_submission_settings",
    ),
    path(
        "campaigns/<key:key>/submissions/prompts",
        submission_views.SubmissionPromptsView.as_view(),
        name="api_submission_prompts",
    ),
    path("submissions/<id:submission>", submission_views.SubmissionView.as_view(), name="api_submission"),
    path(
        "submissions/<id:submission>/results",
        submission_views.SubmissionResultsView.as_view(),
        name="api_submission_results",
    ),
    path(
        "submissions/<id:submission>/withdrawal",
        submission_views.WithdrawalView.as_view(),
        name="api_submission_withdrawal",
    ),
    path(
        "submissions/<id:submission>/approval", submission_views.ApprovalView.as_view(), name="api_submission_approval"
    ),
    path("submissions/<id:submission>/refusal", submission_views.RefusalView.as_view(), name="api_submission_refusal"),
    path("annotators", enrolment_views.EnrolView.as_view(), name="api_enrol"),
    path("claims", annotator_views.WorkView.as_view(), name="api_work"),
    path("campaigns/<key:key>/enrolments", enrolment_views.JoinView.as_view(), name="api_join"),
    path("campaigns/<key:key>/claims", annotator_views.ClaimView.as_view(), name="api_claim"),
    path("campaigns/<key:key>/qualification", enrolment_views.QualificationView.as_view(), name="api_qualification"),
    path("campaigns/<key:key>/returns", annotator_views.ReturnView.as_view(), name="api_return"),
    path("campaigns/<key:key>/progress", annotator_views.ProgressView.as_view(), name="api_progress"),
    path("campaigns/<key:key>/conversations", conversation_views.StartView.as_view(), name="api_conversation_start"),
    path("conversations/<id:conversation>", conversation_views.ConversationView.as_view(), name="api_conversation"),
    path("conversations/<id:conversation>/messages", conversation_views.MessageView.as_view(), name="api_message"),
    path(
        "conversations/<id:conversation>/turns/<int:number>/judgment",
        conversation_views.TurnJudgmentView.as_view(),
        name="api_turn_judgment",
    ),
    path(
        "conversations/<id:conversation>/turns/<int:number>/skip",
        conversation_views.TurnSkipView.as_view(),
        name="api_turn_skip",
    ),
    path(
        "conversations/<id:conversation>/turns/<int:number>/reports",
        conversation_views.ReportView.as_view(),
        name="api_turn_report",
    ),
    path("conversations/<id:conversation>/end", conversation_views.EndView.as_view(), name="api_conversation_end"),
    path(
        "conversations/<id:conversation>/departure",
        conversation_views.DepartureView.as_view(),
        name="api_conversation_departure",
    ),
    path("assignments/<id:assignment>/judgment", annotator_views.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<id:assignment>/skip", annotator_views.SkipView.as_view(), name="api_skip"),
    path("assignments/<id:assignment>/renewal", annotator_views.RenewalView.as_view(), name="api_renewal"),
    path("campaigns", campaign_views.CampaignsView.as_view(), name="api_campaigns"),
    path("campaigns/<key:key>", campaign_views.CampaignView.as_view(), name="api_campaign"),
    path("campaigns/<key:key>/chatbots", campaign_views.ChatbotsView.as_view(), name="api_chatbots"),
    path("campaigns/<key:key>/prompts", campaign_views.PromptsView.as_view(), name="api_prompts"),
    path("campaigns/<key:key>/gold", gold_views.GoldView.as_view(), name="api_gold"),
    path("campaigns/<key:key>/judgments", judgment_views.JudgmentsView.as_view(), name="api_judgments"),
    path("campaigns/<key:key>/judgments.csv", judgment_views.JudgmentsCsvView.as_view(), name="api_csv"),
    path("campaigns/<key:key>/judgments.jsonl", judgment_views.JudgmentsJsonLinesView.as_view(), name="api_jsonl"),
    path("campaigns/<key:key>/skips", judgment_views.SkipsView.as_view(), name="api_skips_list"),
    path("campaigns/<key:key>/skips.csv", judgment_views.SkipsCsvView.as_view(), name="api_skips_csv"),
    path("campaigns/<key:key>/skips.jsonl", judgment_views.SkipsJsonLinesView.as_view(), name="api_skips_jsonl"),
    path("campaigns/<key:key>/known_ties.jsonl", judgment_views.KnownTiesView.as_view(), name="api_known_ties"),
    path("campaigns/<key:key>/acts/<act:act>", action_views.ActView.as_view(), name="api_act"),
    path("campaigns/<key:key>/limits", action_views.LimitsView.as_view(), name="api_limits"),
    path("campaigns/<key:key>/live", live_views.LiveSettingsView.as_view(), name="api_live_settings"),
    path("campaigns/<key:key>/static_campaign", live_views.StaticCampaignView.as_view(), name="api_static_campaign"),
    path("campaigns/<key:key>/third_parties", live_views.ThirdPartiesView.as_view(), name="api_third_parties"),
    path("campaigns/<key:key>/reports", live_views.ReportsView.as_view(), name="api_reports"),
    path(
        "campaigns/<key:key>/reports/<id:report>/settlement",
        live_views.SettlementView.as_view(),
        name="api_report_settlement",
    ),
    path(
        "campaigns/<key:key>/chatbots/<id:entrant>/pause",
        live_views.ChatbotPauseView.as_view(),
        name="api_chatbot_pause",
    ),
    path(
        "campaigns/<key:key>/chatbots/<id:entrant>/resume",
        live_views.ChatbotResumeView.as_view(),
        name="api_chatbot_resume",
    ),
    path("campaigns/<key:key>/webhooks", webhook_views.WebhooksView.as_view(), name="api_webhooks"),
    path("campaigns/<key:key>/webhooks/<id:webhook>", webhook_views.WebhookView.as_view(), name="api_webhook"),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/secret",
        webhook_views.WebhookSecretView.as_view(),
        name="api_webhook_secret",
    ),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/pause",
        webhook_views.WebhookPauseView.as_view(),
        name="api_webhook_pause",
    ),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/resume",
        webhook_views.WebhookResumeView.as_view(),
        name="api_webhook_resume",
    ),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/test",
        webhook_views.WebhookTestView.as_view(),
        name="api_webhook_test",
    ),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/deliveries",
        webhook_views.DeliveriesView.as_view(),
        name="api_deliveries",
    ),
    path(
        "campaigns/<key:key>/webhooks/<id:webhook>/deliveries/<id:delivery>/again",
        webhook_views.DeliveryAgainView.as_view(),
        name="api_delivery_again",
    ),
    path("studies", study_views.StudiesView.as_view(), name="api_studies"),
    path("studies/<id:study>", study_views.StudyView.as_view(), name="api_study"),
    path("studies/<id:study>/launch", study_views.StudyLaunchView.as_view(), name="api_study_launch"),
    path("boards", board_views.BoardsView.as_view(), name="api_boards"),
    path("boards/<key:key>/snapshots", board_views.SnapshotsView.as_view(), name="api_snapshots"),
    path("boards/<key:key>/snapshots/<int:number>", board_views.SnapshotView.as_view(), name="api_snapshot"),
    path("boards/<key:key>/live-report", board_views.LiveReportView.as_view(), name="api_live_report"),
    path("boards/<key:key>/log.jsonl", board_views.PublicLogView.as_view(), name="api_public_log"),
    path("boards/<key:key>", board_views.BoardView.as_view(), name="api_board"),
    path("organisations/<slug:organisation>/prompts", upload_views.PromptFileView.as_view(), name="api_send_prompts"),
    path("organisations/<slug:organisation>/chatbots", upload_views.ReplyFileView.as_view(), name="api_send_replies"),
    path("organisations/<slug:organisation>/votes", vote_file_views.VoteFilesView.as_view(), name="api_send_votes"),
    path("vote_files/<id:vote_file>", vote_file_views.VoteFileView.as_view(), name="api_vote_file"),
    path("organisations/<slug:organisation>/endpoints", endpoint_views.EndpointsView.as_view(), name="api_endpoints"),
    path("endpoints/<id:endpoint>", endpoint_views.EndpointView.as_view(), name="api_endpoint"),
    path("endpoints/<id:endpoint>/secret", endpoint_views.SecretView.as_view(), name="api_endpoint_secret"),
    path("endpoints/<id:endpoint>/pause", endpoint_views.EndpointPauseView.as_view(), name="api_endpoint_pause"),
    path("endpoints/<id:endpoint>/resume", endpoint_views.EndpointResumeView.as_view(), name="api_endpoint_resume"),
    path("endpoints/<id:endpoint>/tests", endpoint_views.TestsView.as_view(), name="api_endpoint_tests"),
    path("endpoints/<id:endpoint>/calls", endpoint_views.CallsView.as_view(), name="api_endpoint_calls"),
    path("endpoints/<id:endpoint>/costs", endpoint_views.CostsView.as_view(), name="api_endpoint_costs"),
    path("endpoints/<id:endpoint>/collections", collection_views.CollectionsView.as_view(), name="api_collections"),
    path("endpoint_tests/<id:test>", endpoint_views.TestView.as_view(), name="api_endpoint_test"),
    path("collections/<id:collection>", collection_views.CollectionView.as_view(), name="api_collection"),
    path(
        "collections/<id:collection>/pause", collection_views.CollectionPauseView.as_view(), name="api_collection_pause"
    ),
    path(
        "collections/<id:collection>/resume",
        collection_views.CollectionResumeView.as_view(),
        name="api_collection_resume",
    ),
    path("collections/<id:collection>/retry", collection_views.RetryView.as_view(), name="api_collection_retry"),
    path("conversation_sets", conversation_set_views.ConversationSetsView.as_view(), name="api_conversation_sets"),
    path(
        "conversation_sets/<id:conversation_set>/annotations",
        conversation_set_views.AnnotationsView.as_view(),
        name="api_annotations",
    ),
    path(
        "conversation_sets/<id:conversation_set>/scorecard",
        conversation_set_views.ScorecardView.as_view(),
        name="api_scorecard",
    ),
    re_path(r"^.*$", errors.not_found),
]
