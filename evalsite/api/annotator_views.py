"""The work of annotators: claims, judgments, skips and leases."""

import uuid

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.annotator_base import address_of, admitted_caller, answered_to, checked_body, joined_campaign
from evalsite.api.base_views import BaseView
from evalsite.api.openapi import JUDGING, judging, operation
from evalsite.api.requests import ClaimRequest, EmptyRequest, JudgmentRequest, SkipRequest
from evalsite.api.responses.annotators import (
    ProgressSerializer,
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
from evalsite.core.idempotency import StoredAnswer
from evalsite.judgments.answer_rows import UnknownVerdict
from evalsite.judgments.campaign_choice import work_claim
from evalsite.judgments.leases import assignment_skip, assignments_return, lease_renew
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.services import (
    block_claim,
    judgment_record,
)
from evalsite.judgments.skips import returns_check


class WorkView(BaseView):
    """Return the annotator's open block, or a new block of one of the joined campaigns. The campaigns take turns."""

    @judging("work", "Claim a block of any joined campaign", WorkSerializer, body=ClaimRequest)
    def post(self, request: Request) -> Response:
        annotator = admitted_caller(request, "claim", settings.ANSWERS_PER_MINUTE)
        given = checked_body(ClaimRequest, request)

        def claim() -> StoredAnswer:
            found = work_claim(annotator=annotator, count=given.get("count"), address=address_of(request))
            return StoredAnswer(200, WorkSerializer.render(block_of_work(found)))

        return answered_to(request, claim)


class ClaimView(BaseView):
    """Return the annotator's open block, or a new one."""

    @judging("claim", "Claim a block, or get the open one", BlockSerializer, body=ClaimRequest, admits=True)
    def post(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "claim", settings.ANSWERS_PER_MINUTE)
        given = checked_body(ClaimRequest, request)
        campaign = joined_campaign(key, annotator)

        def claim() -> StoredAnswer:
            count, address = given.get("count"), address_of(request)
            claimed = block_claim(campaign=campaign, annotator=annotator, count=count, address=address)
            return StoredAnswer(200, BlockSerializer.render(block_of(claimed.block, campaign, claimed.wait)))

        return answered_to(request, claim)


class JudgmentView(BaseView):
    """Judge an assignment, or replace a judgment by its id. A repeated judgment returns 200; a different one, 409."""

    @judging(
        "answer",
        "Judge an assignment, or replace a judgment",
        JudgmentReceiptSerializer,
        JudgmentReceiptSerializer,
        body=JudgmentRequest,
    )
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = checked_body(JudgmentRequest, request)
        choices = given.pop("answers")

        def record() -> StoredAnswer:
            try:
                recorded = judgment_record(annotator=annotator, assignment_id=assignment, choices=choices, **given)
            except UnknownVerdict as error:
                error.field = f"answers.{list(choices).index(error.aspect)}.{error.part}"
                raise
            return StoredAnswer(201 if recorded.created else 200, JudgmentReceiptSerializer.render(recorded.judgment))

        return answered_to(request, record)


class SkipView(BaseView):
    """Return an assignment without an answer, with a reason."""

    @judging("skip", "Skip an assignment, with a reason", SkipReceiptSerializer, body=SkipRequest)
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "skip", settings.ANSWERS_PER_MINUTE)
        given = checked_body(SkipRequest, request)

        def skip() -> StoredAnswer:
            assignment_skip(annotator=annotator, assignment_id=assignment, **given)
            return StoredAnswer(200, SkipReceiptSerializer.render({"skipped": assignment}))

        return answered_to(request, skip)


class RenewalView(BaseView):
    """Renew the lease of all open assignments of the block."""

    @judging("renew", "Renew the lease of a block", LeaseSerializer, body=EmptyRequest)
    def post(self, request: Request, assignment: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "renewal", settings.ANSWERS_PER_MINUTE)
        checked_body(EmptyRequest, request)

        def renew() -> StoredAnswer:
            until = lease_renew(annotator=annotator, assignment_id=assignment)
            return StoredAnswer(200, LeaseSerializer.render({"lease_until": until}))

        return answered_to(request, renew)


class ReturnView(BaseView):
    """Return all open assignments, for example when the annotator leaves."""

    @judging("give_back", "Return all open assignments", ReturnReceiptSerializer, body=EmptyRequest)
    def post(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "return", settings.ANSWERS_PER_MINUTE)
        checked_body(EmptyRequest, request)
        campaign = joined_campaign(key, annotator)

        def give_back() -> StoredAnswer:
            returns_check(campaign, annotator)
            returned = assignments_return(campaign=campaign, annotator=annotator)
            return StoredAnswer(200, ReturnReceiptSerializer.render({"returned": returned}))

        return answered_to(request, give_back)


class ProgressView(BaseView):
    """The annotator's progress and pay in a campaign."""

    @operation("progress", "Get the annotator's progress and pay", {200: ProgressSerializer}, JUDGING)
    def get(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "read", settings.READS_PER_MINUTE)
        return Response(
            ProgressSerializer.render(progress_get(campaign=joined_campaign(key, annotator), annotator=annotator))
        )
