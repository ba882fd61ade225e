"""An endpoint that hangs, drips, fails or rambles in the middle of a conversation: the turn ends, and others go on."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.dialogues.models import Continuation, Turn, TurnReply
from evalsite.dialogues.replies import turns_sweep
from evalsite.dialogues.selectors import conversation_view, notice_text
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import CallRequest, Endpoint
from evalsite.judgments.models import Annotator, Judgment
from evalsite.judgments.selectors import progress_get
from tests.evalsite.dialogues.steps import begin, choose, endpoint_of, post, released
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import call_all
from tests.servers import Behaviour, hangs, raw_server, response, sends

pytestmark = pytest.mark.django_db
DEADLINE_S = 0.4
OK = response(b'{"choices": [{"message": {"content": "Hello."}}]}')
UNRULY = {
    "hangs": (hangs, ErrorClass.TIMEOUT),
    "drips": (sends(*(bytes([one]) for one in OK), pause_s=0.05), ErrorClass.TIMEOUT),
    "fails": (sends(response(b"no", status=500)), ErrorClass.SERVER_ERROR),
    "rambles": (sends(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 1_000_000] * 20), ErrorClass.TOO_LARGE),
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.mark.parametrize(("behaviour", "error_class"), UNRULY.values(), ids=UNRULY)
def test_turn_ends_by_its_deadline_paid_and_told_and_others_go_on(
    soba: Campaign, sata: Campaign, emma: Annotator, server: ChatServer, behaviour: Behaviour, error_class: ErrorClass
) -> None:
    conversation, elsewhere = begin(soba, emma), begin(sata, emma)
    choose(released(conversation))
    turn = post(conversation, "And then?")
    with raw_server(behaviour) as unruly:
        Endpoint.objects.update(url=server.url)
        Endpoint.objects.filter(pk=endpoint_of(turn, 0)).update(url=unruly.url)
        deadline = timezone.now() + timedelta(seconds=DEADLINE_S)
        Turn.objects.filter(pk=turn.pk).update(deadline=deadline)
        CallRequest.objects.filter(turn_reply__turn=turn).update(give_up_at=deadline)
        other = post(elsewhere, "Elsewhere")
        call_all()
        turns_sweep()
    turn.refresh_from_db()
    other.refresh_from_db()
    assert turn.state == Turn.State.VOID
    assert turn.replies.get(state=TurnReply.State.FAILED).error_class == error_class
    assert turn.continuation.how == Continuation.How.ONLY
    assert Judgment.objects.count() == 1, "a failed reply counts for nobody"
    assert progress_get(campaign=soba, annotator=emma).pay == {"USD": Decimal("0.20")}
    view = conversation_view(conversation)
    assert (view.can_send, "counted and paid" in notice_text(view.notice)) == (True, True)
    assert other.state == Turn.State.RELEASED
