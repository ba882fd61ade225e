"""Redundant prompts: copies are found and made one item; neither chance nor ability groups anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irt_engine import InvalidResponses, ResponseTable
from irt_engine.agreement.prompt_redundancy import merge_prompts, redundant_prompts
from irt_engine.responses.cells import compare
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from tests.irt_engine.cast import rebuilt, rows, small_board

COPIES = [(0, 30), (0, 31), (5, 36)]


def all_against_all(
    chatbots: int, prompts: int, *, seed: int, copies: Sequence[tuple[int, int]] = (), ability: float = 1.0
) -> ResponseTable:
    """Three votes on every cell; a cell has a quality of its own (SD 2), which the second of `copies` shares."""
    rng = np.random.default_rng(seed)
    low, high = np.triu_indices(chatbots, 1)
    strength, slope = ability * rng.standard_normal(chatbots), np.exp(0.5 * rng.standard_normal(prompts))
    own = 2.0 * rng.standard_normal((len(low), prompts))
    for first, second in copies:
        own[:, second], slope[second] = own[:, first], slope[first]
    theta = np.repeat(((strength[high] - strength[low])[:, None] * slope + own).ravel(), 3)
    heard = theta + rng.logistic(size=theta.shape)
    c, j = (np.repeat(index.ravel(), 3) for index in np.indices((len(low), prompts)))
    unknown = np.full(len(c), -1)
    names = tuple(f"b{i:02d}" for i in range(chatbots)), tuple(f"p{i:02d}" for i in range(prompts))
    outcome = np.where(heard > 0.5, 1, np.where(heard < -0.5, -1, 0))
    return ResponseTable(*names, (), low[c], high[c], j, outcome, unknown, unknown, np.zeros_like(c))


def test_copies_are_found_and_joined_into_groups() -> None:
    found = redundant_prompts(all_against_all(16, 60, seed=1, copies=COPIES))
    assert found.groups == (("p00", "p30", "p31"), ("p05", "p36"))
    assert {(p.first, p.second) for p in found.pairs} == {
        ("p00", "p30"),
        ("p00", "p31"),
        ("p30", "p31"),
        ("p05", "p36"),
    }
    assert all(p.correlation > 0.6 and p.overlap == 120 and p.p_value < 1e-5 for p in found.pairs)
    assert found.tested == 60 * 59 // 2


@pytest.mark.parametrize(("chatbots", "prompts", "ability"), [(7, 100, 0.0), (10, 80, 3.0), (20, 40, 2.0)])
def test_neither_chance_nor_ability_groups_prompts(chatbots: int, prompts: int, ability: float) -> None:
    """Under no redundancy a bound of 5 % on the share of false pairs is one on the chance of any: 2 of 20 at most
    happens with probability .92 at the bound itself."""
    tables = [all_against_all(chatbots, prompts, seed=seed, ability=ability) for seed in range(20)]
    assert sum(redundant_prompts(table, threshold=-0.9).pairs != () for table in tables) <= 2


def test_replies_that_many_comparisons_share_group_nothing_by_chance() -> None:
    """Twenty replies to a prompt make 190 comparisons, which are not 190 independent facts."""
    truths = [draw_truth(20, 40, seed=seed, reply_sd=1.2) for seed in range(10)]
    tables = [draw_votes(truth, all_cells(20, 40), seed=seed, votes=3) for seed, truth in enumerate(truths)]
    assert sum(redundant_prompts(table).pairs != () for table in tables) <= 2


def test_ability_alone_makes_the_papers_correlation_large() -> None:
    """Why the correlation alone does not do: with these abilities hundreds of unrelated pairs are above .6."""
    table = all_against_all(10, 40, seed=3, ability=6.0)
    net = np.zeros((45, 40))
    np.add.at(net, (compare(table)[1], table.prompt), table.outcome)
    size = np.sqrt((net**2).sum(axis=0))
    assert (np.triu(net.T @ net / np.outer(size, size), 1) > 0.6).sum() > 200
    assert redundant_prompts(table).pairs == ()


def test_the_correlation_is_that_of_net_ratings_about_zero() -> None:
    table = all_against_all(16, 40, seed=1, copies=COPIES)
    pair = redundant_prompts(table).pairs[0]
    columns = []
    for name in (pair.first, pair.second):
        net = np.zeros(120)
        np.add.at(net, compare(table)[1][table.prompt == table.prompts.index(name)], table.outcome[table.prompt == table.prompts.index(name)])  # fmt: skip  # noqa: E501
        columns.append(np.concatenate([net, -net]))
    assert np.isclose(pair.correlation, np.corrcoef(columns)[0, 1])


def test_sparse_and_dense_products_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    table = all_against_all(16, 40, seed=1, copies=COPIES)
    dense = redundant_prompts(table)
    monkeypatch.setattr("irt_engine.agreement.prompt_redundancy._DENSE", 2.0)
    monkeypatch.setattr("irt_engine.agreement.prompt_redundancy._BLOCK", 7)
    sparse = redundant_prompts(table)
    assert sparse.groups == dense.groups
    assert sparse.tested == dense.tested
    assert np.allclose([p.p_value for p in sparse.pairs], [p.p_value for p in dense.pairs], rtol=1e-6)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_order_and_orientation_of_rows_do_not_matter(seed: int) -> None:
    table = all_against_all(12, 36 + 1, seed=1, copies=COPIES)
    rng = np.random.default_rng(seed)
    order, turn = rng.permutation(len(table)), rng.random(len(table)) < 0.5
    columns = {name: column[order] for name, column in rows(table).items()}
    columns["a"], columns["b"] = (
        np.where(turn, columns["b"], columns["a"]),
        np.where(turn, columns["a"], columns["b"]),
    )
    columns["outcome"] = np.where(turn, -columns["outcome"], columns["outcome"])
    assert redundant_prompts(rebuilt(table, columns)) == redundant_prompts(table)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_renaming_chatbots_changes_nothing(seed: int) -> None:
    table = all_against_all(12, 37, seed=1, copies=COPIES)
    new = np.random.default_rng(seed).permutation(12)
    columns = rows(table)
    columns["a"], columns["b"] = new[columns["a"]], new[columns["b"]]
    one, other = redundant_prompts(table), redundant_prompts(rebuilt(table, columns))
    assert one.groups == other.groups
    assert np.allclose([p.correlation for p in one.pairs], [p.correlation for p in other.pairs])


def test_without_the_overlap_nothing_is_tested() -> None:
    table = all_against_all(4, 10, seed=1, copies=[(0, 1)])
    assert redundant_prompts(table, min_overlap=7) == redundant_prompts(table, min_overlap=100)
    assert redundant_prompts(table, min_overlap=7).tested == 0


def test_constant_votes_group_nothing() -> None:
    for outcome in (-1, 0, 1):
        table = all_against_all(12, 10, seed=1)
        columns = rows(table) | {"outcome": np.full(len(table), outcome)}
        assert redundant_prompts(rebuilt(table, columns), threshold=-0.9).pairs == ()


def test_one_vote_and_unused_prompts_are_no_trouble() -> None:
    one = ResponseTable.from_votes(["a"], ["b"], ["p"], [1])
    assert redundant_prompts(one).tested == 0
    table = all_against_all(16, 40, seed=1, copies=COPIES)
    wider = ResponseTable(table.chatbots, (*table.prompts, "never asked"), (), **rows(table))
    assert redundant_prompts(wider) == redundant_prompts(table)


@pytest.mark.parametrize("bad", [{"threshold": 1.0}, {"alpha": 0.0}, {"min_overlap": 1}, {"threshold": float("nan")}])
def test_it_refuses_limits_that_make_no_test(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidResponses) as caught:
        redundant_prompts(small_board(), **bad)  # type: ignore[arg-type]
    assert caught.value.code == "bad_threshold"


def test_a_merged_group_has_the_average_of_its_net_ratings() -> None:
    table = ResponseTable.from_votes(
        ["x"] * 9, ["y"] * 9, ["p", "p", "p", "q", "q", "q", "r", "r", "r"], [1, 1, 1, -1, 0, 0, 1, 0, 0]
    )
    merged = merge_prompts(table, [["q", "p"]])
    assert merged.prompts == ("p", "r")
    net = [merged.outcome[merged.prompt == j].sum() / (merged.prompt == j).sum() for j in (0, 1)]
    assert np.allclose(3.0 * np.array(net), [(3 - 1) / 2, 1])


def test_merging_keeps_every_vote_and_nothing_is_nothing() -> None:
    table = small_board()
    merged = merge_prompts(table, [table.prompts[:3], table.prompts[5:7]])
    assert len(merged) == len(table)
    assert np.array_equal(merged.outcome, table.outcome)
    assert len(merged.prompts) == len(table.prompts) - 3
    same = merge_prompts(table, [])
    assert same.prompts == table.prompts
    assert np.array_equal(same.prompt, table.prompt)


def test_merging_refuses_unknown_prompts_and_overlapping_groups() -> None:
    table = small_board()
    first, second = table.prompts[:2]
    for groups, code in (([["nobody", first]], "unknown_prompt"), ([[first, second], [second]], "two_groups")):
        with pytest.raises(InvalidResponses) as caught:
            merge_prompts(table, groups)
        assert caught.value.code == code


def test_after_merging_nothing_is_redundant() -> None:
    table = all_against_all(16, 60, seed=1, copies=COPIES)
    assert redundant_prompts(merge_prompts(table, redundant_prompts(table).groups)).pairs == ()
