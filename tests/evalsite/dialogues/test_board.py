"""Live turns on the board: outcomes, turns that do not count, conversations as items, and planned sets."""

from pathlib import Path

import pytest

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.dialogues.models import PlannedSet
from evalsite.dialogues.starting import conversation_start
from evalsite.endpoints.failures import ErrorClass
from evalsite.exchange.board_verification import board_verify
from evalsite.judgments.batches import batch_close
from evalsite.judgments.judgment_lists import Wanted, judgments_page
from evalsite.judgments.models import Annotator, Assignment, Batch
from evalsite.judgments.selectors import CountedVote, item_counts, votes_counted
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.mapping import Planner, fit_input
from evalsite.refits.models import Findings
from tests.evalsite.api.client import Api
from tests.evalsite.cast import run_jobs, run_only_refits
from tests.evalsite.dialogues.steps import answer_all, begin, choose, endpoint_of, post, released

pytestmark = pytest.mark.django_db


def votes(campaign: Campaign) -> list[CountedVote]:
    for batch in Batch.objects.filter(campaign=campaign, state=Batch.State.OPEN):
        batch_close(batch)
    return votes_counted([campaign], campaign.rubric.aspects.get(position=0))


def test_first_turn_and_void_turns_do_not_count(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    choose(released(conversation))
    counted = released(conversation)
    choose(counted, "B")
    void = post(conversation)
    answer_all({endpoint_of(void, 0): ErrorClass.REJECTED})
    (vote,) = votes(soba)
    assert (vote.outcome, vote.live, vote.prompt) == (1, True, counted.prompt_id)
    first, second = counted.replies.shown()
    assert (vote.first_version, vote.second_version) == (first.entrant.version_id, second.entrant.version_id)


@pytest.mark.parametrize(("selected", "outcome"), [(["A"], -1), (["B"], 1), (["A", "B"], 0), ([], 0)])
def test_selections_of_two_are_the_known_outcomes(
    sata: Campaign, emma: Annotator, selected: list[str], outcome: int
) -> None:
    sata.live.chatbots_per_conversation, sata.live.fallback = 2, "random"
    sata.live.save()
    choose(released(begin(sata, emma)), selected)
    assert [vote.outcome for vote in votes(sata)] == [outcome]


def test_turn_with_three_chatbots_counts_as_one_comparison(sata: Campaign, emma: Annotator) -> None:
    turn = released(begin(sata, emma))
    choose(turn, ["A"])
    (vote,) = votes(sata)
    version_of = {letter: row.entrant.version_id for letter, row in zip("ABC", turn.replies.shown(), strict=True)}
    selected = {version_of["A"]}
    assert {vote.first_version, vote.second_version} < set(version_of.values())
    assert vote.outcome == (vote.second_version in selected) - (vote.first_version in selected)
    assert (vote.live, vote.order_known) == (True, False)


def test_turns_with_three_chatbots_make_a_board(sata: Campaign, emma: Annotator) -> None:
    conversation = begin(sata, emma)
    for selected in [["A"], ["B"], ["A", "B", "C"], ["A", "C"], ["B", "C"]]:
        choose(released(conversation), selected)
    run_only_refits()
    assert board_default(campaign=sata).snapshots.latest("number").judgments == 4


def test_turns_of_a_conversation_are_one_item_and_never_planned(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    for choice in "ABAB":
        choose(released(conversation), choice)
    assert len(votes(soba)) == 3
    assert fit_input(board_default(campaign=soba)).table().prompts == (f"conversation {conversation.pk}",)
    planner = Planner(soba)
    assert planner.prompts == []
    state = planner.state(None, 3, item_counts(soba))
    assert len(state.judged) == 3
    assert len(state.pending) == 1  # the conversation in progress
    assert not set(state.judged[:, 2]) & set(state.pending[:, 2])
    assert state.retired.tolist() == state.judged[:1, 2].tolist()


def test_refit_publishes_a_board_and_plans_sets(soba: Campaign, emma: Annotator) -> None:
    run_jobs()
    assert PlannedSet.objects.filter(campaign=soba).exists()
    conversation = begin(soba, emma)
    assert conversation.policy == soba.policy
    assert conversation.probability is not None
    for choice in "ABABA":
        choose(released(conversation), choice)
    run_jobs()
    snapshot = board_default(campaign=soba).snapshots.latest("number")
    assert snapshot.judgments == 4
    planned = PlannedSet.objects.filter(campaign=soba).order_by("priority")
    assert planned[0].snapshot == snapshot.public_id
    assert conversation_start(campaign=soba, annotator=annotator_enrol(campaign=soba), key="k").conversation is not None
    assert not Assignment.objects.filter(campaign=soba, state=Assignment.State.QUEUED).exists()
    assert Findings.objects.filter(campaign=soba).exists()


@pytest.mark.parametrize(("selected", "choice"), [(["B"], "B"), (["A", "B"], "tie"), ([], "both_bad")])
def test_live_judgments_are_listed_as_verdicts(
    sata: Campaign, emma: Annotator, selected: list[str], choice: str
) -> None:
    sata.live.chatbots_per_conversation, sata.live.fallback = 2, "random"
    sata.live.save()
    turn = released(begin(sata, emma))
    choose(turn, selected)
    aspect = sata.rubric.aspects.get(position=0)
    (row,) = judgments_page(campaign=sata, aspect=aspect, wanted=Wanted(counted=None), after=None, count=10)
    shown = [reply.entrant_id for reply in turn.replies.shown()]
    assert (row.choice, [row.first, row.second]) == (choice, shown)


def test_judgments_of_three_are_not_listed_as_verdicts(sata: Campaign, emma: Annotator) -> None:
    choose(released(begin(sata, emma)), ["A"])
    aspect = sata.rubric.aspects.get(position=0)
    assert judgments_page(campaign=sata, aspect=aspect, wanted=Wanted(counted=None), after=None, count=10) == []


def test_export_of_live_judgments_gives_the_same_board(soba: Campaign, alice: User, tmp_path: Path) -> None:
    for choices in ("ABAA", "BBAB"):
        annotator = annotator_enrol(campaign=soba)
        conversation = begin(soba, annotator)
        for choice in choices:
            choose(released(conversation), choice)
    run_only_refits()
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(api.get(f"/api/v1/campaigns/{soba.slug}/judgments.jsonl").getvalue())
    verified = board_verify(board=board_default(campaign=soba), path=path)
    assert (verified.judgments, verified.same) == (6, True)


def test_board_of_several_chatbots_cannot_be_verified(sata: Campaign, emma: Annotator, tmp_path: Path) -> None:
    conversation = begin(sata, emma)
    for _ in range(3):
        choose(released(conversation), ["A"])
    run_only_refits()
    with pytest.raises(Conflict, match="more than two chatbots"):
        board_verify(board=board_default(campaign=sata), path=tmp_path / "none.jsonl")
