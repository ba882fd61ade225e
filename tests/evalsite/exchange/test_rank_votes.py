"""rank_votes and its presenters: what a ranking says, and in which form."""

import csv
import io
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from evalsite.exchange.file_ranking import (
    ChatbotRow,
    FitRow,
    Form,
    PairRow,
    PromptSummary,
    Ranking,
    Unit,
    finite_or_none,
    rank_votes,
)
from evalsite.exchange.presenters import as_csv, as_json
from evalsite.exchange.text_tables import ASCII, as_table
from evalsite.exchange.vote_file import Votes, read_votes
from irt_engine.errors import EngineWarning
from scheduler.estimator import estimate_with_warm_start

Write = Callable[..., Path]

HEAD = "system_a,system_b,prompt_id,annotator_id,outcome,category\n"
KEYS = {
    "chatbots": "name ability se lower upper rank rank_lower rank_upper judgments group",
    "pairs": "a b by delta se p_better significant judgments",
    "prompts": "id discrimination se thresholds",
}


def lines(a: str, b: str, wins_b: int, ties: int, wins_a: int, *, label: str = "one") -> str:
    outcomes = [1] * wins_b + [0] * ties + [-1] * wins_a
    return "".join(f"{a},{b},p{i % 10},w{i},{outcome},{label}\n" for i, outcome in enumerate(outcomes))


@pytest.fixture
def ladder(write: Write) -> Path:
    """good > middle > bad; the pair of the best and the worst stands in the file with the best second."""
    return write(
        HEAD + lines("middle", "good", 30, 5, 5) + lines("bad", "good", 36, 2, 2) + lines("middle", "bad", 5, 5, 30)
    )


@pytest.fixture
def two_islands(write: Write) -> Path:
    return write(HEAD + lines("a", "b", 30, 2, 8) + lines("b", "c", 10, 9, 11) + lines("x", "y", 3, 2, 25))


def shape(document: Any) -> Any:
    """The types of a JSON document, lists by their first element."""
    if isinstance(document, dict):
        return {key: shape(value) for key, value in document.items()}
    if isinstance(document, list):
        return [shape(document[0])] if document else []
    return type(document).__name__


@pytest.mark.parametrize("model", ["board", "pair"])
@pytest.mark.parametrize("by", [None, "category"])
def test_the_json_has_exactly_the_promised_keys_and_types(ladder: Path, model: Any, by: str | None) -> None:
    document = json.loads(as_json(rank_votes(read_votes(ladder, by=by), model=model)))
    chatbot = dict.fromkeys(["ability", "se", "lower", "upper"], "float") | {"name": "str"}
    chatbot |= dict.fromkeys(["rank", "rank_lower", "rank_upper", "judgments", "group"], "int")
    pair = dict.fromkeys(["delta", "se", "p_better"], "float") | {"a": "str", "b": "str", "judgments": "int"}
    pair |= {"by": "str" if by else "NoneType", "significant": "bool"}
    assert all(isinstance(warning, str) for warning in document["warnings"])
    assert shape(document | {"warnings": []}) == {
        "model": "str",
        "chatbots": [chatbot] if model == "board" else [],
        "pairs": [pair],
        "prompts": [{"id": "str", "discrimination": "float", "se": "float", "thresholds": ["float"]}],
        "fit": {"seconds": "float", "converged": "bool", "judgments": "int", "cells": "int"},
        "warnings": [],
    }
    assert list(document) == ["model", "chatbots", "pairs", "prompts", "fit", "warnings"]
    for part, keys in KEYS.items():
        assert all(list(row) == keys.split() for row in document[part])
    assert document["model"] == model
    assert len(document["prompts"]) == 10
    thresholds = {"board": 2, "pair": 6}[model]  # of votes, and of net ratings
    assert all(len(prompt["thresholds"]) == thresholds for prompt in document["prompts"])
    assert (document["fit"]["judgments"], document["fit"]["cells"]) == (120, 30)


def test_a_board_is_sorted_by_rank_with_bounds_and_intervals_that_hold_the_ability(ladder: Path) -> None:
    ranking = rank_votes(read_votes(ladder))
    assert [row.name for row in ranking.chatbots] == ["good", "middle", "bad"]
    assert [row.rank for row in ranking.chatbots] == [1, 2, 3]
    assert [row.judgments for row in ranking.chatbots] == [80, 80, 80]
    for row in ranking.chatbots:
        assert row.lower is not None
        assert row.ability is not None
        assert row.upper is not None
        assert row.lower < row.ability < row.upper
        assert row.rank_lower <= row.rank <= row.rank_upper


