"""Collections: an endpoint's replies to every prompt of a set."""

import uuid
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.endpoint_base import EndpointBaseView
from evalsite.api.endpoint_requests import CollectionRequest
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.requests import EmptyRequest
from evalsite.api.responses.endpoints import CollectionSerializer, CollectionsSerializer
from evalsite.campaigns.endpoint_access import collection_for, prompt_set_to_collect
from evalsite.endpoints.collecting import collection_pause, collection_resume, collection_retry, collection_start
from evalsite.endpoints.models import Collection
from evalsite.endpoints.selectors import collections_of

KEYED = (IDEMPOTENCY_KEY,)


class CollectionsView(EndpointBaseView):
    """The collections of an endpoint."""

    @reading("collections", "List the collections of an endpoint", CollectionsSerializer)
    def get(self, request: Request, endpoint: uuid.UUID) -> Response:
        self.checked_query(request)
        found = collections_of(self.endpoint(request, endpoint, use=False))
        return Response({"results": [CollectionSerializer.of(one) for one in found]})

    @operation(
        "collect_replies",
        "Start a collection",
        {201: CollectionSerializer},
        ACTING,
        parameters=KEYED,
        body=CollectionRequest,
    )
    def post(self, request: Request, endpoint: uuid.UUID) -> Response:
        user, found = self.user(request), self.endpoint(request, endpoint)
        chosen = self.body(request, CollectionRequest)["prompt_set"]
        prompt_set = prompt_set_to_collect(public_id=chosen, user=user)

        def start() -> tuple[int, dict[str, Any]]:
            made = collection_start(endpoint=found, prompt_set=prompt_set, by=user)
            return 201, CollectionSerializer.of(made)

        return self.done(request, start)


class CollectionView(EndpointBaseView):
    """The state of a collection."""

    @reading("collection", "Get a collection", CollectionSerializer)
    def get(self, request: Request, collection: uuid.UUID) -> Response:
        self.checked_query(request)
        found = collection_for(public_id=collection, user=self.user(request), use=False)
        return Response(CollectionSerializer.of(found))


class _ActView(EndpointBaseView):
    """An action on a collection."""

    def act(self, request: Request, public_id: uuid.UUID, service: Any) -> Response:
        user = self.user(request)
        found: Collection = collection_for(public_id=public_id, user=user, use=True)
        self.body(request, EmptyRequest)
        return self.done(request, lambda: (200, CollectionSerializer.of(service(collection=found, by=user))))


class CollectionPauseView(_ActView):
    """Stop new calls of a collection. Calls in progress are completed."""

    @operation(
        "pause_collection",
        "Pause a collection",
        {200: CollectionSerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, collection: uuid.UUID) -> Response:
        return self.act(request, collection, collection_pause)


class CollectionResumeView(_ActView):
    """Go on with a paused collection."""

    @operation("resume_collection", "Resume a collection", {200: CollectionSerializer}, ACTING, parameters=KEYED)
    def post(self, request: Request, collection: uuid.UUID) -> Response:
        return self.act(request, collection, collection_resume)


class RetryView(_ActView):
    """Call the endpoint again for each prompt whose reply a complete collection failed to get."""

    @operation(
        "retry_collection",
        "Retry the failed calls of a collection",
        {200: CollectionSerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, collection: uuid.UUID) -> Response:
        return self.act(request, collection, collection_retry)
