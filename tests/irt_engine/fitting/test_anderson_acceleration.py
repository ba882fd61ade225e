"""AndersonAccelerator: linear maps end in few rounds, restless ones come to rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irt_engine.fitting.anderson_acceleration import MEMORY, AndersonAccelerator

Map = Callable[[np.ndarray], np.ndarray]


def rounds_of(g: Map, x: np.ndarray, *, mixed: bool, most: int = 400) -> int:
    mixer = AndersonAccelerator(np.ones_like(x))
    for rounds in range(most):
        end = g(x)
        error = float(np.abs(end - x).max())
        if error < 1e-10:
            return rounds
        x = mixer.next(x, end, error) if mixed else end
    return most


def linear(slopes: np.ndarray) -> Map:
    size = len(slopes)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0]
    matrix = turn @ np.diag(slopes) @ turn.T
    return lambda x: matrix @ x


def test_a_linear_map_with_few_slow_directions_ends_in_few_rounds() -> None:
    slopes = np.r_[0.99, 0.97, -0.9, np.full(30, 0.1)]
    x = 0.01 * np.ones(len(slopes))
    assert rounds_of(linear(slopes), x, mixed=True) < 40
    assert rounds_of(linear(slopes), x, mixed=False) == 400


def test_more_rounds_than_are_kept_are_forgotten_in_turn() -> None:
    slopes = np.linspace(0.5, 0.95, 3 * MEMORY)
    x = 0.01 * np.ones(len(slopes))
    assert MEMORY < rounds_of(linear(slopes), x, mixed=True) < rounds_of(linear(slopes), x, mixed=False)


def test_carried_numbers_are_mixed_like_the_others_which_alone_say_how() -> None:
    """A round rests on what the one before carried over, as q rests on what cells said where it began."""
    slopes = np.r_[0.99, 0.97, -0.9, np.full(30, 0.1)]
    turned, size = linear(slopes), len(slopes)

    def rounds(carried: int) -> int:
        mixer, x = AndersonAccelerator(np.ones(2 * size - carried), carried=carried), 0.01 * np.ones(2 * size)
        for count in range(400):
            end = np.r_[turned(x[size:]), x[:size]]
            error = float(np.abs(end - x).max())
            if error < 1e-10:
                assert np.allclose(end, 0.0, atol=1e-7)
                return count
            x = mixer.next(x, end, error)
        return 400

    assert rounds(0) < rounds(size) < 40


def test_of_many_numbers_few_rounds_are_kept_and_mixed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    slopes = np.r_[0.99, np.full(32, 0.1)]
    x = 0.01 * np.ones(len(slopes))
    monkeypatch.setattr("irt_engine.fitting.anderson_acceleration._MOST_NUMBERS", 5 * len(slopes))
    assert AndersonAccelerator(np.ones(len(slopes))).memory == 2
    assert rounds_of(linear(slopes), x, mixed=True) < 40


@pytest.mark.parametrize("slope", [-1.5, -1.0, -4.0])
def test_rounds_that_answer_each_other_back_and_forth_come_to_rest(slope: float) -> None:
    def g(x: np.ndarray) -> np.ndarray:
        return np.asarray(slope * np.tanh(x))

    assert rounds_of(g, np.array([-0.5]), mixed=True) < 100
    assert rounds_of(g, np.array([-0.5]), mixed=False) == 400


def test_after_a_failure_it_goes_on_with_care_and_only_once() -> None:
    mixer = AndersonAccelerator(np.ones(2))
    assert mixer.back() is None
    x, end = np.array([1.0, 2.0]), np.array([2.0, 1.0])
    mixer.next(x, end, 1.0)
    safe = mixer.back()
    assert safe is not None
    assert np.allclose(safe, x + 0.3 * (end - x))
    assert mixer.back() is None


def test_a_move_that_repeats_itself_is_no_division_by_nothing() -> None:
    mixer = AndersonAccelerator(np.ones(2))
    for _ in range(4):
        assert np.isfinite(mixer.next(np.ones(2), np.full(2, 1.001), 1e-3)).all()


def test_forgotten_rounds_of_another_map_leave_no_trace() -> None:
    slopes = np.linspace(0.1, 0.95, 30)
    first, then = linear(slopes), linear(slopes[::-1])

    def end_after(others: int, *, forgotten: bool) -> np.ndarray:
        start = 0.01 * np.random.default_rng(1).standard_normal(len(slopes))
        x, mixer = start, AndersonAccelerator(np.ones(len(slopes)), share=1.0)
        for _ in range(others):
            x = mixer.next(x, first(x), 0.01)
        if forgotten:
            mixer.forget()
        x = start
        for _ in range(5):
            x = mixer.next(x, then(x), 0.01)
        return x

    alone = end_after(0, forgotten=False)
    assert np.array_equal(end_after(4, forgotten=True), alone)
    assert not np.allclose(end_after(4, forgotten=False), alone)
