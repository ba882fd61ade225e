"""An anchor shifts what is shown, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import EngineError, NotIdentified, Posterior
from tests.irt_engine.posteriors import boards, random_board

APART = random_board(6, 5, group=[1, 2, 1, 2, 1, 3])


@given(boards, st.floats(-100, 100), st.data())
def test_the_anchor_stands_at_its_value_and_no_width_changes(
    board: Posterior, value: float, data: st.DataObject
) -> None:
    chatbot = data.draw(st.sampled_from(board.chatbots))
    shown = board.anchored(chatbot=chatbot, value=value)
    assert shown.ability[board.index(chatbot)] == value
    assert np.array_equal(shown.se, board.se)
    assert np.allclose(np.diff(shown.interval(0.9)), np.diff(board.interval(0.9)), atol=1e-12)
    apart = shown.ability[:, None] - shown.ability[None, :]
    assert np.allclose(apart, board.ability[:, None] - board.ability[None, :], atol=1e-12)


@given(boards, st.floats(-100, 100))
@settings(max_examples=20)
def test_the_mean_may_be_the_anchor(board: Posterior, value: float) -> None:
    assert np.isclose(board.anchored(value=value).ability.mean(), value)


def test_without_arguments_it_shows_the_posterior_as_it_is() -> None:
    assert np.array_equal(APART.anchored().ability, APART.ability)


def test_a_group_without_the_anchor_has_its_mean_at_the_value() -> None:
    shown = APART.anchored(chatbot="bot2", value=1000.0)
    assert shown.ability[2] == 1000.0
    assert shown.ability[APART.group == 2].mean() == pytest.approx(1000.0)
    assert shown.ability[5] == 1000.0
    assert np.array_equal(shown.shift[APART.group == 2], [1000.0, 1000.0])


def test_an_unknown_chatbot_and_an_infinite_value_are_refused() -> None:
    with pytest.raises(NotIdentified) as unknown:
        APART.anchored(chatbot="nobody")
    assert unknown.value.code == "unknown_chatbot"
    for value in (float("nan"), float("inf"), "0", None):
        with pytest.raises(EngineError) as infinite:
            APART.anchored(value=value)  # type: ignore[arg-type]
        assert infinite.value.code == "bad_anchor"


def test_what_is_shown_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        APART.anchored().ability[0] = 1.0
