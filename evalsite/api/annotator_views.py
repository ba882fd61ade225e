"""The annotators' doors of the API v1: thin, they parse, call one service or selector, and present."""

import uuid
from collections.abc import Callable
from functools import cache
from typing import Any, cast

from django.conf import settings
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.authentication import Caller
from evalsite.api.base_views import Door
from evalsite.api.idempotency import HEADER, answered
from evalsite.api.openapi import JUDGING, enrolling, judging, operation
from evalsite.api.parsers import json_sent
from evalsite.api.responses.annotators import (
    CampaignEnrolmentSerializer,
    EnrolmentSerializer,
    ProgressSerializer,
    QualificationAnswerSerializer,
    QualificationStatus,
    QualificationStatusSerializer,
)
from evalsite.api.responses.assignments import (
    BlockSerializer,
    JudgmentReceiptSerializer,
    LeaseSerializer,
    ReturnReceiptSerializer,
    SkipReceiptSerializer,
    WorkSerializer,
    block_of,
    block_of_work,
)
from evalsite.api.serializers import (
    ClaimSerializer,
    EnrolSerializer,
    JoinSerializer,
    JudgmentSerializer,
    NothingSerializer,
    QualificationSerializer,
    SkipSerializer,
    StrictSerializer,
)
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary, campaign_get
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.idempotency import StoredAnswer
from evalsite.core.throttle import admit, client_address
from evalsite.core.tokens import keyed_hashes
from evalsite.judgments.campaign_choice import work_claim
from evalsite.judgments.claim_sql import campaign_joined
from evalsite.judgments.leases import assignment_skip, assignments_return, lease_renew
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.qualification import qualification_answer, qualification_get
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.services import (
    UnknownVerdict,
    annotator_enrol,
    block_claim,
    enrolment_get,
    judgment_record,
    token_again,
    token_issue,
)
from evalsite.judgments.skips import returns_check

JOIN = "Join it first: POST /api/v1/campaigns/{campaign}/enrolments."


def _checked(serializer: type[StrictSerializer], request: Request) -> dict[str, Any]:
    return dict(_shape(serializer).run_validation(json_sent(request)))


@cache
def _shape(serializer: type[StrictSerializer]) -> StrictSerializer:
    """One of each for all requests: to copy its fields takes as long as to check by them, which keeps nothing."""
    return serializer()


@method_decorator(never_cache, name="dispatch")
class EnrolView(Door):
    """Become an annotator of an open campaign; the token is shown once."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    @enrolling("enrol", "Become an annotator of an open campaign", EnrolmentSerializer, body=EnrolSerializer)
    def post(self, request: Request) -> Response:
        address = _admit_enrolment(request)
        given = _checked(EnrolSerializer, request)
        campaign = campaign_get(key=given["campaign"], user=None)
        key, issued = request.headers.get(HEADER, ""), []

        def enrol() -> StoredAnswer:
            kind = Annotator.Kind(given["kind"])
            annotator = annotator_enrol(campaign=campaign, kind=kind, consents=given["consent"])
            issued.append(token_issue(annotator=annotator, again=key))
            # Kept for a retry, and so without the token.
            return StoredAnswer(201, {"annotator": str(annotator.public_id)})

        response = answered(request, _nobody(request, address, key) if HEADER in request.headers else "", enrol)
        token = issued[0] if issued else token_again(annotator_id=response.data["annotator"], again=key)
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
    """The address that somebody joins from, one knock more. Raises TooMany."""
    address = client_address(request._request)
    admit(what="enrol", who=address, at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    return address


def _nobody(request: Request, address: str, key: str) -> str:
    """Who sends a key before being anybody. Many people share an address, so the key itself is the sender's secret:
    one that somebody else could guess is refused. Address, program and key are kept as a hash that nobody can undo by
    trying all addresses.
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


class JoinView(Door):
    """Take part in one more campaign, as the annotator that one is. Joined already, it is the same once more."""

    @judging("join", "Take part in one more campaign", CampaignEnrolmentSerializer, body=JoinSerializer, admits=True)
    def post(self, request: Request, key: str) -> Response:
        annotator = _caller(request)
        _admit_enrolment(request)
        consents = _checked(JoinSerializer, request)["consent"]
        campaign = campaign_get(key=key, user=annotator.user)

        def join() -> StoredAnswer:
            annotator_enrol(campaign=campaign, annotator=annotator, user=annotator.user, consents=consents)
            joined = {"annotator": annotator.public_id, "campaign": campaign.public_id}
            return StoredAnswer(200, CampaignEnrolmentSerializer.render(joined))

        return _answered(request, join)


class WorkView(Door):
    """The annotator's open block, or a new one of the campaign whose turn it is, of all that they have joined."""

    @judging("work", "The open block, or one of the campaign whose turn it is", WorkSerializer, body=ClaimSerializer)
    def post(self, request: Request) -> Response:
        annotator = _admitted(request, "claim", settings.ANSWERS_PER_MINUTE)
        given = _checked(ClaimSerializer, request)

        def claim() -> StoredAnswer:
            found = work_claim(annotator=annotator, count=given.get("count"), address=_address(request))
            return StoredAnswer(200, WorkSerializer.render(block_of_work(found)))

        return _answered(request, claim)


class ClaimView(Door):
    """The annotator's open block, or a new one."""

    @judging("claim", "The open block, or a new one", BlockSerializer, body=ClaimSerializer, admits=True)
    def post(self, request: Request, key: str) -> Response:
        annotator = _admitted(request, "claim", settings.ANSWERS_PER_MINUTE)
        given = _checked(ClaimSerializer, request)
        campaign = _joined(key, annotator)

        def claim() -> StoredAnswer:
            count, address = given.get("count"), _address(request)
            claimed = block_claim(campaign=campaign, annotator=annotator, count=count, address=address)
            return StoredAnswer(200, BlockSerializer.render(block_of(claimed.block, campaign, claimed.wait)))

        return _answered(request, claim)


