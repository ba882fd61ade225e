"""replay: the closed loop uses recorded votes, each once, and measures itself against the truth."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine.truth import draw_truth
from scheduler import ALL_POLICIES, InvalidRequest
from scheduler.estimator import estimate
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.replay import ReplayLoop, replay, rows_of, simulated_votes
from scheduler.replay_measures import point_of, reference_of, reference_of_truth
from tests.irt_engine.posteriors import made_up

TRUTH = draw_truth(4, 6, seed=1, form="vote")
TABLE = simulated_votes(TRUTH, seed=2)
REFERENCE = reference_of(estimate(TABLE))


@pytest.mark.parametrize("policy", sorted(ALL_POLICIES))
def test_every_policy_is_replayed_with_the_same_votes_for_the_same_seed(policy: str) -> None:
    one, again = (list(replay(TABLE, REFERENCE, policy=policy, budget=24, every=12, seed=5)) for _ in range(2))
    assert one == again
    assert [point.votes for point in one] == [12, 24]


@pytest.mark.parametrize("policy", sorted(ALL_POLICIES))
def test_no_vote_is_used_twice_and_each_is_of_the_item_that_was_asked(policy: str) -> None:
    loop = ReplayLoop(TABLE, policy, 1, DEFAULT_DESIGN)
    while loop.collect(50):
        loop.refit()
    assert sorted(loop.used) == list(range(len(TABLE)))  # all were recorded three times, so all can be used


def test_all_votes_are_the_reference_itself() -> None:
    point = point_of(estimate(TABLE), REFERENCE)
    assert (point.rmse, point.decided, point.wrong, point.coverage) == (0.0, 1.0, 0.0, 1.0)
    assert point.tau == 1.0


def test_what_is_separated_the_wrong_way_is_counted_as_wrong() -> None:
    turned = rows_of(TABLE, np.arange(len(TABLE)))
    object.__setattr__(turned, "outcome", -turned.outcome)
    point = point_of(estimate(turned), REFERENCE)
    assert point.decided == 0.0
    assert point.wrong == 1.0
    assert point.tau == -1.0


def test_equals_have_no_order_to_agree_with() -> None:
    equals = reference_of(made_up([0.0, 1e-13, -1e-13], 0.01 * np.eye(3)))
    assert equals.sign.tolist() == [0.0, 0.0, 0.0]
    ordered = made_up([0.0, 1.0, 2.0], 0.01 * np.eye(3))
    assert point_of(ordered, equals).tau == 0.0
    assert point_of(made_up([0.0, 1e-13, 2.0], 0.01 * np.eye(3)), reference_of(ordered)).tau == pytest.approx(2 / 3)


def test_abilities_are_compared_on_one_scale() -> None:
    """A truth whose prompts all discriminate twice as well, and whose abilities are half as far apart, is the same."""
    from dataclasses import replace

    same = replace(
        TRUTH,
        ability=TRUTH.ability / 2.0,
        discrimination=2.0 * TRUTH.discrimination,
        thresholds=TRUTH.thresholds / 2.0,
    )
    assert reference_of_truth(same).ability == pytest.approx(reference_of_truth(TRUTH).ability)


def test_the_paper_has_three_votes_of_each_item() -> None:
    loop = ReplayLoop(TABLE, "paper", 1, DEFAULT_DESIGN)
    loop.collect(18)
    prompts = TABLE.prompt[loop.used]
    assert len(set(prompts.tolist())) == 1
    assert len(np.unique(loop.items[loop.used], axis=0)) == 6


@pytest.mark.parametrize(
    "change", [{"policy": "best"}, {"budget": 0}, {"every": 0}, {"seed": -1}], ids=lambda change: next(iter(change))
)
def test_bad_requests_are_refused(change: dict[str, object]) -> None:
    arguments = {"policy": "random", "budget": 10, "every": 5, "seed": 0} | change
    with pytest.raises(InvalidRequest):
        replay(TABLE, REFERENCE, **arguments)  # type: ignore[arg-type]
