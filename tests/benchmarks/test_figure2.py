"""The figure's benchmark at toy size: that it learns without the one left out, orders rightly, and can fail."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from irt_engine.arrays import FloatArray
from irt_engine.models.graded_response import category_probabilities
from irt_engine.models.priors import DEFAULT_PRIORS
from tests.benchmarks import curves, figure2

COMPARISONS, PROMPTS = 10, 30


def toy() -> figure2.Ratings:
    """Net ratings of comparisons spread over -2..2; the last third of the prompts tells four times as much."""
    rng = np.random.default_rng(3)
    slope = np.where(np.arange(PROMPTS) < 20, 0.6, 2.4)
    steps = np.tile(np.linspace(-1.5, 1.5, 6), (PROMPTS, 1))
    p = category_probabilities(np.linspace(-2.0, 2.0, COMPARISONS)[:, None], slope[None, :], steps[None, :, :])
    net = (rng.random((COMPARISONS, PROMPTS, 1)) > np.cumsum(p, axis=-1)).sum(axis=-1) - 3
    return figure2.Ratings(tuple(f"c{k}" for k in range(COMPARISONS)), net, np.ones(net.shape, bool))


@pytest.fixture(scope="module")
def found() -> dict[str, FloatArray]:
    return figure2.curves_of(toy(), COMPARISONS)


def test_a_net_rating_is_that_of_three_votes() -> None:
    ratings = figure2.Ratings(("x",), np.array([[3, -2, 0, 1]]), np.array([[True, True, False, True]]))
    votes = ratings.responses(np.array([0]))
    assert votes.prompt.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert votes.outcome.tolist() == [1, 1, 1, -1, -1, 0, 1, 0, 0]


@pytest.mark.full
def test_all_ways_end_at_the_same_se_and_none_begins_there(found: dict[str, FloatArray]) -> None:
    assert set(found) == set(figure2.WAYS)
    for se in found.values():
        assert se[:, -1] == pytest.approx(found["at random"][:, -1])
        assert (se[:, 9] > se[:, -1]).all()


def test_prompts_that_tell_more_come_first_and_tell_more_than_others(found: dict[str, FloatArray]) -> None:
    assert len(figure2.WAYS) > 2
    for way in figure2.WAYS[1:]:
        assert found[way][:, 32].mean() < 0.9 * found["at random"][:, 32].mean()


def test_no_way_leaves_less_than_the_oracle_that_knows_where_it_ends(found: dict[str, FloatArray]) -> None:
    assert figure2.WAYS[-1] == figure2.ORACLE
    for way in figure2.WAYS[:-1]:
        assert found[figure2.ORACLE][:, 32].mean() < 1.01 * found[way][:, 32].mean()


def test_where_a_fit_begins_changes_nothing() -> None:
    ratings, others = toy(), np.arange(1, COMPARISONS)
    near = figure2.Near.of(ratings, DEFAULT_PRIORS)
    cold, warm = (figure2.Learned.of(ratings, others, DEFAULT_PRIORS, start) for start in (None, near))
    for one, other in ((cold.every, warm.every), (cold.lower, warm.lower), (cold.upper, warm.upper)):
        assert one.discrimination == pytest.approx(other.discrimination, rel=1e-6)


def test_what_is_left_out_teaches_nothing_about_prompts() -> None:
    ratings = toy()
    others = np.arange(1, COMPARISONS)
    turned = ratings.net.copy()
    turned[0] = -turned[0]
    one, other = (
        figure2.Learned.of(figure2.Ratings(ratings.names, net, ratings.known), others).every
        for net in (ratings.net, turned)
    )
    assert one.discrimination.tolist() == other.discrimination.tolist()


def test_the_posterior_of_no_ratings_is_the_prior() -> None:
    assert figure2.spread(figure2.posterior_on_grid(np.zeros(481))) == pytest.approx(2.0, abs=1e-3)


def test_targets_are_met_or_missed_by_what_was_measured() -> None:
    full, better = np.full((6, 100), 0.3), np.full((6, 100), 0.3)
    full[:, :99], better[:, :99] = 0.4, 0.31
    made = dict.fromkeys(figure2.WAYS[1:], better) | {"at random": full}
    assert {c.passed for c in figure2.checks_of("ChatEval", made)} == {True, None}
    assert {c.passed for c in figure2.checks_of("AlpacaEval", made)} == {True, None}
    bound = made | dict.fromkeys(figure2.WAYS[1:-1], full)
    assert True not in {c.passed for c in figure2.checks_of("ChatEval", bound)}, "an oracle meets no target"
    worse = dict.fromkeys(figure2.WAYS, full)
    assert {c.passed for c in figure2.checks_of("ChatEval", worse)} == {False, None}
    assert {c.passed for c in figure2.checks_of("AlpacaEval", worse)} == {False, None}


def test_a_drawing_is_svg_with_a_named_line_for_every_curve() -> None:
    made = curves.drawing("A < B", "x", "y", [curves.Curve(n, [0.0, 50.0, 100.0], [0.9, 0.5, 0.4]) for n in ("p", "q")])
    root = ElementTree.fromstring(made)  # noqa: S314  our own
    words = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"A < B", "p", "q", "x", "y", "100"} <= words
    paths = [e.get("d", "") for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("fill") == "none"]
    assert [path.count("L") for path in paths] == [2, 2]