class QualificationView(Door):
    """The qualification that stands before a campaign's work: what is asked next, and an answer to it."""

    @operation("qualification", "What the qualification asks next", {200: QualificationStatusSerializer}, JUDGING)
    def get(self, request: Request, key: str) -> Response:
        annotator = _admitted(request, "read", settings.READS_PER_MINUTE)
        enrolment = enrolment_get(campaign=_joined(key, annotator), annotator=annotator)
        return Response(QualificationStatusSerializer.render(_qualification_status(enrolment)))

    @judging("qualify", "Answer a qualification item", QualificationAnswerSerializer, body=QualificationSerializer)
    def post(self, request: Request, key: str) -> Response:
        annotator = _admitted(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = _checked(QualificationSerializer, request)
        enrolment = enrolment_get(campaign=_joined(key, annotator), annotator=annotator)

        def answer() -> StoredAnswer:
            said = qualification_answer(
                enrolment=enrolment, item_id=given["item"], attempt=given["attempt"], choice=given["choice"]
            )
            shown = {"choice": said.choice, "right": said.item.right, "explanation": said.item.explanation}
            now = _qualification_status(enrolment)
            return StoredAnswer(200, QualificationAnswerSerializer.render({**shown, "qualification": now}))

        return _answered(request, answer)


def _qualification_status(enrolment: Enrolment) -> QualificationStatus:
    return QualificationStatus(qualification_get(enrolment), aspect_primary(enrolment.campaign))


def _address(request: Request) -> str:
    return client_address(request._request)


def _answered(request: Request, act: Callable[[], StoredAnswer]) -> Response:
    return answered(request, f"annotator:{_caller(request).public_id}", act)


def _caller(request: Request) -> Annotator:
    """The annotator whose token this is (authentication and permission have made sure of one)."""
    return cast("Caller", request.user).annotator


def _admitted(request: Request, what: str, per_minute: int) -> Annotator:
    """The caller, one knock more. Raises TooMany."""
    annotator = _caller(request)
    admit(what=what, who=str(annotator.public_id), at_most=per_minute, per_s=60)
    return annotator


def _joined(key: str, annotator: Annotator) -> Campaign:
    """The campaign at this address, found among those that the annotator has joined."""
    campaign = campaign_joined(annotator.pk, key)
    if campaign is None:
        raise NotFound("You have not joined such a campaign.", hint=JOIN)
    return campaign


class JudgmentView(Door):
    """Answer an assignment, or take an answer back by naming it. Sent again: 200 with what stands; another one: 409."""

    @judging(
        "answer",
        "Answer an assignment, or take an answer back",
        JudgmentReceiptSerializer,
        JudgmentReceiptSerializer,
        body=JudgmentSerializer,
    )
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = _admitted(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = _checked(JudgmentSerializer, request)
        choices = given.pop("answers")

        def record() -> StoredAnswer:
            try:
                recorded = judgment_record(annotator=annotator, assignment_id=assignment, choices=choices, **given)
            except UnknownVerdict as error:
                error.field = f"answers.{list(choices).index(error.aspect)}.choice"
                raise
            return StoredAnswer(201 if recorded.created else 200, JudgmentReceiptSerializer.render(recorded.judgment))

        return _answered(request, record)


class SkipView(Door):
    """Give an assignment back, with a reason."""

    @judging("skip", "Give an assignment back, with a reason", SkipReceiptSerializer, body=SkipSerializer)
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = _admitted(request, "skip", settings.ANSWERS_PER_MINUTE)
        given = _checked(SkipSerializer, request)

        def skip() -> StoredAnswer:
            assignment_skip(annotator=annotator, assignment_id=assignment, **given)
            return StoredAnswer(200, SkipReceiptSerializer.render({"skipped": assignment}))

        return _answered(request, skip)


class RenewalView(Door):
    """Hold the open assignments of this one's block for another lease."""

    @judging("renew", "Hold the block for another lease", LeaseSerializer, body=NothingSerializer)
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = _admitted(request, "renewal", settings.ANSWERS_PER_MINUTE)
        _checked(NothingSerializer, request)

        def renew() -> StoredAnswer:
            until = lease_renew(annotator=annotator, assignment_id=assignment)
            return StoredAnswer(200, LeaseSerializer.render({"lease_until": until}))

        return _answered(request, renew)


class ReturnView(Door):
    """Give back all that is open, as when the annotator leaves."""

    @judging("give_back", "Give back all that is open", ReturnReceiptSerializer, body=NothingSerializer)
    def post(self, request: Request, key: str) -> Response:
        annotator = _admitted(request, "return", settings.ANSWERS_PER_MINUTE)
        _checked(NothingSerializer, request)
        campaign = _joined(key, annotator)

        def give_back() -> StoredAnswer:
            returns_check(campaign, annotator)
            returned = assignments_return(campaign=campaign, annotator=annotator)
            return StoredAnswer(200, ReturnReceiptSerializer.render({"returned": returned}))

        return _answered(request, give_back)


class ProgressView(Door):
    """What the annotator has done in a campaign, and earned."""

    @operation("progress", "What was done, and earned", {200: ProgressSerializer}, JUDGING)
    def get(self, request: Request, key: str) -> Response:
        annotator = _admitted(request, "read", settings.READS_PER_MINUTE)
        return Response(ProgressSerializer.render(progress_get(campaign=_joined(key, annotator), annotator=annotator)))