@pytest.mark.parametrize("model", ["board", "pair"])
def test_a_pair_keeps_the_files_orientation_and_positive_means_b_is_better(ladder: Path, model: Any) -> None:
    pairs = {(row.a, row.b): row for row in rank_votes(read_votes(ladder), model=model).pairs}
    assert set(pairs) == {("middle", "good"), ("bad", "good"), ("middle", "bad")}
    best, worst = pairs["bad", "good"], pairs["middle", "bad"]
    assert (best.delta or 0) > 0 > (worst.delta or 0)
    assert best.significant
    assert worst.significant
    assert (best.p_better or 0) > 0.99
    assert (worst.p_better or 1) < 0.01


def test_significant_says_that_the_interval_excludes_zero(write: Write) -> None:
    path = write(HEAD + lines("a", "b", 12, 2, 8) + lines("b", "c", 30, 1, 2) + lines("a", "d", 10, 3, 10))
    pairs = rank_votes(read_votes(path), model="pair").pairs
    assert {row.significant for row in pairs} == {True, False}
    for row in pairs:
        assert row.delta is not None
        assert row.se is not None
        assert row.significant == (abs(row.delta) > 1.959963984540054 * row.se)


def test_by_makes_one_pair_for_each_value_while_the_abilities_stay_common(write: Write) -> None:
    path = write(HEAD + lines("a", "b", 25, 3, 2, label="one") + lines("b", "a", 12, 3, 15, label="two"))
    board = rank_votes(read_votes(path, by="category"))
    assert [(row.a, row.b, row.by, row.judgments) for row in board.pairs] == [
        ("a", "b", "one", 30),
        ("b", "a", "two", 30),
    ]
    assert [row.name for row in board.chatbots] == ["b", "a"]
    pair = rank_votes(read_votes(path, by="category"), model="pair")
    assert pair.chatbots == ()
    assert [row.by for row in pair.pairs] == ["one", "two"]
    assert [row.by for row in rank_votes(read_votes(path)).pairs] == [None]


def test_separate_parts_are_ranked_separately_with_a_warning_that_names_them(two_islands: Path) -> None:
    ranking = rank_votes(read_votes(two_islands))
    assert {row.name: row.group for row in ranking.chatbots} == {"a": 1, "b": 1, "c": 1, "x": 2, "y": 2}
    assert [(row.name, row.rank) for row in ranking.chatbots if row.group == 2] == [("x", 1), ("y", 2)]
    (warning,) = ranking.warnings
    assert "2 separate parts" in warning
    assert "group 2: 'x', 'y'" in warning


def test_what_the_file_makes_doubtful_is_among_the_warnings(write: Write) -> None:
    row = "a,b,p,w,1,one\n"
    ranking = rank_votes(read_votes(write(HEAD + row * 3 + "b,a,q,w,1,one\n")))
    assert ranking.warnings[0] == (
        "2 votes repeat an earlier one: same annotator, chatbots and prompt. Repeats are kept and counted."
    )
    assert ranking.fit.judgments == 4


def test_few_votes_and_votes_that_are_all_ties_are_among_the_warnings(write: Write) -> None:
    few = rank_votes(read_votes(write(HEAD + lines("a", "b", 8, 2, 2) + "a,c,p,w,1,one\n"))).warnings
    assert few == (
        "Fewer than 10 votes are on 'c': their intervals rest mostly on the prior. Collect more votes on them.",
    )
    (ties,) = rank_votes(read_votes(write(HEAD + lines("a", "b", 0, 12, 0), name="ties"))).warnings
    assert ties == "All votes are ties: nothing distinguishes the chatbots."


def test_the_order_of_the_rows_does_not_matter(ladder: Path, write: Write) -> None:
    head, *body = ladder.read_text().splitlines(keepends=True)
    turned = write(head + "".join(reversed(body)), name="turned")
    first, second = rank_votes(read_votes(ladder)), rank_votes(read_votes(turned))
    assert len(first.chatbots) > 1
    for one, other in zip(first.chatbots, second.chatbots, strict=True):
        assert one.name == other.name
        assert one.ability == pytest.approx(other.ability, abs=1e-6)


def test_form_and_unit_change_numbers_but_not_the_order(ladder: Path) -> None:
    votes = read_votes(ladder)
    boards = [rank_votes(votes, form=form, unit=unit) for form in get_args(Form) for unit in get_args(Unit)]
    assert len({board.chatbots[0].ability for board in boards}) == 4
    assert {tuple(row.name for row in board.chatbots) for board in boards} == {("good", "middle", "bad")}
    assert boards[0] == replace(rank_votes(votes), fit=boards[0].fit)


