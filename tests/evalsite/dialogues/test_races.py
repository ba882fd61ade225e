"""Several at once on one conversation: two tabs, two callers, an erasure, and a start from two devices."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import TouchstoneError
from evalsite.dialogues.endings import conversation_leave
from evalsite.dialogues.messages import message_post
from evalsite.dialogues.models import Conversation, Turn
from evalsite.dialogues.replies import turns_sweep
from evalsite.dialogues.starting import conversation_start
from evalsite.dialogues.turns import turn_judge
from evalsite.endpoints.models import Call, CallRequest
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.judgments.models import Annotator, Enrolment, Judgment
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.dialogues.steps import begin, claim_all, live_campaign_make, post, released, said

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture
def chat(organisation: Organisation) -> Campaign:
    return live_campaign_make(organisation=organisation)


@pytest.fixture
def anna(chat: Campaign) -> Annotator:
    return annotator_enrol(campaign=chat)


def at_once(*acts: Callable[[], object]) -> list[object]:
    """Do these at once. Return what each one returned, or its error for people."""

    def one(act: Callable[[], object]) -> object:
        try:
            return act()
        except TouchstoneError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(one, acts))


def test_starts_at_once_are_one_conversation(chat: Campaign, anna: Annotator) -> None:
    at_once(*[lambda n=n: conversation_start(campaign=chat, annotator=anna, key=str(n)) for n in range(4)])
    assert Conversation.objects.count() == 1


def test_messages_at_once_are_one_turn(chat: Campaign, anna: Annotator) -> None:
    number = begin(chat, anna).public_id

    def send(key: str) -> object:
        return message_post(annotator=anna, conversation_id=number, text="Hello", key=key)

    results = at_once(*[lambda: send("same")] * 2, lambda: send("other"))
    assert Turn.objects.count() == 1
    assert CallRequest.objects.filter(turn_reply__isnull=False).count() == 2
    assert sum(isinstance(one, TouchstoneError) for one in results) in {1, 2}


def test_two_callers_release_a_turn_once(chat: Campaign, anna: Annotator) -> None:
    turn = post(begin(chat, anna))
    acts = [lambda plan=plan: calls_record([CallResult(plan, said("Hi"))]) for plan in claim_all()]
    at_once(*acts, turns_sweep)
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
    assert turn.assignment is not None
    assert turn.assignment.candidates.count() == 2
    assert Call.objects.filter(request__turn_reply__turn=turn).count() == 2


def test_judgments_at_once_are_one(chat: Campaign, anna: Annotator) -> None:
    turn = released(begin(chat, anna))
    at_once(
        *[
            lambda choice=choice: turn_judge(annotator=anna, turn_id=turn.public_id, choices={"best": choice})
            for choice in "AABB"
        ]
    )
    assert Judgment.objects.count() == 1
    assert turn.continuation.reply is not None


def test_erasure_beside_a_recording_leaves_no_text(chat: Campaign, anna: Annotator) -> None:
    conversation = begin(chat, anna)
    turn = post(conversation, "My name is Anna")
    plans = claim_all()
    at_once(
        lambda: person_erase(user=None, parts=Enrolment.objects.filter(annotator=anna)),
        lambda: calls_record([CallResult(plan, said("Hello Anna")) for plan in plans]),
    )
    assert set(turn.replies.values_list("text", flat=True)) == {""}
    assert set(CallRequest.objects.filter(turn_reply__turn=turn).values_list("reply", flat=True)) == {None}


def test_leaving_beside_a_recording_deadlocks_nobody(chat: Campaign, anna: Annotator) -> None:
    conversation = begin(chat, anna)
    post(conversation)
    plans = claim_all()
    key: uuid.UUID = conversation.public_id
    at_once(
        lambda: conversation_leave(annotator=anna, conversation_id=key),
        *[lambda plan=plan: calls_record([CallResult(plan, said("Hi"))]) for plan in plans],
    )
    conversation.refresh_from_db()
    assert conversation.state == Conversation.State.LEFT
    assert not Turn.objects.filter(state__in=Turn.OPEN).exists()
