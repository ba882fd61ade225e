"""Further questions about the replies of a turn: set up, answered, reported, and counted as errors."""

import csv
import io
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.accounts.models import Organisation
from evalsite.boards.label_reports import label_report_of
from evalsite.boards.live_turns import prompts_by_conversation
from evalsite.campaigns.live import live_settings_set, turn_questions_of
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.services import NewAspect, campaign_start
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.dialogues.endings import conversation_end
from evalsite.dialogues.models import Conversation, Turn
from evalsite.dialogues.turns import turn_judge
from evalsite.judgments.batches import batch_close
from evalsite.judgments.models import Answer, Batch, Judgment
from evalsite.judgments.services import annotator_enrol
from evalsite.scorecards.live_conversations import live_labels
from tests.evalsite.dialogues.steps import BEST, FINE, begin, live_campaign_make, released
from tests.shared import shared

ERROR = NewAspect(
    "error", "Is it correct?", kind=Aspect.Kind.LABEL, labels=("correct", "incorrect", "irrelevant"), one_label=True
)
FUN = NewAspect(
    "fun", "How engaging is it?", kind=Aspect.Kind.RATING, scope=Aspect.Scope.SELECTED, minimum=1, maximum=5
)
WHOLE = NewAspect(
    "turn", "How did the turn go?", kind=Aspect.Kind.RATING, scope=Aspect.Scope.TURN, minimum=0, maximum=2
)


@shared
def pair(organisation: Organisation) -> Campaign:
    """A live campaign of two chatbots whose every turn also asks for a label, a rating, and one of the turn."""
    return live_campaign_make(
        organisation=organisation, chatbots=2, aspects=(BEST, ERROR, FUN, WHOLE), count_first_turn=True
    )


def answered(row: Turn, **changed: Any) -> Judgment:
    choices = {"best": "A", "error": {"A": ["correct"], "B": ["incorrect"]}, "fun": {"A": 4}, "turn": 2, **changed}
    return turn_judge(annotator=row.conversation.annotator, turn_id=row.public_id, choices=choices).judgment


def close_batch() -> None:
    for batch in Batch.objects.filter(state=Batch.State.OPEN):
        batch_close(batch)


def test_answers_name_the_reply_that_they_are_about(pair: Campaign) -> None:
    judgment = answered(released(begin(pair, annotator_enrol(campaign=pair))))
    rows = judgment.answers.order_by("pk").values_list("aspect__key", "candidate__position", "value")
    assert list(rows) == [
        ("best", 0, "chosen"),
        ("error", 0, "correct"),
        ("error", 1, "incorrect"),
        ("fun", 0, "4"),
        ("turn", None, "2"),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"error": {"A": ["correct"]}},
        {"error": {"A": ["correct"], "B": ["nonsense"]}},
        {"error": {"A": ["correct", "incorrect"], "B": ["correct"]}},
        {"fun": {"A": 4, "B": 3}},
        {"fun": {"B": 3}},
        {"fun": {"A": 6}},
        {"turn": {"A": 1, "B": 1}},
    ],
)
def test_wrong_answer_leaves_the_turn_open(pair: Campaign, wrong: dict[str, Any]) -> None:
    turn = released(begin(pair, annotator_enrol(campaign=pair)))
    with pytest.raises(InvalidInput):
        answered(turn, **wrong)
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
    assert not Answer.objects.exists()


def test_question_about_selected_replies_needs_none_without_selection(organisation: Organisation) -> None:
    marks = NewAspect("marks", "Which marks?", kind=Aspect.Kind.LABEL, scope=Aspect.Scope.SELECTED, labels=("x", "y"))
    campaign = live_campaign_make(organisation=organisation, chatbots=2, selection="sata", aspects=(FINE, marks))
    turn = released(begin(campaign, annotator_enrol(campaign=campaign)))
    judged = turn_judge(
        annotator=turn.conversation.annotator, turn_id=turn.public_id, choices={"fine": [], "marks": {}}
    )
    assert [one.aspect.key for one in judged.judgment.answers.all()] == ["fine"]


def test_report_counts_replies_by_chatbot_and_scope(pair: Campaign) -> None:
    conversation = begin(pair, annotator_enrol(campaign=pair))
    for number in range(3):
        answered(released(conversation, f"Message {number}"))
    close_batch()
    error, fun, turn = label_report_of(pair, prompts_by_conversation(pair))
    assert sum(row["n"] for row in error["chatbots"]) == 6
    correct = sum(row["n"] * row["values"][0]["value"] for row in error["chatbots"])
    assert correct == pytest.approx(3)
    assert sum(row["n"] for row in fun["chatbots"]) == 3
    assert {row["values"][0]["value"] for row in fun["chatbots"]} == {4.0}
    assert turn["chatbots"] == [], "a turn of two chatbots is about neither"


