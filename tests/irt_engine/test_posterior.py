"""Posterior: questions about it, and its bytes."""

from __future__ import annotations

import numpy as np
import pytest

from irt_engine import EngineError, InvalidResponses, NotIdentified, Posterior, ResponseTable, fit
from irt_engine.fit import Model
from tests.irt_engine.cast import small_board

BOARD = fit(small_board())


@pytest.mark.parametrize("model", ["pair", "board"])
def test_bytes_round_trip(model: Model) -> None:
    before = fit(small_board(), model)
    after = Posterior.from_bytes(before.to_bytes())
    assert after.to_bytes() == before.to_bytes()
    assert np.array_equal(after.covariance, before.covariance)
    assert after.comparisons == before.comparisons


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"hello", BOARD.to_bytes()[:-40]])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidResponses, match="not a posterior"):
        Posterior.from_bytes(data)


def test_differences_are_antisymmetric_and_their_probabilities_complementary() -> None:
    a, b = BOARD.chatbots[:2]
    there, back = BOARD.difference(a, b), BOARD.difference(b, a)
    assert there.mean == -back.mean
    assert there.se == pytest.approx(back.se)
    assert there.p_better + back.p_better == pytest.approx(1.0)
    assert there.significant == back.significant == (abs(there.mean) > 1.959963984540054 * there.se)


def test_ranks_lie_within_their_bounds() -> None:
    rank, lower, upper = BOARD.rank_bounds().T
    assert sorted(rank.tolist()) == list(range(1, len(rank) + 1))
    assert (lower <= rank).all()
    assert (rank <= upper).all()
    assert np.array_equal(np.argsort(rank), np.argsort(-BOARD.ability))


def test_a_wider_level_gives_wider_intervals_and_bounds() -> None:
    narrow, wide = BOARD.interval(0.5), BOARD.interval(0.99)
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()
    assert (BOARD.rank_bounds(0.99)[:, 1] <= BOARD.rank_bounds(0.5)[:, 1]).all()


def test_abilities_are_centred_and_so_is_their_covariance() -> None:
    assert abs(BOARD.ability.sum()) < 1e-9
    assert np.allclose(BOARD.covariance.sum(axis=0), 0.0, atol=1e-12)


def test_what_cannot_be_compared_is_refused_with_a_code() -> None:
    apart = fit(ResponseTable.from_votes(["a", "c"], ["b", "d"], ["p", "p"], [1, 1]))
    for first, second, code in (
        ("a", "c", "separate_groups"),
        ("a", "a", "self_comparison"),
        ("a", "?", "unknown_chatbot"),
    ):
        with pytest.raises(NotIdentified) as caught:
            apart.difference(first, second)
        assert caught.value.code == code
    with pytest.raises(EngineError, match="level"):
        apart.interval(1.0)


def test_its_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BOARD.ability[0] = 0.0
