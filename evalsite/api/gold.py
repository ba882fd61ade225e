"""The gold of a campaign, by a person's program: the same items as the console's, each with its fate."""

from typing import Any

from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken
from evalsite.api.board_views import ResultsView, person
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import PageSerializer, page_of
from evalsite.api.parsers import json_sent
from evalsite.api.responses.campaigns import GoldAddedSerializer, GoldItemPageSerializer
from evalsite.api.serializers import StrictCharField, StrictSerializer
from evalsite.campaigns.gold import gold_add, gold_bytes
from evalsite.campaigns.gold_file import gold_from
from evalsite.campaigns.models import GoldItem
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.campaigns.storage_quota import rows_admit
from evalsite.core.errors import NotAllowed
from evalsite.core.idempotency import StoredAnswer

VERDICTS = ["A", "B", "tie", "both_bad"]
LONGEST = 200_000


class TurnSerializer(StrictSerializer):
    speaker = s.ChoiceField(choices=["user", "chatbot"])
    text = StrictCharField(max_length=LONGEST)


class GoldItemSerializer(StrictSerializer):
    """A comparison with a known answer: a prompt (`prompt_id`, `text` or `turns`), two replies or two chatbots."""

    id = StrictCharField(max_length=200)
    right = s.ListField(child=s.ChoiceField(choices=VERDICTS), allow_empty=False, max_length=3)
    prompt_id = StrictCharField(max_length=200, required=False)
    text = StrictCharField(max_length=LONGEST, required=False)
    turns = s.ListField(child=TurnSerializer(), required=False, max_length=100)
    category = StrictCharField(max_length=100, required=False)
    reply_a = StrictCharField(max_length=LONGEST, required=False)
    reply_b = StrictCharField(max_length=LONGEST, required=False)
    chatbot_a = StrictCharField(max_length=400, required=False)
    chatbot_b = StrictCharField(max_length=400, required=False)
    explanation = StrictCharField(max_length=2000, required=False, allow_blank=True)


class GoldSerializer(StrictSerializer):
    """Gold items, added together or not at all."""

    items = s.ListField(child=GoldItemSerializer(), allow_empty=False, max_length=1000)


class GoldView(ResultsView):
    """Only for who may add gold: every member may judge, and must not know what is gold."""

    query = PageSerializer

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.scope = ApiToken.Scope.JUDGMENTS if request.method in ("GET", "HEAD") else ApiToken.Scope.ACTS
        super().initial(request, *args, **kwargs)

    @reading("gold", "Its gold items, for who may add some", GoldItemPageSerializer, query=PageSerializer)
    def get(self, request: Request, key: str) -> Response:
        campaign, _ = campaign_for(key=key, user=person(request), act=Act.GOLD)
        rows = GoldItem.objects.filter(campaign=campaign).select_related("withdrawal", "prompt")
        return Response(GoldItemPageSerializer.render(page_of(rows, **self.asked(request))))

    @operation(
        "add_gold",
        "Add gold items, all or none",
        {201: GoldAddedSerializer},
        ACTING,
        parameters=(IDEMPOTENCY_KEY,),
        body=GoldSerializer,
    )
    def post(self, request: Request, key: str) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("Acts need to know who you are.", hint="Send a token with campaigns:write.")
        campaign, _ = campaign_for(key=key, user=user, act=Act.GOLD)
        shape = GoldSerializer(data=json_sent(request))
        shape.is_valid(raise_exception=True)
        items = [gold_from(dict(one), one["id"]) for one in shape.validated_data["items"]]

        def add() -> StoredAnswer:
            rows_admit(campaign=campaign, sent=gold_bytes(items), by=user)
            made = gold_add(campaign=campaign, items=items, by=user)
            return StoredAnswer(201, GoldAddedSerializer.render({"added": [str(item.public_id) for item in made]}))

        return answered(request, f"user:{user.public_id}", add)
