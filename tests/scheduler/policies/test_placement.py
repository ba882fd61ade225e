"""New entrants: an anchor first, on many prompts; then neighbours; then a chatbot like others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scheduler import AdaptiveDesign, CampaignState, InvalidRequest, NewEntrantTarget, Placement, plan
from scheduler.belief import Belief
from scheduler.policies.placement import anchor_of, newcomers
from scheduler.pool import Pool
from tests.scheduler.cast import POSTERIOR, every_item, items, midway

NEW = 5
WELCOME = Placement(anchor=6, neighbours=8, near=2)
ALWAYS = AdaptiveDesign(floor=0.0, placement=WELCOME, best=1)
NAMES = (*POSTERIOR.chatbots, "zz-new")


def joined(names: tuple[str, ...] = NAMES, **change: Any) -> CampaignState:
    """A chatbot has joined a board that stands: all items of the others are judged, 32 votes each."""
    given: dict[str, Any] = {"posterior": POSTERIOR, "judged": every_item(), "votes_per_item": 2}
    return CampaignState(names, POSTERIOR.prompts, **(given | change))


def belief_of(state: CampaignState) -> Belief:
    return Belief(state, POSTERIOR, Pool(state))


def opponents(asks: Any, newcomer: int = NEW) -> list[int]:
    """Whom the newcomer meets, ask by ask."""
    return [ask.a if ask.b == newcomer else ask.b for ask in asks if newcomer in (ask.a, ask.b)]


def test_it_meets_the_anchor_on_many_prompts_and_then_its_neighbours() -> None:
    made = plan(joined(), policy="adaptive", count=20, seed=1, design=ALWAYS)
    anchor = anchor_of(belief_of(joined()), np.arange(5))
    met = opponents(made.asks)
    assert met[:6] == [anchor] * 6
    assert len({ask.prompt for ask in made.asks[:6]}) == 6
    assert [ask.probability for ask in made.asks[:2]] == [1 / 8, 1 / 7]  # any prompt, none twice
    place = np.argsort(np.abs(POSTERIOR.ability - 0.0), kind="stable")  # unseen, it stands at the board's mean
    assert set(met[6:14]) <= set(place[:2].tolist())
    assert "zz-new placed first" in str(made.reason)


def test_after_its_votes_it_is_a_chatbot_like_others() -> None:
    votes = np.array([[m % 5, NEW, m % 8] for m in range(14)])
    state = joined(judged=np.concatenate([every_item(), votes]))
    assert len(newcomers(state, Pool(state), WELCOME)) == 0
    assert "placed first" not in str(plan(state, policy="adaptive", count=5, seed=1, design=ALWAYS).reason)


def test_votes_on_their_way_count() -> None:
    votes = np.array([[0, NEW, j] for j in range(6)])
    met = opponents(plan(joined(pending=votes), policy="adaptive", count=4, seed=1, design=ALWAYS).asks)
    nearest = np.argsort(np.abs(POSTERIOR.ability - belief_of(joined(pending=votes)).mean[NEW]), kind="stable")[:2]
    assert set(met) <= set(nearest.tolist())


def test_the_neighbours_are_those_of_where_it_stands_by_then() -> None:
    weakest = int(POSTERIOR.ability.argmin())
    mean = np.append(POSTERIOR.ability, POSTERIOR.ability.min())
    covariance = np.zeros((6, 6))
    covariance[:5, :5], covariance[5, 5] = POSTERIOR.covariance, 0.3
    known = replace(
        POSTERIOR, chatbots=NAMES, ability=mean, covariance=covariance,
        group=np.ones(6, int), chatbot_judgments=np.append(POSTERIOR.chatbot_judgments, 6),
        reply=np.empty((0, 0)), reply_se=np.empty((0, 0)),
    )  # fmt: skip
    votes = np.array([[0, NEW, j] for j in range(6)])
    state = joined(posterior=known, judged=np.concatenate([every_item(), votes]))
    met = opponents(plan(state, policy="adaptive", count=8, seed=1, design=ALWAYS).asks)
    nearest = np.argsort(POSTERIOR.ability, kind="stable")[:2].tolist()
    assert weakest in met
    assert set(met) <= set(nearest), "it has had its meetings with the anchor, which is neither of these"
    assert anchor_of(Belief(state, known, Pool(state)), np.arange(5)) not in nearest


def test_several_newcomers_take_turns() -> None:
    state = joined((*NAMES, "zz-too"))
    asks = plan(state, policy="adaptive", count=28, seed=1, design=ALWAYS).asks
    assert Counter(m for ask in asks for m in (ask.a, ask.b) if m >= NEW) == {5: 14, 6: 14}


def test_a_newcomer_that_cannot_be_asked_about_does_not_keep_the_next_one_waiting() -> None:
    closed = np.array([[m, NEW, j] for m in range(5) for j in range(8)])
    votes = np.array([[m, NEW + 1, 0] for m in range(5)] + [[NEW, NEW + 1, 0]])
    state = joined((*NAMES, "zz-too"), closed=closed, judged=np.concatenate([every_item(), votes]))
    asks = plan(state, policy="adaptive", count=6, seed=1, design=ALWAYS).asks
    assert all(NEW + 1 in (ask.a, ask.b) and NEW not in (ask.a, ask.b) for ask in asks)


def test_the_floor_still_looks_at_the_others() -> None:
    """A newcomer that has met everybody once: nothing joins separate parts, and a third of the draws are as usual."""
    votes = np.array([[m, NEW, m] for m in range(5)])
    state = joined(judged=np.concatenate([every_item(), votes]))
    design = replace(ALWAYS, floor=0.9)
    asks = plan(state, policy="adaptive", count=8, seed=1, design=design).asks  # it wants nine more
    assert any(NEW not in (ask.a, ask.b) for ask in asks)


def test_while_everybody_is_new_nobody_is() -> None:
    state = midway(judged=every_item()[:10])
    low = replace(POSTERIOR, chatbot_judgments=np.full(5, 4))
    assert len(newcomers(replace(state, posterior=low), Pool(state), WELCOME)) == 0
    assert len(newcomers(joined(posterior=None), Pool(joined()), WELCOME)) == 0


def test_votes_that_the_board_has_from_elsewhere_count() -> None:
    """The board may rank several campaigns: who is known there is not new here."""
    state = midway(judged=np.empty((0, 3)), chatbots=(*POSTERIOR.chatbots, "zz-new"))
    many = replace(POSTERIOR, chatbot_judgments=np.full(5, 100))
    assert newcomers(replace(state, posterior=many), Pool(state), WELCOME).tolist() == [NEW]


def test_the_target_new_entrant_is_placed_however_few_votes_the_others_have() -> None:
    state = midway(votes_per_item=3)
    design = AdaptiveDesign(
        target=NewEntrantTarget(2), placement=Placement(anchor=30, neighbours=10), floor=0.0, cap=1.0
    )
    assert len(newcomers(state, Pool(state), design.placement or WELCOME)) == 0
    met = plan(state, policy="adaptive", count=4, seed=1, design=design).asks
    assert all(2 in (ask.a, ask.b) for ask in met)
    assert len(set(opponents(met, newcomer=2))) == 1


def test_the_anchor_is_well_measured_and_near_the_middle() -> None:
    belief = belief_of(joined())
    belief.mean = np.array([-0.2, 0.1, 2.0, -2.0, 0.05, 9.0])
    belief.covariance = np.diag([0.01, 0.01, 0.01, 0.02, 0.5, 1.0])
    assert anchor_of(belief, np.arange(5)) == 1  # the median is 0.05; chatbot 4 stands there, but hardly known


def test_where_the_anchor_cannot_be_met_neighbours_come_at_once() -> None:
    anchor = anchor_of(belief_of(joined()), np.arange(5))
    closed = np.array([[anchor, NEW, j] for j in range(8)])
    met = opponents(plan(joined(closed=closed), policy="adaptive", count=6, seed=1, design=ALWAYS).asks)
    assert len(met) == 6
    assert anchor not in met


def test_a_pair_keeps_its_cap_while_a_newcomer_is_placed() -> None:
    state = joined(votes_per_pair=3)
    met = opponents(plan(state, policy="adaptive", count=14, seed=1, design=ALWAYS).asks)
    assert max(Counter(met).values()) == 3


def test_without_a_welcome_nobody_is_placed() -> None:
    made = plan(joined(), policy="adaptive", count=5, seed=1, design=replace(ALWAYS, placement=None))
    assert "placed first" not in str(made.reason)


def test_no_item_is_asked_beyond_its_votes() -> None:
    votes = Counter(items(plan(joined(votes_per_item=1), policy="adaptive", count=100, seed=1, design=ALWAYS).asks))
    assert len(votes) == 40
    assert set(votes.values()) == {1}


@pytest.mark.parametrize("change", [{"anchor": -1}, {"neighbours": -1}, {"near": 0}])
def test_a_welcome_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        Placement(**change)
