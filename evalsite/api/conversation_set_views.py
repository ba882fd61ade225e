"""Sets of imported conversations and their scorecards, for members of the organisation."""

import uuid

from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.accounts.models import ApiToken
from evalsite.api.annotation_requests import AnnotationRequestBody, annotation_of
from evalsite.api.base_views import ReaderView, person
from evalsite.api.fields import StrictSerializer
from evalsite.api.idempotency import answered
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.parsers import json_sent
from evalsite.api.requests import PageQuery
from evalsite.api.responses.conversation_sets import (
    AnnotationSerializer,
    ConversationSetPageSerializer,
    PlannedAnnotation,
    ScorecardDocumentSerializer,
)
from evalsite.core.errors import NotAllowed, NotFound
from evalsite.core.idempotency import StoredAnswer
from evalsite.operations.annotations import annotation_launch
from evalsite.scorecards.annotation import judgments_planned, sample_plan
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

    @reading("conversation_sets", "List conversation sets", ConversationSetPageSerializer, query=PageQuery)
    def get(self, request: Request) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("Sets of conversations need to know who you are.", hint="Send a token.")
        page = page_of(conversation_sets_of(user), **self.checked_query(request))
        return Response(ConversationSetPageSerializer.render(page))


class AnnotationsView(ReaderView):
    """Annotate a random sample of the replies or the conversations in a set."""

    scope = ApiToken.Scope.ACTS

    @operation(
        "annotate",
        "Annotate a sample of a conversation set",
        {200: AnnotationSerializer, 201: AnnotationSerializer},
        ACTING,
        body=AnnotationRequestBody,
        parameters=(IDEMPOTENCY_KEY,),
    )
    def post(self, request: Request, conversation_set: uuid.UUID) -> Response:
        user = person(request)
        if user is None:
            raise NotAllowed("This needs to know who you are.", hint="Send a token with campaigns:write.")
        found = conversation_set_get(user, conversation_set, change=True)
        body = AnnotationRequestBody(data=json_sent(request))
        body.is_valid(raise_exception=True)
        wanted, check, draft = annotation_of(dict(body.validated_data))

        def annotate() -> StoredAnswer:
            plan = sample_plan(found, wanted.sample, seed=wanted.seed, unit=wanted.unit)
            judgments = judgments_planned(plan, wanted.votes, wanted.unit)
            if check:
                return StoredAnswer(200, AnnotationSerializer.render(PlannedAnnotation(plan, judgments)))
            campaign = annotation_launch(conversation_set=found, request=wanted, by=user, draft=draft)
            return StoredAnswer(201, AnnotationSerializer.render(PlannedAnnotation(plan, judgments, campaign)))

        return answered(request, f"user:{user.public_id}", annotate)


class ScorecardView(ReaderView):
    """The newest scorecard of a set."""

    query = ScorecardQuery

    @reading("scorecard", "Get the scorecard of a conversation set", ScorecardDocumentSerializer, query=ScorecardQuery)
    def get(self, request: Request, conversation_set: uuid.UUID) -> Response:
        found = conversation_set_get(person(request), conversation_set)
        query = self.checked_query(request)
        sorted_by = query.pop("sort")
        weights = weights_of({name: str(value) for name, value in query.items()})
        shown = scorecard_shown(found, weights=weights, sorted_by=sorted_by)
        if shown is None:
            raise NotFound("The set has no scorecard yet.", hint="It is computed after an import.")
        return Response(ScorecardDocumentSerializer.render(shown))
