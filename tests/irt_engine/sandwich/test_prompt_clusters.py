"""Bradley-Terry abilities with a sandwich covariance by prompt."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irt_engine import InvalidResponses, NotIdentified, ResponseTable
from irt_engine.sandwich import PromptSandwich, prompt_sandwich
from tests.irt_engine.cast import ladder, rebuilt, rows, small_board


def votes(outcomes: list[int], prompts: list[int]) -> ResponseTable:
    n = len(outcomes)
    return ResponseTable.from_votes(["A"] * n, ["B"] * n, prompts, outcomes)


def difference(found: PromptSandwich) -> tuple[float, float]:
    contrast = np.array([-1.0, 1.0])
    return float(contrast @ found.ability), float(np.sqrt(contrast @ found.covariance @ contrast))


def test_one_vote_per_prompt_has_the_binomial_error() -> None:
    n, wins = 400, 300
    mean, se = difference(prompt_sandwich(votes([1] * wins + [-1] * (n - wins), list(range(n)))))
    assert mean == pytest.approx(np.log(3.0), abs=2e-3)
    assert se == pytest.approx(np.sqrt(1.0 / 300 + 1.0 / 100), rel=0.01)


def test_votes_that_repeat_their_prompt_count_once() -> None:
    outcomes = [1] * 60 + [-1] * 40
    once = prompt_sandwich(votes(outcomes, list(range(100))))
    often = prompt_sandwich(votes(outcomes * 5, list(range(100)) * 5))
    assert difference(often) == pytest.approx(difference(once), rel=1e-6)


def test_ties_lead_to_a_threshold() -> None:
    found = prompt_sandwich(ladder())
    assert found.threshold > 0.0
    assert [found.chatbots[m] for m in np.argsort(found.ability)] == ["bad", "middle", "good"]
    assert found.prompts == 10


@given(st.randoms(use_true_random=False))
def test_exchanging_a_and_b_changes_nothing(random: object) -> None:
    table = small_board()
    turned = np.array([random.random() < 0.5 for _ in range(len(table))])  # type: ignore[attr-defined]
    columns = rows(table)
    columns["a"], columns["b"] = np.where(turned, table.b, table.a), np.where(turned, table.a, table.b)
    columns["outcome"] = np.where(turned, -table.outcome, table.outcome)
    found, again = prompt_sandwich(table), prompt_sandwich(rebuilt(table, columns))
    assert again.ability == pytest.approx(found.ability, abs=1e-12)
    assert again.covariance == pytest.approx(found.covariance, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (votes([1, -1], [1, 1]), "too_few_prompts"),
        (votes([0, 0], [1, 2]), "all_ties"),
        (ResponseTable.from_votes(["A", "C"] * 2, ["B", "D"] * 2, [1, 1, 2, 2], [1, -1, 1, 1]), "separate_groups"),
    ],
)
def test_votes_without_an_answer_are_refused(table: ResponseTable, code: str) -> None:
    with pytest.raises((InvalidResponses, NotIdentified)) as refused:
        prompt_sandwich(table)
    assert refused.value.code == code
