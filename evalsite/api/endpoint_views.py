"""Endpoints of live chatbots: register, change, pause and test them, and read the cost of their calls."""

import uuid
from dataclasses import replace
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.endpoint_base import EndpointBaseView
from evalsite.api.endpoint_requests import EndpointChangeRequest, EndpointRequest, PauseRequest, SecretRequest
from evalsite.api.openapi import ACTING, IDEMPOTENCY_KEY, operation, reading
from evalsite.api.paging import page_of
from evalsite.api.requests import EmptyRequest, PageQuery
from evalsite.api.responses.endpoints import (
    CallPageSerializer,
    CheckSerializer,
    DailyCostsSerializer,
    EndpointPageSerializer,
    EndpointSerializer,
    amount,
)
from evalsite.campaigns.endpoint_access import check_for, organisation_with_endpoints
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.options import EndpointSettings, settings_of
from evalsite.endpoints.registration import live_chatbot_register
from evalsite.endpoints.selectors import daily_costs, endpoints_of
from evalsite.endpoints.services import (
    endpoint_pause,
    endpoint_resume,
    endpoint_update,
    secret_set,
)

KEYED = (IDEMPOTENCY_KEY,)


class EndpointsView(EndpointBaseView):
    """The endpoints of an organisation's chatbots."""

    query = PageQuery

    @reading("endpoints", "List the endpoints of an organisation", EndpointPageSerializer, query=PageQuery)
    def get(self, request: Request, organisation: str) -> Response:
        place = organisation_with_endpoints(slug=organisation, user=self.user(request), use=False)
        return Response(EndpointPageSerializer.render(page_of(endpoints_of(place), **self.checked_query(request))))

    @operation(
        "register_endpoint",
        "Register an endpoint",
        {201: EndpointSerializer},
        ACTING,
        parameters=KEYED,
        body=EndpointRequest,
    )
    def post(self, request: Request, organisation: str) -> Response:
        user = self.user(request)
        place = organisation_with_endpoints(slug=organisation, user=user, use=True)
        given = self.body(request, EndpointRequest)
        named = {key: given.pop(key, "") for key in ("name", "label", "secret")}

        def register() -> tuple[int, dict[str, Any]]:
            made = live_chatbot_register(organisation=place, settings=EndpointSettings(**given), **named, by=user)
            return 201, EndpointSerializer.render(made)

        return self.done(request, register)


class EndpointView(EndpointBaseView):
    """An endpoint with its health and cost."""

    @reading("endpoint", "Get an endpoint", EndpointSerializer)
    def get(self, request: Request, endpoint: uuid.UUID) -> Response:
        self.checked_query(request)
        return Response(EndpointSerializer.render(self.endpoint(request, endpoint, use=False)))

    @operation("change_endpoint", "Change an endpoint", {200: EndpointSerializer}, ACTING, body=EndpointChangeRequest)
    def patch(self, request: Request, endpoint: uuid.UUID) -> Response:
        found = self.endpoint(request, endpoint)
        given = self.body(request, EndpointChangeRequest)
        secret = given.pop("secret", "")
        settings = replace(settings_of(found), **given)
        changed = endpoint_update(endpoint=found, settings=settings, secret=secret, by=self.user(request))
        return Response(EndpointSerializer.render(changed))


class SecretView(EndpointBaseView):
    """The secret of an endpoint. It can be set but not read."""

    @operation("set_secret", "Set the secret of an endpoint", {200: EndpointSerializer}, ACTING, body=SecretRequest)
    def put(self, request: Request, endpoint: uuid.UUID) -> Response:
        found = self.endpoint(request, endpoint)
        secret_set(endpoint=found, secret=self.body(request, SecretRequest)["secret"], by=self.user(request))
        found.refresh_from_db()
        return Response(EndpointSerializer.render(found))


class EndpointPauseView(EndpointBaseView):
    """Stop new calls. Calls in progress are completed."""

    @operation(
        "pause_endpoint",
        "Pause an endpoint",
        {200: EndpointSerializer},
        ACTING,
        parameters=KEYED,
        body=PauseRequest,
    )
    def post(self, request: Request, endpoint: uuid.UUID) -> Response:
        found, given = self.endpoint(request, endpoint), self.body(request, PauseRequest)

        def pause() -> tuple[int, dict[str, Any]]:
            paused = endpoint_pause(endpoint=found, reason=given.get("reason", ""), by=self.user(request))
            return 200, EndpointSerializer.render(paused)

        return self.done(request, pause)


class EndpointResumeView(EndpointBaseView):
    """Allow calls again."""

    @operation("resume_endpoint", "Resume an endpoint", {200: EndpointSerializer}, ACTING, parameters=KEYED)
    def post(self, request: Request, endpoint: uuid.UUID) -> Response:
        found = self.endpoint(request, endpoint)
        self.body(request, EmptyRequest)

        def resume() -> tuple[int, dict[str, Any]]:
            return 200, EndpointSerializer.render(endpoint_resume(endpoint=found, by=self.user(request)))

        return self.done(request, resume)


class TestsView(EndpointBaseView):
    """Tests of an endpoint. A test is a fixed conversation of three turns."""

    @operation(
        "test_endpoint",
        "Test an endpoint",
        {202: CheckSerializer},
        ACTING,
        parameters=KEYED,
    )
    def post(self, request: Request, endpoint: uuid.UUID) -> Response:
        found = self.endpoint(request, endpoint)
        self.body(request, EmptyRequest)

        def test() -> tuple[int, dict[str, Any]]:
            return 202, CheckSerializer.of(endpoint_test(endpoint=found, by=self.user(request)))

        return self.done(request, test)


class TestView(EndpointBaseView):
    """The result of a test."""

    @reading("endpoint_test", "Get an endpoint test", CheckSerializer)
    def get(self, request: Request, test: uuid.UUID) -> Response:
        self.checked_query(request)
        return Response(CheckSerializer.of(check_for(public_id=test, user=self.user(request))))


class CallsView(EndpointBaseView):
    """All calls of an endpoint, oldest first."""

    query = PageQuery

    @reading("endpoint_calls", "List the calls of an endpoint", CallPageSerializer, query=PageQuery)
    def get(self, request: Request, endpoint: uuid.UUID) -> Response:
        rows = self.endpoint(request, endpoint, use=False).calls.select_related("request")
        return Response(CallPageSerializer.render(page_of(rows, **self.checked_query(request))))


class CostsView(EndpointBaseView):
    """The calls and the cost of each day."""

    @reading("endpoint_costs", "List the daily costs of an endpoint", DailyCostsSerializer)
    def get(self, request: Request, endpoint: uuid.UUID) -> Response:
        self.checked_query(request)
        found = self.endpoint(request, endpoint, use=False)
        days = [
            {"day": day.isoformat(), "calls": calls, "failed": failed, "cost": amount(cost)}
            for day, calls, failed, cost in daily_costs(found, days=400)
        ]
        return Response(DailyCostsSerializer.render({"currency": found.currency, "days": days}))
