"""Comparisons of turns with more than two chatbots: no selection counts twice, and nobody gains by the draw."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.judgments.turn_comparisons import turn_comparisons

CHATBOTS = (3, 5, 8, 11, 12)
PROMPTS = st.integers(1, 10**12)


@given(PROMPTS, st.integers(3, 5), st.sets(st.sampled_from(CHATBOTS)))
def test_outcomes_repeat_the_selection_once(prompt: int, chatbots: int, selected: set[int]) -> None:
    found = turn_comparisons(prompt, CHATBOTS[:chatbots], selected, one_best=False)
    assert len(found) == chatbots // 2
    used = [chatbot for first, second, _ in found for chatbot in (first, second)]
    assert len(set(used)) == len(used)
    assert all(outcome == (second in selected) - (first in selected) for first, second, outcome in found)


@given(PROMPTS, st.sampled_from(CHATBOTS))
def test_best_reply_wins_one_comparison(prompt: int, best: int) -> None:
    ((first, second, outcome),) = turn_comparisons(prompt, CHATBOTS, {best}, one_best=True)
    assert best == {1: second, -1: first}[outcome]


@given(PROMPTS, st.sets(st.sampled_from(CHATBOTS)))
def test_draw_depends_on_the_prompt_alone(prompt: int, selected: set[int]) -> None:
    def pairs(among: set[int]) -> list[tuple[int, int]]:
        return [(first, second) for first, second, _ in turn_comparisons(prompt, CHATBOTS, among, one_best=False)]

    assert pairs(selected) == pairs(set())


def test_all_pairs_are_drawn_alike_often() -> None:
    found = [one[:2] for n in range(4000) for one in turn_comparisons(n, CHATBOTS[:4], set(), one_best=False)]
    drawn = Counter(found)
    assert len(drawn) == 6
    assert min(drawn.values()) > 1200  # of 1,333


@pytest.mark.parametrize("best", CHATBOTS)
def test_best_reply_meets_all_others(best: int) -> None:
    met = {turn_comparisons(prompt, CHATBOTS, {best}, one_best=True)[0][:2] for prompt in range(200)}
    assert {other for pair in met for other in pair} == set(CHATBOTS)


def test_turn_without_a_best_reply_has_ties() -> None:
    assert {outcome for *_, outcome in turn_comparisons(5, CHATBOTS, {None}, one_best=True)} == {0}
