"""Sets of imported conversations and their scorecards, for members of the organisation."""

import uuid

from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.base_views import ReaderView, person
from evalsite.api.fields import StrictSerializer
from evalsite.api.openapi import reading
from evalsite.api.paging import page_of
from evalsite.api.requests import PageQuery
from evalsite.api.responses.conversation_sets import ConversationSetPageSerializer, ScorecardDocumentSerializer
from evalsite.core.errors import NotAllowed, NotFound
from evalsite.scorecards.metrics import METRICS
from evalsite.scorecards.selectors import (
    MOST_WEIGHT,
    STRATEGIES,
    conversation_set_get,
    conversation_sets_of,
    scorecard_shown,
    weights_of,
)


class ScorecardQuery(StrictSerializer):
    """Weights of metrics in the unified scores (weight_rating=2), and the score by which chatbots are sorted."""

    sort = s.ChoiceField(choices=STRATEGIES, default=STRATEGIES[0])

    def get_fields(self) -> dict[str, s.Field]:  # type: ignore[type-arg]
        """Add a weight for each metric of the unified scores."""
        weight = {f"weight_{one.name}" for one in METRICS if one.unified}
        some = {name: s.FloatField(required=False, min_value=0, max_value=MOST_WEIGHT) for name in sorted(weight)}
        return {**super().get_fields(), **some}


class ConversationSetsView(ReaderView):
    """The caller's sets of conversations."""

    query = PageQuery

    @reading("conversation_sets", "One's own sets of conversations", ConversationSetPageSerializer, query=PageQuery)
    def get(self, request: Request) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("Sets of conversations need to know who you are.", hint="Send a token.")
        page = page_of(conversation_sets_of(user), **self.checked_query(request))
        return Response(ConversationSetPageSerializer.render(page))


class ScorecardView(ReaderView):
    """The newest scorecard of a set."""

    query = ScorecardQuery

    @reading("scorecard", "The scorecard of a set", ScorecardDocumentSerializer, query=ScorecardQuery)
    def get(self, request: Request, conversation_set: uuid.UUID) -> Response:
        found = conversation_set_get(person(request), conversation_set)
        query = self.checked_query(request)
        sorted_by = query.pop("sort")
        weights = weights_of({name: str(value) for name, value in query.items()})
        shown = scorecard_shown(found, weights=weights, sorted_by=sorted_by)
        if shown is None:
            raise NotFound("The set has no scorecard yet.", hint="It is computed after an import.")
        return Response(ScorecardDocumentSerializer.render(shown))
