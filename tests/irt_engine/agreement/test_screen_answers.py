"""Screening of annotators who label or rate single items: kappa, its test, and who is excluded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import norm

from irt_engine import InvalidResponses
from irt_engine.agreement import Screening, screen_answers
from irt_engine.agreement.shared_answers import shared_answers, similarities


def crowd(kinds: str, *, items: int = 120, each: int = 80, errors: float = 0.4, seed: int = 1) -> Screening:
    """One annotator a letter on random items of three labels: c careful (right in 8 of 10), r random, u always 0.

    Label 0 is right for all but a share `errors` of the items.
    """
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(items) < errors, rng.integers(1, 3, items), 0)
    rows: list[tuple[int, int, int]] = []
    for who, kind in enumerate(kinds):
        for item in rng.choice(items, size=each, replace=False).tolist():
            right = kind == "c" and rng.random() < 0.8
            guess = 0 if kind == "u" else int(rng.integers(3))
            rows.append((item, who, int(truth[item]) if right else guess))
    item, annotator, answer = zip(*rows, strict=True)
    return screen_answers(item, annotator, answer, choices=3)


def of_two(table: list[list[int]], *, ordinal: bool = False) -> tuple[float, float]:
    """Kappa and p of two annotators from the counts of their pairs of answers."""
    pairs = [(a, b) for a, row in enumerate(table) for b, n in enumerate(row) for _ in range(n)]
    item = np.repeat(np.arange(len(pairs)), 2)
    found = shared_answers(
        item, np.tile([7, 9], len(pairs)), np.array(pairs).ravel(), similarities(len(table), ordinal=ordinal)
    )
    assert found.annotator.tolist() == [7, 9]
    assert found.r[0] == pytest.approx(found.r[1])
    return float(found.r[0]), float(found.p[0])


def test_kappa_of_two_annotators_is_cohens() -> None:
    assert of_two([[20, 5], [10, 15]])[0] == pytest.approx(0.4)  # the example of textbooks
    assert of_two([[45, 15], [25, 15]])[0] == pytest.approx(0.1304, abs=1e-4)


def test_weighted_kappa_counts_squared_distances() -> None:
    table = np.array([[10, 4, 1], [3, 12, 5], [0, 4, 11]])
    distance = (np.arange(3)[:, None] - np.arange(3)) ** 2
    by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    expected = 1 - (distance * table).sum() / (distance * by_chance).sum()
    assert of_two(table.tolist(), ordinal=True)[0] == pytest.approx(expected)


def test_test_is_that_of_all_pairings() -> None:
    mine, others = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 2, 0])
    item, annotator = np.tile(np.arange(6), 2), np.repeat([0, 1], 6)
    found = shared_answers(item, annotator, np.concatenate([mine, others]), similarities(3, ordinal=False))
    agreed = np.array([(mine[list(order)] == others).mean() for order in itertools.permutations(range(6))])
    by_chance = agreed.mean()
    assert found.r[0] == pytest.approx(((mine == others).mean() - by_chance) / (1 - by_chance))
    assert found.p[0] == pytest.approx(norm.sf(((mine == others).mean() - by_chance) / agreed.std()))


def test_random_and_uniform_annotators_are_excluded() -> None:
    assert crowd("ccccccru").excluded == (6, 7)


def test_careful_annotators_are_kept() -> None:
    assert {one.decision for one in crowd("c" * 8).verdicts} == {"keep"}


def test_nobody_is_judged_where_nobody_agrees() -> None:
    assert {one.reason_code for one in crowd("r" * 6).verdicts} == {"no_agreement"}


def test_rare_errors_exclude_no_careful_annotator() -> None:
    lost = [len(crowd("c" * 6, each=40, errors=0.03, seed=seed).excluded) for seed in range(20)]
    assert sum(lost) <= 2  # of 120


def test_items_on_which_all_agree_tell_nothing() -> None:
    rows = [(item, annotator, 0) for annotator in range(3) for item in range(40)]
    found = screen_answers(*zip(*rows, strict=True), choices=2)
    assert found.excluded == ()
    assert {one.statistics.correlation for one in found.verdicts} == {None}


@pytest.mark.parametrize(("answer", "code"), [([0, 2], "bad_answer"), ([0], "bad_length")])
def test_wrong_answers_are_refused(answer: list[int], code: str) -> None:
    with pytest.raises(InvalidResponses) as caught:
        screen_answers([1, 1], [1, 2], answer, choices=2)
    assert caught.value.code == code