def test_the_engines_warnings_and_a_fit_that_did_not_converge_are_told(
    ladder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubtful(*args: Any, **options: Any) -> Any:
        warnings.warn("one prompt carries everything", EngineWarning, stacklevel=1)
        found = estimate_with_warm_start(*args, **options)
        object.__setattr__(found.posterior, "converged", False)
        return found

    monkeypatch.setattr("evalsite.exchange.file_ranking.estimate_with_warm_start", doubtful)
    ranking = rank_votes(read_votes(ladder))
    assert not ranking.fit.converged
    assert ranking.warnings[0].startswith("The fit had not converged")
    assert ranking.warnings[1] == "one prompt carries everything"


# Presenters ------------------------------------------------------------------------------------------------


@pytest.fixture
def odd() -> Ranking:
    """A made-up ranking with everything that is hard to show."""
    return Ranking(
        model="board",
        chatbots=(
            ChatbotRow("日本", 1.5, 0.25, 1.0, 2.0, 1, 1, 2, 12_345, 1),
            ChatbotRow('a, "b"', -0.001, 0.5, -1.0, 1.0, 2, 1, 2, 10, 1),
            ChatbotRow("alone", None, None, None, None, 1, 1, 1, 1, 2),
        ),
        pairs=(
            PairRow("x", "y", "", 0.5, 0.1, 0.99, True, 7),
            PairRow("x", "z", "run", None, None, None, False, 1),
        ),
        prompts=(PromptSummary("p", 1.0, None, (None,) * 6),),
        fit=FitRow(0.25, True, 17, 4),
        warnings=(),
    )


def test_json_has_null_for_what_is_not_a_number(odd: Ranking) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads(as_json(odd), parse_constant=refuse)
    assert document["chatbots"][2]["ability"] is None
    assert document["prompts"][0]["thresholds"] == [None] * 6


def test_a_number_that_is_not_finite_never_reaches_the_json() -> None:
    for value in (math.nan, math.inf, -math.inf):
        assert finite_or_none(value) is None


def test_csv_has_the_chatbots_of_a_board(odd: Ranking) -> None:
    rows = list(csv.reader(io.StringIO(as_csv(odd))))
    assert rows[0] == KEYS["chatbots"].split()
    assert rows[1] == ["日本", "1.5", "0.25", "1.0", "2.0", "1", "1", "2", "12345", "1"]
    assert rows[2][0] == 'a, "b"'
    assert rows[3][1:5] == ["", "", "", ""]
    assert len(rows) == 4


def test_csv_has_the_comparisons_of_model_pair(odd: Ranking) -> None:
    rows = list(csv.reader(io.StringIO(as_csv(_as_pair(odd)))))
    assert rows == [
        KEYS["pairs"].split(),
        ["x", "y", "", "0.5", "0.1", "0.99", "true", "7"],
        ["x", "z", "run", "", "", "", "false", "1"],
    ]


def test_the_table_is_aligned_and_draws_each_interval_on_one_scale(odd: Ranking) -> None:
    text = as_table(odd, width=80, pen=ASCII)
    assert text.splitlines() == [
        "Board: 17 judgments in 4 cells of 1 prompt, fitted in 0.2 s",
        "",
        "Group 1 of 2",
        "rank     chatbot  ability   95 % interval  judgments",
        "1 (1-2)  日本        1.50   1.00 to  2.00     12,345          .        |---o---|",
        '2 (1-2)  a, "b"      0.00  -1.00 to  1.00         10  |-------o--------|',
        "",
        "Group 2 of 2",
        "rank  chatbot  ability  95 % interval  judgments",
        "1     alone          ?     ? to     ?          1  .",
        "",
        "Ranks in brackets: the best and the worst that the 95 % intervals allow.",
    ]


def test_a_narrow_table_leaves_the_drawing_out(odd: Ranking) -> None:
    assert "|" not in as_table(odd, width=60, pen=ASCII)
    assert max(map(len, as_table(odd, width=60).splitlines()[2:9])) <= 60


def test_the_table_of_comparisons_marks_what_is_significant(odd: Ranking) -> None:
    text = as_table(_as_pair(odd), width=70, pen=ASCII).splitlines()
    assert [" ".join(line.split()) for line in text[2:5]] == [
        "A B by delta 95 % interval P(B better) judgments",
        "x y (blank) 0.50* 0.30 to 0.70 0.99 7",
        "x z run ? ? to ? ? 1",
    ]


def _as_pair(ranking: Ranking) -> Ranking:
    return Ranking("pair", (), ranking.pairs, ranking.prompts, ranking.fit, ranking.warnings)


def test_a_long_name_is_shortened_in_the_table_only(odd: Ranking) -> None:
    name = "n" * 100
    row = ChatbotRow(name, 0.0, 1.0, -1.0, 1.0, 1, 1, 1, 1, 1)
    long = Ranking("board", (row,), (), (), odd.fit, ())
    assert name not in as_table(long)
    assert name in as_json(long)


def test_votes_without_any_name_in_common_still_make_a_table(two_islands: Path) -> None:
    votes: Votes = read_votes(two_islands)
    text = as_table(rank_votes(votes))
    assert "Group 1 of 2" in text
    assert "Group 2 of 2" in text