def test_reply_without_any_label_counts_as_judged(organisation: Organisation) -> None:
    marks = NewAspect("marks", "Which marks?", kind=Aspect.Kind.LABEL, labels=("x", "y"))
    campaign = live_campaign_make(
        organisation=organisation, chatbots=2, aspects=(BEST, marks), minimum_turns=1, count_first_turn=True
    )
    turn = released(begin(campaign, annotator_enrol(campaign=campaign)))
    turn_judge(
        annotator=turn.conversation.annotator,
        turn_id=turn.public_id,
        choices={"best": "A", "marks": {"A": ["x", "y"], "B": []}},
    )
    close_batch()
    (report,) = label_report_of(campaign, prompts_by_conversation(campaign))
    shares = sorted([value["value"] for value in row["values"]] for row in report["chatbots"])
    assert shares == [[0.0, 0.0], [1.0, 1.0]]


def test_labels_become_errors_of_the_scorecard(organisation: Organisation) -> None:
    campaign = live_campaign_make(
        organisation=organisation,
        chatbots=2,
        chatbots_per_conversation=1,
        selection="sata",
        aspects=(FINE, ERROR),
    )
    conversation = begin(campaign, annotator_enrol(campaign=campaign))
    for label in ("incorrect", "correct"):
        turn = released(conversation, label)
        choices: dict[str, Any] = {"fine": ["A"], "error": {"A": [label]}}
        turn_judge(annotator=conversation.annotator, turn_id=turn.public_id, choices=choices)
    conversation_end(annotator=conversation.annotator, conversation_id=conversation.public_id, rating=3)
    assert [(one.turn, one.erroneous) for one in live_labels(campaign)] == [(1, True), (2, False)]
    assert {one.conversation_id for one in live_labels(campaign)} == {str(Conversation.objects.get().public_id)}


def test_export_has_a_row_for_each_reply(pair: Campaign, capsys: pytest.CaptureFixture[str]) -> None:
    answered(released(begin(pair, annotator_enrol(campaign=pair))))
    call_command("export_data", "turns", "chat")
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["position"], row["selected"], row["error"], row["fun"], row["turn"]) for row in rows] == [
        ("1", "1", "correct", "4", "2"),
        ("2", "0", "incorrect", "", "2"),
    ]


class TestSettings:
    def test_questions_are_replaced_and_kept(self, organisation: Organisation) -> None:
        draft = live_campaign_make(organisation=organisation, chatbots=2, start=False)
        live_settings_set(campaign=draft, values={}, questions=[ERROR, FUN])
        assert turn_questions_of(draft) == (ERROR, FUN)
        live_settings_set(campaign=draft, values={"selection": "sata"})
        assert turn_questions_of(draft) == (ERROR, FUN)
        assert draft.rubric.aspects.get(position=0).kind == Aspect.Kind.SELECT_ANY
        live_settings_set(campaign=draft, values={}, questions=[])
        assert turn_questions_of(draft) == ()

    @pytest.mark.parametrize(
        "wrong",
        [
            [NewAspect("other", "Which is funnier?")],
            [ERROR, ERROR],
            [NewAspect("best", "Again?", kind=Aspect.Kind.RATING, minimum=1, maximum=5)],
            [NewAspect("a b", "Spaces?", kind=Aspect.Kind.RATING, minimum=1, maximum=5)],
            [NewAspect("r", "No scale?", kind=Aspect.Kind.RATING)],
            [NewAspect("l", "One label?", kind=Aspect.Kind.LABEL, labels=("x",))],
            [NewAspect(f"r{n}", "Too many?", kind=Aspect.Kind.RATING, minimum=1, maximum=5) for n in range(7)],
        ],
    )
    def test_wrong_questions_are_refused(self, organisation: Organisation, wrong: list[NewAspect]) -> None:
        draft = live_campaign_make(organisation=organisation, chatbots=2, start=False)
        with pytest.raises(InvalidInput):
            live_settings_set(campaign=draft, values={}, questions=wrong)
        assert turn_questions_of(draft) == ()

    def test_second_selection_cannot_start(self, organisation: Organisation) -> None:
        draft = live_campaign_make(
            organisation=organisation, chatbots=2, aspects=(BEST, NewAspect("kind", "Which is kinder?")), start=False
        )
        with pytest.raises(Conflict, match="does not fit"):
            campaign_start(campaign=draft)
