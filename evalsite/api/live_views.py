"""Live campaigns, for their owners and managers: conversation settings, and reports of replies."""

import uuid
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.base_views import ManagerView
from evalsite.api.live_requests import (
    LiveSettingsChangeRequest,
    SettlementRequest,
    StaticCampaignRequest,
    ThirdPartiesRequest,
    new_question,
)
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.requests import EmptyRequest, PageQuery
from evalsite.api.responses.campaigns import CampaignSerializer
from evalsite.api.responses.live import LiveChatbotSerializer, ReportPageSerializer, ReportSerializer
from evalsite.campaigns.live import live_settings_set, static_campaign_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.core.errors import Conflict
from evalsite.dialogues.reports import entrant_pause, entrant_resume, report_get, report_settle
from evalsite.dialogues.selectors import report_rows, reports_in
from evalsite.dialogues.third_parties import third_parties_ask
from evalsite.operations.actions import entrant_of

KEYED = (IDEMPOTENCY_KEY,)


class LiveManagerView(ManagerView):
    """A view of a live campaign."""

    def campaign(self, request: Request, key: str, act: Act) -> Campaign:
        campaign, _role = campaign_for(key=key, user=self.user(request), act=act)
        if not campaign.is_live:
            raise Conflict("This campaign has no conversations.", hint="Name a live campaign.", field="key")
        return campaign


class LiveSettingsView(LiveManagerView):
    """The conversation settings of a live campaign."""

    @operation(
        "live_settings",
        "Change the conversation settings of a live draft",
        {200: CampaignSerializer},
        ACTING,
        body=LiveSettingsChangeRequest,
    )
    def patch(self, request: Request, key: str) -> Response:
        campaign = self.campaign(request, key, Act.SET_UP)
        values = self.body(request, LiveSettingsChangeRequest)
        sent = values.pop("turn_questions", None)
        questions = None if sent is None else [new_question(one) for one in sent]
        live_settings_set(campaign=campaign, values=values, questions=questions, by=self.user(request))
        return Response(CampaignSerializer.render(Campaign.objects.get(pk=campaign.pk)))


class StaticCampaignView(LiveManagerView):
    """The static campaign whose judgments join the board, if a test finds no difference between the modes."""

    @operation(
        "link_static_campaign",
        "Link a static campaign with the same chatbots",
        {200: CampaignSerializer},
        ACTING,
        body=StaticCampaignRequest,
    )
    def put(self, request: Request, key: str) -> Response:
        campaign, user = self.campaign(request, key, Act.SHOW), self.user(request)
        named = self.body(request, StaticCampaignRequest)["static_campaign"]
        static = None if named is None else campaign_for(key=named, user=user, act=Act.SHOW)[0]
        static_campaign_set(campaign=campaign, static=static, by=user)
        return Response(CampaignSerializer.render(Campaign.objects.get(pk=campaign.pk)))


class ThirdPartiesView(LiveManagerView):
    """A random sample of live turns, redacted, as a static draft. Third parties judge the turns again."""

    @operation(
        "ask_third_parties",
        "Create a third-party draft from live turns",
        {201: CampaignSerializer},
        ACTING,
        parameters=KEYED,
        body=ThirdPartiesRequest,
    )
    def post(self, request: Request, key: str) -> Response:
        campaign, user = self.campaign(request, key, Act.SEE), self.user(request)
        size = self.body(request, ThirdPartiesRequest)["conversations"]

        def make() -> tuple[int, dict[str, Any]]:
            draft = third_parties_ask(campaign=campaign, by=user, conversations=size)
            return 201, CampaignSerializer.render(draft)

        return self.done(request, make)


class ReportsView(LiveManagerView):
    """Replies that annotators reported."""

    query = PageQuery

    @reading("reported_replies", "List reported replies", ReportPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        page = page_of(reports_in(self.campaign(request, key, Act.SEE)), **self.checked_query(request))
        return Response(ReportPageSerializer.render(replace(page, results=report_rows(page.results))))


class SettlementView(LiveManagerView):
    """The decision about a report. The chatbot stays paused until it is resumed."""

    @operation(
        "settle_report",
        "Uphold or dismiss a report",
        {200: ReportSerializer},
        ACTING,
        parameters=KEYED,
        body=SettlementRequest,
    )
    def post(self, request: Request, key: str, report: uuid.UUID) -> Response:
        campaign = self.campaign(request, key, Act.WITHDRAW_ENTRANT)
        upheld = self.body(request, SettlementRequest)["outcome"] == "upheld"
        found = report_get(campaign=campaign, public_id=report)

        def settle() -> tuple[int, dict[str, Any]]:
            settled = report_settle(report=found, upheld=upheld, by=self.user(request))
            return 200, ReportSerializer.render(report_rows([settled])[0])

        return self.done(request, settle)


class _ChatbotView(LiveManagerView):
    """Pause or resume a chatbot in the conversations of a campaign."""

    def act(self, request: Request, key: str, entrant: uuid.UUID, *, paused: bool) -> Response:
        campaign = self.campaign(request, key, Act.WITHDRAW_ENTRANT)
        self.body(request, EmptyRequest)
        found, user = entrant_of(campaign, entrant), self.user(request)

        def change() -> tuple[int, dict[str, Any]]:
            (entrant_pause if paused else entrant_resume)(entrant=found, by=user)
            shown = {"public_id": found.public_id, "name": found.name, "paused": paused}
            return 200, LiveChatbotSerializer.render(shown)

        return self.done(request, change)


class ChatbotPauseView(_ChatbotView):
    """Exclude a chatbot from new conversations. Conversations in progress continue."""

    @operation(
        "pause_chatbot",
        "Pause a chatbot in a live campaign",
        {200: LiveChatbotSerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, key: str, entrant: uuid.UUID) -> Response:
        return self.act(request, key, entrant, paused=True)


class ChatbotResumeView(_ChatbotView):
    """Admit a paused chatbot to new conversations. Its open reports count as dismissed."""

    @operation(
        "resume_chatbot",
        "Resume a paused chatbot and dismiss its open reports",
        {200: LiveChatbotSerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, key: str, entrant: uuid.UUID) -> Response:
        return self.act(request, key, entrant, paused=False)
