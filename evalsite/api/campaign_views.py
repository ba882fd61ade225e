"""Campaigns, their chatbots and prompts, for readers."""

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.base_views import ReaderView, person
from evalsite.api.openapi import reading
from evalsite.api.paging import page_of
from evalsite.api.requests import PageQuery
from evalsite.api.responses.campaigns import (
    CampaignPageSerializer,
    CampaignSerializer,
    ChatbotPageSerializer,
    PromptPageSerializer,
)
from evalsite.campaigns.selectors import campaign_get, campaign_of_member, campaigns_listed


class CampaignsView(ReaderView):
    """Public campaigns and the caller's own."""

    query = PageQuery

    @reading("campaigns", "List campaigns", CampaignPageSerializer, query=PageQuery)
    def get(self, request: Request) -> Response:
        rows = campaigns_listed(person(request)).select_related("organisation", "rubric", "stopping", "live")
        rows = rows.prefetch_related("rubric__aspects")
        return Response(CampaignPageSerializer.render(page_of(rows, **self.checked_query(request))))


class CampaignView(ReaderView):
    """A campaign."""

    @reading("campaign", "Get a campaign", CampaignSerializer)
    def get(self, request: Request, key: str) -> Response:
        self.checked_query(request)
        return Response(CampaignSerializer.render(campaign_get(key=key, user=person(request))))


class ChatbotsView(ReaderView):
    """The chatbots that take part in a campaign."""

    query = PageQuery

    @reading("chatbots", "List the chatbots of a campaign", ChatbotPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_get(key=key, user=person(request))
        rows = campaign.entrants.select_related("version__chatbot__organisation")
        return Response(ChatbotPageSerializer.render(page_of(rows, **self.checked_query(request))))


class PromptsView(ReaderView):
    """The prompts of a campaign, for members."""

    query = PageQuery

    @reading("prompts", "List the prompts of a campaign", PromptPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign = campaign_of_member(key=key, user=person(request))
        rows = campaign.prompt_set.prompts.filter(corrected_by__isnull=True)
        return Response(PromptPageSerializer.render(page_of(rows, **self.checked_query(request))))
