"""Enrolment and qualification of annotators."""

import uuid

from django.conf import settings
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.annotator_base import admitted_caller, answered_to, caller_of, checked_body, joined_campaign
from evalsite.api.base_views import BaseView
from evalsite.api.idempotency import HEADER, answered
from evalsite.api.openapi import JUDGING, enrolling, judging, operation
from evalsite.api.requests import EnrolRequest, JoinRequest, QualificationRequest
from evalsite.api.responses.annotators import (
    CampaignEnrolmentSerializer,
    EnrolmentSerializer,
    QualificationAnswerSerializer,
    QualificationStatus,
    QualificationStatusSerializer,
)
from evalsite.campaigns.selectors import aspect_primary, campaign_get
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.throttle import admit, client_address
from evalsite.core.tokens import keyed_hashes
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.qualification import qualification_answer, qualification_get
from evalsite.judgments.services import (
    annotator_enrol,
    enrolment_get,
    token_issue,
    token_recover,
)


@method_decorator(never_cache, name="dispatch")
class EnrolView(BaseView):
    """Join an open campaign as a new annotator. The token is shown once."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @enrolling("enrol", "Join an open campaign as a new annotator", EnrolmentSerializer, body=EnrolRequest)
    def post(self, request: Request) -> Response:
        address = _admit_enrolment(request)
        given = checked_body(EnrolRequest, request)
        campaign = campaign_get(key=given["campaign"], user=None)
        key, issued = request.headers.get(HEADER, ""), []

        def enrol() -> StoredAnswer:
            kind = Annotator.Kind(given["kind"])
            annotator = annotator_enrol(campaign=campaign, kind=kind, consents=given["consent"])
            issued.append(token_issue(annotator=annotator, again=key))
            # Stored for a retry, so it must not hold the token.
            return StoredAnswer(201, {"annotator": str(annotator.public_id)})

        response = answered(request, _nobody(request, address, key) if HEADER in request.headers else "", enrol)
        token = issued[0] if issued else token_recover(annotator_id=response.data["annotator"], again=key)
        if not token:
            raise Conflict(
                "The token that this request was given is no longer in force.",
                hint="Join with a new Idempotency-Key.",
                field=HEADER,
                code="token_ended",
            )
        response.data = EnrolmentSerializer.render({**response.data, "token": token})
        return response


def _admit_enrolment(request: Request) -> str:
    """Return the address of the client and count this enrolment. Raises TooMany."""
    address = client_address(request._request)
    admit(what="enrol", who=address, at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    return address


def _nobody(request: Request, address: str, key: str) -> str:
    """Return the principal of a request without a token.

    Many people share an address. So the key itself is the sender's secret, and one that can be guessed is refused.
    Address, program and key are stored as a keyed hash, which cannot be undone by trying all addresses.
    """
    if not _is_random(key):
        raise InvalidInput(
            "To join, an Idempotency-Key must be a random UUID: who knows it is given the same token again.",
            hint="Use a new UUID (version 4 or 7) for each new annotator.",
            field=HEADER,
        )
    sender = f"{address} {request.headers.get('User-Agent', '')} {key}"
    return f"nobody:{keyed_hashes(sender, purpose='enrol')[0]}"


def _is_random(key: str) -> bool:
    try:
        made = uuid.UUID(key)
    except ValueError:
        return False
    return made.version in {4, 7} and len(set(made.hex)) >= 8


class JoinView(BaseView):
    """Join another campaign as the same annotator. A repeated request changes nothing."""

    @judging("join", "Join another campaign", CampaignEnrolmentSerializer, body=JoinRequest, admits=True)
    def post(self, request: Request, key: str) -> Response:
        annotator = caller_of(request)
        _admit_enrolment(request)
        consents = checked_body(JoinRequest, request)["consent"]
        campaign = campaign_get(key=key, user=annotator.user)

        def join() -> StoredAnswer:
            annotator_enrol(campaign=campaign, annotator=annotator, user=annotator.user, consents=consents)
            joined = {"annotator": annotator.public_id, "campaign": campaign.public_id}
            return StoredAnswer(200, CampaignEnrolmentSerializer.render(joined))

        return answered_to(request, join)


class QualificationView(BaseView):
    """The qualification of a campaign: the next item, and its answer."""

    @operation("qualification", "Get the next qualification item", {200: QualificationStatusSerializer}, JUDGING)
    def get(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "read", settings.READS_PER_MINUTE)
        enrolment = enrolment_get(campaign=joined_campaign(key, annotator), annotator=annotator)
        return Response(QualificationStatusSerializer.render(_qualification_status(enrolment)))

    @judging("qualify", "Answer a qualification item", QualificationAnswerSerializer, body=QualificationRequest)
    def post(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = checked_body(QualificationRequest, request)
        enrolment = enrolment_get(campaign=joined_campaign(key, annotator), annotator=annotator)

        def answer() -> StoredAnswer:
            recorded = qualification_answer(
                enrolment=enrolment, item_id=given["item"], attempt=given["attempt"], choice=given["choice"]
            )
            shown = {"choice": recorded.choice, "right": recorded.item.right, "explanation": recorded.item.explanation}
            now = _qualification_status(enrolment)
            return StoredAnswer(200, QualificationAnswerSerializer.render({**shown, "qualification": now}))

        return answered_to(request, answer)


def _qualification_status(enrolment: Enrolment) -> QualificationStatus:
    return QualificationStatus(qualification_get(enrolment), aspect_primary(enrolment.campaign))
