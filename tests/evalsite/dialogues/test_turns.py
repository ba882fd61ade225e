"""Turns: messages, replies that are released together, judgments, and how the conversation goes on."""

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.dialogues.history import history_of
from evalsite.dialogues.messages import message_post
from evalsite.dialogues.models import Continuation, Turn, TurnReply, Utterance
from evalsite.dialogues.selectors import conversation_view
from evalsite.dialogues.turns import turn_judge, turn_skip
from evalsite.endpoints.models import CallRequest
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.judgments.models import Annotator, Answer, Assignment, Judgment
from evalsite.judgments.services import annotator_enrol, block_claim, judgment_record
from tests.evalsite.dialogues.steps import answer_all, begin, choose, claim_all, post, released, said

pytestmark = pytest.mark.django_db


def test_replies_are_released_when_all_have_come(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = post(conversation)
    first, second = claim_all()
    calls_record([CallResult(first, said("One."))])
    turn.refresh_from_db()
    assert turn.state == Turn.State.WAITING
    view = conversation_view(conversation)
    assert view.turn is not None
    assert view.turn.replies == ()
    calls_record([CallResult(second, said("Two."))])
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
    shown = conversation_view(conversation).turn
    assert shown is not None
    assert [one.label for one in shown.replies] == ["A", "B"]
    assert {one.text for one in shown.replies} == {"One.", "Two."}


def test_released_turn_is_an_assignment_with_stored_order(soba: Campaign, emma: Annotator) -> None:
    turn = released(begin(soba, emma))
    assert turn.assignment is not None
    assert turn.assignment.state == Assignment.State.ISSUED
    assert turn.assignment.source == Assignment.Source.LIVE
    assert turn.assignment.purpose == Assignment.Purpose.OPENING  # the first turn does not count here
    shown = list(turn.assignment.candidates.values_list("position", "entrant"))
    assert shown == list(turn.replies.shown().values_list("position", "entrant"))


def test_texts_stand_in_the_conversation_alone(soba: Campaign, emma: Annotator) -> None:
    turn = released(begin(soba, emma), "My secret message")
    choose(turn)
    assert turn.prompt.turns is None
    assert set(Reply.objects.filter(prompt=turn.prompt).values_list("text", "sha256", "origin")) == {
        (None, None, Reply.Origin.LIVE)
    }
    assert set(CallRequest.objects.filter(turn_reply__turn=turn).values_list("reply", flat=True)) == {None}
    assert all(request.messages == [] for request in CallRequest.objects.filter(turn_reply__turn=turn))


def test_chosen_reply_is_the_history_of_all(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = released(conversation)
    chosen = turn.replies.shown()[1]
    recorded = choose(turn, "B")
    assert recorded.created
    assert turn.continuation.how == Continuation.How.CHOSEN
    assert [one.content for one in history_of(conversation)] == ["Hello!", chosen.text]
    post(conversation, "And now?")
    assert {tuple(m.content for m in plan.messages) for plan in claim_all()} == {("Hello!", chosen.text, "And now?")}


def test_same_message_twice_is_one_turn_and_one_cost(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    first = post(conversation, key="m1")
    again = message_post(annotator=emma, conversation_id=conversation.public_id, text="Hello!", key="m1")
    assert (again.turn, again.created) == (first, False)
    assert CallRequest.objects.filter(turn_reply__isnull=False).count() == 2
    with pytest.raises(Conflict) as other:
        post(conversation, "Something else", key="m1")
    assert other.value.code == "message_key"


def test_second_tab_cannot_open_a_second_turn(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    post(conversation, key="m1")
    with pytest.raises(Conflict) as refused:
        post(conversation, "From the other tab", key="m2")
    assert refused.value.code == "turn_open"
    assert conversation.turns.count() == 1


@pytest.mark.parametrize(("text", "code"), [("x" * 100_000, "too_long"), ("  \n ", "empty"), ("a\0b", "invalid")])
def test_unfit_message_costs_nothing(soba: Campaign, emma: Annotator, text: str, code: str) -> None:
    conversation = begin(soba, emma)
    with pytest.raises(InvalidInput) as refused:
        post(conversation, text)
    assert refused.value.code == code
    assert not conversation.turns.exists()
    assert not CallRequest.objects.filter(turn_reply__isnull=False).exists()


def test_nobody_else_reaches_a_conversation(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = released(conversation)
    other = annotator_enrol(campaign=soba)
    with pytest.raises(NotFound):
        message_post(annotator=other, conversation_id=conversation.public_id, text="Hello", key="k")
    with pytest.raises(NotFound):
        turn_judge(annotator=other, turn_id=turn.public_id, choices={"best": "A"})


def test_turn_is_judged_once(soba: Campaign, emma: Annotator) -> None:
    turn = released(begin(soba, emma))
    first, again = choose(turn), choose(turn)
    assert (again.judgment, again.created) == (first.judgment, False)
    with pytest.raises(Conflict):
        choose(turn, "B")
    assert Judgment.objects.count() == 1
    assert Continuation.objects.count() == 1


def test_turn_is_judged_only_in_its_conversation(soba: Campaign, emma: Annotator) -> None:
    turn = released(begin(soba, emma))
    assert turn.assignment is not None
    with pytest.raises(Conflict) as refused:
        judgment_record(annotator=emma, assignment_id=turn.assignment.public_id, choices={"best": "A"})
    assert refused.value.code == "in_conversation"
    assert block_claim(campaign=soba, annotator=emma).block == []


def test_waiting_turn_takes_no_judgment(soba: Campaign, emma: Annotator) -> None:
    turn = post(begin(soba, emma))
    with pytest.raises(Conflict) as refused:
        choose(turn)
    assert refused.value.code == "waiting"


def test_selection_of_several_goes_on_with_one_of_them(sata: Campaign, emma: Annotator) -> None:
    turn = released(begin(sata, emma))
    recorded = choose(turn, ["A", "C"])
    rows = recorded.judgment.answers.values_list("candidate__position", "value")
    assert set(rows) == {(0, Answer.Value.CHOSEN), (2, Answer.Value.CHOSEN)}
    assert turn.continuation.how == Continuation.How.RANDOM_OF_SELECTED
    assert turn.continuation.reply is not None
    assert turn.continuation.reply.position in {0, 2}


def test_none_selected_asks_for_a_better_reply(sata: Campaign, emma: Annotator) -> None:
    conversation = begin(sata, emma)
    turn = released(conversation)
    with pytest.raises(InvalidInput) as refused:
        choose(turn, [])
    assert refused.value.code == "written_missing"
    assert not Judgment.objects.exists()
    recorded = choose(turn, [], written="A better reply.")
    assert [answer.value for answer in recorded.judgment.answers.all()] == [Answer.Value.NONE]
    assert turn.continuation.how == Continuation.How.WRITTEN
    assert history_of(conversation)[-1].content == "A better reply."


def test_written_reply_is_refused_beside_a_selection(sata: Campaign, emma: Annotator) -> None:
    turn = released(begin(sata, emma))
    with pytest.raises(InvalidInput) as refused:
        choose(turn, ["A"], written="Mine")
    assert refused.value.code == "written_refused"


def test_none_selected_goes_on_at_random(sata: Campaign, emma: Annotator) -> None:
    sata.live.fallback = "random"
    sata.live.save()
    turn = released(begin(sata, emma))
    choose(turn, [])
    assert turn.continuation.how == Continuation.How.RANDOM_OF_NONE


def test_skipped_turn_goes_on_at_random(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = released(conversation)
    turn_skip(annotator=emma, turn_id=turn.public_id, reason="cannot_judge")
    turn.refresh_from_db()
    assert turn.state == Turn.State.SKIPPED
    assert turn.continuation.how == Continuation.How.RANDOM_OF_NONE
    assert conversation_view(conversation).can_send


def test_hostile_text_stays_text(soba: Campaign, emma: Annotator) -> None:
    text = "<script>alert(1)</script> {secret} \u202e' OR 1=1 -- \U0001f600"
    turn = released(begin(soba, emma), text)
    assert turn.utterances.get(speaker=Utterance.Speaker.USER).text == text
    assert TurnReply.objects.filter(turn=turn, text__contains="<script>").count() == 2


def test_message_with_most_characters_is_taken(soba: Campaign, emma: Annotator) -> None:
    turn = post(begin(soba, emma), "x" * 4_000)
    assert answer_all() == 2
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
