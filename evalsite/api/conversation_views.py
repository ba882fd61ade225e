"""Live conversations of annotators: begin, messages, judgments of turns, reports, and the end.

The answers hold texts that can be erased. So no answer is stored for an Idempotency-Key: the services themselves find
what was done before.
"""

import hashlib
import uuid
from typing import Any

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.api.annotator_base import admitted_caller, checked_body, joined_campaign
from evalsite.api.base_views import BaseView
from evalsite.api.idempotency import HEADER
from evalsite.api.openapi import JUDGING, judging, operation
from evalsite.api.requests import (
    ConversationRequest,
    EmptyRequest,
    EndRequest,
    MessageRequest,
    ReportRequest,
    SkipRequest,
    TurnJudgmentRequest,
)
from evalsite.api.responses.conversations import (
    ConversationSerializer,
    ReportReceiptSerializer,
    StartOutcome,
    StartSerializer,
)
from evalsite.core.errors import InvalidInput
from evalsite.core.http import unchanged
from evalsite.dialogues.endings import conversation_end, conversation_leave
from evalsite.dialogues.history import Transcript
from evalsite.dialogues.messages import message_post
from evalsite.dialogues.models import Conversation
from evalsite.dialogues.reports import reply_report
from evalsite.dialogues.selectors import conversation_get, conversation_view, etag_get, turn_id_get
from evalsite.dialogues.starting import conversation_start
from evalsite.dialogues.turns import turn_judge, turn_skip

LONGEST_KEY = 100


def message_key(request: Request, *, required: bool) -> str:
    """Return the Idempotency-Key, or its hash if it is long. Raises InvalidInput if a required one is missing."""
    key = request.headers.get(HEADER, "")
    if not key and required:
        raise InvalidInput(
            "A message needs an Idempotency-Key, so that it is not sent twice.",
            hint="Send the header Idempotency-Key with a new random value for each message.",
            field=HEADER,
            code="no_key",
        )
    key = key or uuid.uuid4().hex
    return key if len(key) <= LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


def shown(conversation: Conversation, transcript: Transcript | None = None, *, status: int = 200) -> Response:
    """Return a conversation that was read or written just now."""
    view = conversation_view(conversation, transcript)
    return Response(ConversationSerializer.render(view), status=status, headers={"ETag": view.etag})


class StartView(BaseView):
    """Return the open conversation, begin a new one, or give the reason why none begins."""

    @judging(
        "start_conversation",
        "Begin a conversation, or get the open one",
        StartSerializer,
        StartSerializer,
        body=ConversationRequest,
        admits=True,
    )
    def post(self, request: Request, key: str) -> Response:
        annotator = admitted_caller(request, "claim", settings.ANSWERS_PER_MINUTE)
        given = checked_body(ConversationRequest, request)
        campaign = joined_campaign(key, annotator)
        started = conversation_start(
            campaign=campaign, annotator=annotator, key=message_key(request, required=False), **given
        )
        row = started.conversation
        view = conversation_view(conversation_get(annotator=annotator, conversation_id=row.public_id)) if row else None
        return Response(StartSerializer.render(StartOutcome.of(started, view)), status=201 if started.created else 200)


class ConversationView(BaseView):
    """A conversation with an ETag. Poll it while replies are awaited. If it has not changed, the response is 304."""

    @operation(
        "conversation",
        "Get a conversation",
        {200: ConversationSerializer, 304: None},
        JUDGING,
    )
    def get(self, request: Request, conversation: uuid.UUID) -> HttpResponseBase:
        annotator = admitted_caller(request, "read", settings.READS_PER_MINUTE)
        etag = etag_get(annotator=annotator.pk, conversation_id=conversation)
        if etag and unchanged(request._request, etag):
            return Response(status=304, headers={"ETag": etag, "Cache-Control": "no-cache"})
        view = conversation_view(conversation_get(annotator=annotator, conversation_id=conversation))
        headers = {"ETag": view.etag, "Cache-Control": "no-cache"}
        return Response(ConversationSerializer.render(view), headers=headers)


class MessageView(BaseView):
    """Send a message. An Idempotency-Key is required. A repeated request returns 200 and sends nothing."""

    @judging(
        "send_message",
        "Send a message to the chatbots",
        ConversationSerializer,
        ConversationSerializer,
        body=MessageRequest,
    )
    def post(self, request: Request, conversation: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = checked_body(MessageRequest, request)
        key = message_key(request, required=True)
        posted = message_post(annotator=annotator, conversation_id=conversation, key=key, **given)
        return shown(posted.turn.conversation, posted.transcript, status=201 if posted.created else 200)


class TurnJudgmentView(BaseView):
    """Judge the replies of a turn. Repeating the same judgment returns 200; a different one returns 409."""

    @judging(
        "judge_turn",
        "Judge the replies of a turn",
        ConversationSerializer,
        ConversationSerializer,
        body=TurnJudgmentRequest,
    )
    def post(self, request: Request, conversation: uuid.UUID, number: int) -> Response:
        annotator = admitted_caller(request, "answer", settings.ANSWERS_PER_MINUTE)
        given: dict[str, Any] = checked_body(TurnJudgmentRequest, request)
        turn_id = turn_id_get(annotator=annotator, conversation_id=conversation, number=number)
        judged = turn_judge(annotator=annotator, turn_id=turn_id, choices=given.pop("answers"), **given)
        return shown(judged.turn.conversation, status=201 if judged.created else 200)


class TurnSkipView(BaseView):
    """Skip the replies of a turn with a reason. The conversation continues with a random reply."""

    @judging("skip_turn", "Skip a turn, with a reason", ConversationSerializer, body=SkipRequest)
    def post(self, request: Request, conversation: uuid.UUID, number: int) -> Response:
        annotator = admitted_caller(request, "skip", settings.ANSWERS_PER_MINUTE)
        given = checked_body(SkipRequest, request)
        turn_id = turn_id_get(annotator=annotator, conversation_id=conversation, number=number)
        return shown(turn_skip(annotator=annotator, turn_id=turn_id, **given).conversation)


class ReportView(BaseView):
    """Report a reply to the people who run the campaign."""

    @judging("report_reply", "Report a reply", ReportReceiptSerializer, body=ReportRequest)
    def post(self, request: Request, conversation: uuid.UUID, number: int) -> Response:
        annotator = admitted_caller(request, "skip", settings.ANSWERS_PER_MINUTE)
        given = checked_body(ReportRequest, request)
        turn_id = turn_id_get(annotator=annotator, conversation_id=conversation, number=number)
        report = reply_report(annotator=annotator, turn_id=turn_id, label=given.pop("candidate"), **given)
        return Response(ReportReceiptSerializer.render(report))


class EndView(BaseView):
    """End a conversation that has reached its minimum number of turns."""

    @judging("end_conversation", "End a conversation", ConversationSerializer, body=EndRequest)
    def post(self, request: Request, conversation: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "answer", settings.ANSWERS_PER_MINUTE)
        given = checked_body(EndRequest, request)
        return shown(conversation_end(annotator=annotator, conversation_id=conversation, **given))


class DepartureView(BaseView):
    """Leave a conversation before its minimum number of turns."""

    @judging("leave_conversation", "Leave a conversation", ConversationSerializer, body=EmptyRequest)
    def post(self, request: Request, conversation: uuid.UUID) -> Response:
        annotator = admitted_caller(request, "return", settings.ANSWERS_PER_MINUTE)
        checked_body(EmptyRequest, request)
        return shown(conversation_leave(annotator=annotator, conversation_id=conversation))
