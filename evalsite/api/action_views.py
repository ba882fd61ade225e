"""Actions on a campaign. They go through `operations.actions`, as those of the console do."""

from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken
from evalsite.api.base_views import ReaderView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, acting, operation
from evalsite.api.parsers import json_sent
from evalsite.api.requests import ActRequest, LimitsRequest
from evalsite.api.responses.campaigns import CampaignSerializer
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer
from evalsite.operations.actions import ActionArguments, act_perform


class ActView(ReaderView):
    """Launch, pause, exclude and other actions. docs/roles.md lists the actions that each role allows."""

    scope = ApiToken.Scope.ACTS

    @acting("act", "Perform an action on a campaign", CampaignSerializer, body=ActRequest)
    def post(self, request: Request, key: str, act: str) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("Acts need to know who you are.", hint="Send a token with campaigns:write.")
        body = ActRequest(data=json_sent(request))
        body.is_valid(raise_exception=True)
        given = ActionArguments(**body.validated_data)

        def perform() -> StoredAnswer:
            campaign = act_perform(key=key, act=Act(act), user=user, given=given)
            return StoredAnswer(200, CampaignSerializer.render(campaign))

        return answered(request, f"user:{user.public_id}", perform)


class LimitsView(ReaderView):
    """The stopping rules of a draft."""

    scope = ApiToken.Scope.ACTS

    @operation("limits", "Set the stopping rules of a draft", {200: CampaignSerializer}, ACTING, body=LimitsRequest)
    def put(self, request: Request, key: str) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("This needs to know who you are.", hint="Send a token with campaigns:write.")
        campaign, _ = campaign_for(key=key, user=user, act=Act.SET_UP)
        body = LimitsRequest(data=json_sent(request))
        body.is_valid(raise_exception=True)
        draft_change(campaign=campaign, changes=asdict(Limits(**body.validated_data)), by=user)
        return Response(CampaignSerializer.render(campaign))
