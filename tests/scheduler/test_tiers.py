"""Tiers: bands of equal size that a chatbot leaves only when the posterior clearly says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import Posterior, ResponseTable
from irt_engine.truth import draw_truth
from scheduler import AdaptiveDesign, CampaignState, InvalidRequest, plan
from scheduler.estimator import estimate, estimate_with_warm_start
from scheduler.replay import ReplayLoop
from scheduler.tiers import place, tiers_of_votes
from tests.scheduler.cast import POSTERIOR


def board(ability: list[float], se: float = 0.1) -> Posterior:
    """A board of so many chatbots, 'c0' the first, all as uncertain as each other."""
    count = len(ability)
    names = tuple(f"c{m}" for m in range(count))
    return replace(
        POSTERIOR, chatbots=names, ability=np.array(ability), covariance=se**2 * np.eye(count),
        group=np.ones(count, int), chatbot_judgments=np.ones(count, int),
    )  # fmt: skip


ABILITIES = st.lists(st.floats(-3.0, 3.0).map(lambda x: round(x, 3)), min_size=1, max_size=12, unique=True)


@given(ABILITIES, st.integers(1, 5))
def test_bands_are_of_equal_size_and_in_order(ability: list[float], count: int) -> None:
    tiers = np.array(list(place(board(ability), count=count).values()))
    sizes = np.bincount(tiers, minlength=min(count, len(ability)))
    assert sizes.max() - sizes.min() <= 1
    assert (np.diff(tiers[np.argsort(-np.array(ability))]) >= 0).all()


@given(ABILITIES, st.integers(1, 4), st.lists(st.integers(0, 3), min_size=12, max_size=12), st.floats(0.001, 3.0))
def test_the_same_posterior_gives_the_same_tiers_again(
    ability: list[float], count: int, before: list[int], se: float
) -> None:
    posterior = board(ability, se)
    earlier = {name: tier % count for name, tier in zip(posterior.chatbots, before, strict=False)}
    once = place(posterior, count=count, earlier=earlier)
    assert place(posterior, count=count, earlier=once) == once
    assert place(posterior, count=count) == place(posterior, count=count, earlier=place(posterior, count=count))


def test_a_chatbot_stays_until_it_is_clearly_on_the_other_side() -> None:
    earlier = {"c0": 0, "c1": 0, "c2": 1, "c3": 1}
    slightly = [1.0, -0.05, 0.05, -1.0]  # c1 and c2 have changed places, by less than their SEs
    assert place(board(slightly), earlier=earlier) == earlier
    clearly = [1.0, -0.5, 0.5, -1.0]
    assert place(board(clearly), earlier=earlier) == {"c0": 0, "c1": 1, "c2": 0, "c3": 1}


def test_clearly_is_as_probable_as_the_level_says() -> None:
    """The border is 0 and the SE 0.1, so a chatbot at -0.1 is beyond it with P = Phi(1) = .841."""
    posterior = board([1.0, 0.1, -0.1, -1.0])
    assert place(posterior, earlier={"c2": 0}, level=0.85)["c2"] == 0
    assert place(posterior, earlier={"c2": 0}, level=0.83)["c2"] == 1


def test_of_three_tiers_the_border_is_the_one_on_the_way() -> None:
    """Borders at 1 and -1. c3 was in the last tier and stands at -0.95 now: not clearly above -1, but far below 1."""
    posterior = board([2.0, 1.5, 0.5, -0.95, -1.05, -2.0])
    assert place(posterior, count=3, earlier={"c3": 2})["c3"] == 2
    assert place(board([2.0, 1.5, 0.5, -0.5, -1.5, -2.0]), count=3, earlier={"c3": 2})["c3"] == 1


def test_who_has_no_tier_yet_goes_where_it_stands() -> None:
    assert place(board([1.0, 0.9, -1.0, -0.01]), earlier={"c0": 0})["c3"] == 1


def test_more_tiers_than_chatbots_are_one_each() -> None:
    assert place(board([0.0, 1.0]), count=5) == {"c0": 1, "c1": 0}


@pytest.mark.parametrize("change", [{"count": 0}, {"level": 0.4}, {"level": 1.0}, {"earlier": {"c0": 2}}])
def test_tiers_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        place(board([0.0, 1.0]), **change)


def drawn_with_tiers(votes: int = 600) -> ResponseTable:
    """Eight chatbots; half of the prompts tell only the strong four apart, half only the weak four."""
    truth = draw_truth(8, 12, seed=1, form="vote")
    rng, ability = np.random.default_rng(2), np.linspace(2.0, -2.0, 8)
    a, step, prompt = rng.integers(0, 8, votes), rng.integers(1, 8, votes), rng.integers(0, 12, votes)
    b = (a + step) % 8
    strong = (a < 4) & (b < 4)
    steep = np.where((prompt < 6) == strong, 2.5, 0.2)
    edge = steep * (ability[b] - ability[a]) + rng.logistic(size=votes)
    columns = {"a": a, "b": b, "prompt": prompt, "outcome": np.where(edge > 0.0, 1, -1), "label": np.zeros(votes, int)}
    unknown = np.full(votes, -1)
    return ResponseTable(truth.chatbots, truth.prompts, (), annotator=unknown, a_first=unknown, **columns)


@pytest.fixture(scope="module")
def table() -> ResponseTable:
    return drawn_with_tiers()


@pytest.fixture(scope="module")
def found(table: ResponseTable) -> Posterior:
    return estimate(table, tiers=2)


@pytest.fixture(scope="module")
def plain(table: ResponseTable) -> Posterior:
    return estimate(table, tiers=1)


@pytest.mark.full
def test_a_campaigns_fit_places_its_chatbots_and_learns_what_prompts_tell_in_each_tier(
    table: ResponseTable, found: Posterior, plain: Posterior
) -> None:
    assert found.tier.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert plain.tier.size == 0
    of_strong = found.tier_discrimination[:, 0, 0] / found.tier_discrimination[:, 1, 1]
    assert of_strong[:6].min() > of_strong[6:].max()
    assert (found.scales.tier or 0.0) > 0.2
    again = estimate(table, estimate_with_warm_start(table, tiers=2).warm_start, tiers=2)
    assert again.ability == pytest.approx(found.ability, abs=1e-9)


def test_a_tier_has_at_least_three_chatbots(table: ResponseTable) -> None:
    assert estimate(table, tiers=4).tier.max() == 1  # eight chatbots
    few = subset(table, table.chatbots[:5])
    assert estimate(few, tiers=2).tier.size == 0


def test_tiers_of_votes_are_bands_of_ability(table: ResponseTable) -> None:
    assert tiers_of_votes(table, 2) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert tiers_of_votes(table, 4) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_tiers_of_votes_do_not_depend_on_names_and_sides(table: ResponseTable) -> None:
    turned = ResponseTable.from_votes(
        [f"z{7 - b}" for b in table.b],
        [f"z{7 - a}" for a in table.a],
        [str(prompt) for prompt in table.prompt],
        (-table.outcome).tolist(),
    )
    assert tiers_of_votes(turned, 3) == tiers_of_votes(table, 3)[::-1]


def test_equal_chatbots_are_in_one_tier() -> None:
    alike = ResponseTable.from_votes(["a", "b", "c", "a"], ["b", "c", "a", "b"], ["p"] * 4, [0, 0, 0, 0])
    assert len(set(tiers_of_votes(alike, 2))) == 1


def subset(table: ResponseTable, names: Sequence[str]) -> ResponseTable:
    """Keep the votes on these chatbots."""
    kept = [n for n in range(len(table)) if {table.chatbots[table.a[n]], table.chatbots[table.b[n]]} <= set(names)]
    return ResponseTable.from_votes(
        [table.chatbots[table.a[n]] for n in kept],
        [table.chatbots[table.b[n]] for n in kept],
        [table.prompts[table.prompt[n]] for n in kept],
        [int(table.outcome[n]) for n in kept],
    )


@pytest.mark.filterwarnings("ignore::irt_engine.EngineWarning")  # of the first few votes
def test_a_replay_with_tiers_fits_and_plans_by_them(table: ResponseTable) -> None:
    loop = ReplayLoop(table, "adaptive", 1, AdaptiveDesign(tiers=2))
    while len(loop.used) < 120 and loop.collect(60):
        loop.refit()
    assert loop.posterior is not None
    assert loop.posterior.tier.size == 8


def test_plans_ask_pairs_on_the_prompts_that_tell_their_tiers_apart(
    table: ResponseTable, found: Posterior, plain: Posterior
) -> None:
    def share_of_own(posterior: Posterior) -> float:
        state = CampaignState(table.chatbots, table.prompts, posterior)
        asks = [ask for seed in range(4) for ask in plan(state, policy="adaptive", count=24, seed=seed).asks]
        return float(np.mean([(ask.prompt < 6) == (ask.b < 4) for ask in asks if (ask.a < 4) == (ask.b < 4)]))

    assert share_of_own(found) > 0.7
    assert share_of_own(plain) < 0.55


@pytest.mark.parametrize("tiers", [0, 11])
def test_a_design_has_one_to_ten_tiers(tiers: int) -> None:
    with pytest.raises(InvalidRequest, match="tiers"):
        AdaptiveDesign(tiers=tiers)
