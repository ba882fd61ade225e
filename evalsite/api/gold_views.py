"""The gold items of a campaign."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken
from evalsite.api.base_views import ReaderView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.parsers import json_sent
from evalsite.api.requests import GoldRequest, PageQuery
from evalsite.api.responses.campaigns import GoldAddedSerializer, GoldItemPageSerializer
from evalsite.campaigns.gold import gold_add, gold_bytes
from evalsite.campaigns.gold_file import gold_from
from evalsite.campaigns.models import GoldItem
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.campaigns.storage_quota import rows_admit
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer


class GoldView(ReaderView):
    """Gold items, for people who may add some. Other members may judge, so they must not know the gold items."""

    query = PageQuery

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.scope = ApiToken.Scope.JUDGMENTS if request.method in ("GET", "HEAD") else ApiToken.Scope.ACTS
        super().initial(request, *args, **kwargs)

    @reading("gold", "List the gold items of a campaign", GoldItemPageSerializer, query=PageQuery)
    def get(self, request: Request, key: str) -> Response:
        campaign, _ = campaign_for(key=key, user=person(request), act=Act.GOLD)
        rows = GoldItem.objects.filter(campaign=campaign).select_related("withdrawal", "prompt")
        return Response(GoldItemPageSerializer.render(page_of(rows, **self.checked_query(request))))

    @operation(
        "add_gold",
        "Add gold items",
        {201: GoldAddedSerializer},
        ACTING,
        parameters=(IDEMPOTENCY_KEY,),
        body=GoldRequest,
    )
    def post(self, request: Request, key: str) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("Acts need to know who you are.", hint="Send a token with campaigns:write.")
        campaign, _ = campaign_for(key=key, user=user, act=Act.GOLD)
        body = GoldRequest(data=json_sent(request))
        body.is_valid(raise_exception=True)
        items = [gold_from(dict(one), one["id"]) for one in body.validated_data["items"]]

        def add() -> StoredAnswer:
            rows_admit(campaign=campaign, sent=gold_bytes(items), by=user)
            made = gold_add(campaign=campaign, items=items, by=user)
            return StoredAnswer(201, GoldAddedSerializer.render({"added": [str(item.public_id) for item in made]}))

        return answered(request, f"user:{user.public_id}", add)
