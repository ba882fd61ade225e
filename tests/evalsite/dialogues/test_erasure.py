"""Erasure of a person: their conversations' texts and the keys of the hashes go, the judgments follow the promise."""

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.dialogues.models import ChatbotReport, Conversation, ConversationKey, Turn, TurnReply, Utterance
from evalsite.dialogues.reports import reply_report
from evalsite.dialogues.selectors import conversation_view
from evalsite.endpoints.models import CallRequest
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.judgments.models import Annotator, Assignment, Enrolment, Judgment
from evalsite.judgments.person_erasure import person_erase
from tests.evalsite.dialogues.steps import begin, choose, claim_all, post, released, said

pytestmark = pytest.mark.django_db


def erase(campaign: Campaign, annotator: Annotator) -> None:
    person_erase(user=None, parts=Enrolment.objects.filter(campaign=campaign, annotator=annotator))


def texts() -> set[str]:
    """All texts of conversations and of their calls."""
    found = set(Utterance.objects.values_list("text", flat=True)) | set(
        TurnReply.objects.values_list("text", flat=True)
    )
    found |= set(Conversation.objects.values_list("feedback", flat=True))
    found |= set(ChatbotReport.objects.values_list("note", flat=True))
    for messages, reply in CallRequest.objects.filter(turn_reply__isnull=False).values_list("messages", "reply"):
        found |= {reply or "", *(message["content"] for message in messages or ())}
    return found


def test_erasure_deletes_texts_and_keys_and_keeps_judgments(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = released(conversation, "I live in Vienna")
    reply_report(annotator=emma, turn_id=turn.public_id, label="A", reason="other", note="It knows me")
    choose(turn)
    post(conversation, "And I am 40")
    running = claim_all()
    erase(soba, emma)
    assert texts() == {""}
    assert not ConversationKey.objects.exists()
    assert all(Utterance.objects.values_list("hmac", flat=True))
    assert Judgment.objects.count() == 1
    conversation.refresh_from_db()
    assert (conversation.state, conversation.erased_at is not None) == (Conversation.State.LEFT, True)
    calls_record([CallResult(plan, said("A late reply")) for plan in running])
    assert texts() == {""}
    assert conversation_view(conversation).turn is None


def test_erasure_removes_promised_judgments_too(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    choose(released(conversation))
    open_turn = released(conversation)
    Enrolment.objects.filter(campaign=soba, annotator=emma).update(erasure="remove")
    erase(soba, emma)
    assert not Judgment.objects.exists()
    open_turn.refresh_from_db()
    assert open_turn.state == Turn.State.DROPPED
    states = Assignment.objects.filter(annotator=emma).order_by("pk").values_list("state", flat=True)
    assert list(states) == [Assignment.State.REMOVED, Assignment.State.RETURNED]


def test_hashes_of_equal_texts_differ_between_conversations(soba: Campaign, sata: Campaign, emma: Annotator) -> None:
    for campaign in (soba, sata):
        post(begin(campaign, emma), "Yes")
    assert Utterance.objects.values("hmac").distinct().count() == 2
