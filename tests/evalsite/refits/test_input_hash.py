"""A snapshot's name: the same votes, options, seed and engine have it again, in whatever order the votes are stored."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalsite.boards.models import Board, BoardChartData, Decision, Refit, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.judgments.models import Annotator, Answer, Judgment
from evalsite.judgments.selectors import CountedVote
from evalsite.refits import mapping
from evalsite.refits import refit as refit_module
from evalsite.refits.mapping import fit_input, input_named
from evalsite.refits.vote_cache import VoteCache
from irt_engine import FitResult, Posterior, WarmStart
from scheduler.estimator import estimate, estimate_with_warm_start
from tests.evalsite.cast import by_number, judge, judge_as, run_only_refits

SEED = 7
VOTES = [CountedVote(a, b, a + b, 10 + n % 3, (n % 3) - 1, True) for n, (a, b) in enumerate([(1, 2), (2, 3), (1, 3)])]
TIES = [CountedVote(1, 2, 9, None, 0, True)]
Votes = Sequence[CountedVote]


def board_of(campaign: Campaign) -> Board:
    return Board.objects.get(default_of=campaign)


def store_in_another_order() -> None:
    """Judgments and answers cannot be changed: they are taken out, and put in again one by one, the last ones first."""
    judgments = list(Judgment.objects.order_by("-pk"))
    answers = {one.judgment_id: one for one in Answer.objects.all()}
    with deletion_permitted():
        Answer.objects.all().delete()
        Judgment.objects.all().delete()
    for judgment in judgments:
        answer = answers[judgment.pk]
        judgment.pk = answer.pk = None
        judgment.save(force_insert=True)
        answer.judgment = judgment
        answer.save(force_insert=True)


def forget_snapshots() -> None:
    with deletion_permitted():
        for kept in (Refit, BoardChartData, Decision, Snapshot):
            kept.objects.all().delete()


def test_the_same_votes_stored_in_another_order_make_the_same_snapshot(
    campaign: Campaign, bob: Annotator, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        judge_as(campaign, bob, by_number)
        judge(campaign, dora, "tie")
    board = board_of(campaign)
    given = fit_input(board)
    run_only_refits()
    first = Snapshot.objects.get()
    assert first.input_sha256 == given.sha256

    store_in_another_order()
    monkeypatch.setattr(mapping, "VOTE_CACHE", VoteCache())  # as in a new worker, which has no facts cached
    again = fit_input(board)
    assert list(again.votes) == list(reversed(given.votes)), "they are read in the order in which they are stored"
    assert again.sha256 == given.sha256
    forget_snapshots()
    refit_request(campaign)
    run_only_refits()
    second = Snapshot.objects.get()
    assert second.pk != first.pk
    assert (second.input_sha256, second.judgments, second.seed) == (first.input_sha256, first.judgments, first.seed)
    standing = [[(row["name"], row["rank"], row["judgments"]) for row in one.rows] for one in (first, second)]
    assert len(standing[0]) == 4
    assert standing[0] == standing[1]
    one, other = (Posterior.from_bytes(bytes(snapshot.posterior)) for snapshot in (first, second))
    assert one.chatbots == other.chatbots
    assert one.ability == pytest.approx(other.ability, rel=0, abs=1e-9)
    assert one.covariance == pytest.approx(other.covariance, rel=0, abs=1e-9)


@pytest.mark.parametrize("shuffling", range(5))
def test_permuted_votes_and_ties_have_the_same_hash(shuffling: int) -> None:
    rng = random.Random(shuffling)
    votes, ties = VOTES * 2, [*TIES, CountedVote(2, 3, 9, None, 0, True)]
    permuted = rng.sample(votes, len(votes)), rng.sample(ties, len(ties))
    assert input_named(*permuted, SEED).sha256 == input_named(votes, ties, SEED).sha256


def test_how_long_an_answer_took_no_fit_sees() -> None:
    slow = [vote._replace(client_ms=90_000) for vote in VOTES]
    assert input_named(slow, TIES, SEED).sha256 == input_named(VOTES, TIES, SEED).sha256


OTHERS: dict[str, Callable[[Votes], Any]] = {
    "one vote more": lambda votes: ([*votes, votes[0]], TIES, SEED),
    "one vote less": lambda votes: (votes[1:], TIES, SEED),
    "another outcome": lambda votes: ([votes[0]._replace(outcome=1), *votes[1:]], TIES, SEED),
    "another annotator": lambda votes: ([votes[0]._replace(annotator=99), *votes[1:]], TIES, SEED),
    "another prompt": lambda votes: ([votes[0]._replace(prompt=99), *votes[1:]], TIES, SEED),
    "another order shown": lambda votes: ([votes[0]._replace(order_known=False), *votes[1:]], TIES, SEED),
    "no ties fitted": lambda votes: (votes, [], SEED),
    "a tie that was judged": lambda votes: ([*votes, *TIES], [], SEED),
    "another seed": lambda votes: (votes, TIES, SEED + 1),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_a_fit_would_see_otherwise_has_another_hash(what: str) -> None:
    assert input_named(*OTHERS[what](VOTES)).sha256 != input_named(VOTES, TIES, SEED).sha256


@pytest.mark.parametrize("name", ["ENGINE", "MODEL"])
def test_another_engine_and_another_model_have_another_hash(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = input_named(VOTES, TIES, SEED).sha256
    monkeypatch.setattr(mapping, name, "another")
    assert input_named(VOTES, TIES, SEED).sha256 != before


def test_the_campaigns_own_seed_and_its_known_ties_are_in_the_name(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, blocks=2)
    run_only_refits()
    board = board_of(campaign)
    before = fit_input(board).sha256
    Campaign.objects.update(seed=campaign.seed + 1)
    assert fit_input(board).sha256 != before
    Campaign.objects.update(seed=campaign.seed)
    assert fit_input(board).sha256 == before


class TestWarmStart:
    """A refit begins where the last one of this engine ended: a large board would take a minute from nothing."""

    @pytest.fixture
    def starts(self, monkeypatch: pytest.MonkeyPatch) -> list[WarmStart | None]:
        """What each fit of the board began from; the fits themselves go on as always."""
        seen: list[WarmStart | None] = []

        def fits(table: Any, start: WarmStart | None = None, seed: int = 0, **options: Any) -> FitResult:
            seen.append(start)
            return estimate_with_warm_start(table, start, seed, **options)

        monkeypatch.setattr("evalsite.refits.mapping.estimate_with_warm_start", fits)
        return seen

    def test_a_refit_begins_where_the_last_one_ended_and_comes_to_the_same(
        self, campaign: Campaign, bob: Annotator, dora: Annotator, starts: list[WarmStart | None]
    ) -> None:
        for _ in range(2):
            judge_as(campaign, bob, by_number)
            judge_as(campaign, dora, by_number)
            run_only_refits()
        first, second = Snapshot.objects.order_by("number")
        assert starts[0] is None
        assert starts[1] is not None
        assert Posterior.from_bytes(bytes(first.posterior)).to_bytes(starts[1]) == bytes(first.posterior)
        given = fit_input(board_of(campaign))
        assert given.sha256 == second.input_sha256
        cold = estimate(given.table(), None, given.seed)
        warm = Posterior.from_bytes(bytes(second.posterior))
        assert warm.ability == pytest.approx(cold.ability, rel=0, abs=1e-6)

    def test_what_another_engine_has_left_is_no_beginning(
        self, campaign: Campaign, bob: Annotator, starts: list[WarmStart | None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        judge(campaign, bob, blocks=2)
        run_only_refits()
        monkeypatch.setattr(refit_module, "ENGINE", "another")
        monkeypatch.setattr(mapping, "ENGINE", "another")
        judge(campaign, bob, blocks=2)
        run_only_refits()
        assert starts == [None, None]
        assert Snapshot.objects.count() == 2
