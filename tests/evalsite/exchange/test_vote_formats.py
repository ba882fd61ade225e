"""The contract of every format of votes: right counts, and broken files refused with row and column."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import read_votes
from evalsite.exchange.vote_formats.registry import FORMATS
from evalsite.exchange.vote_import import votes_import
from evalsite.judgments.models import AnnotatorIdentity, Answer
from evalsite.prompts.models import Prompt

Write = Callable[..., Path]
Rows = list[dict[str, Any]]


def as_table(rows: Rows, separator: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@dataclass(frozen=True)
class Example:
    """A small file of a format: wins of A, wins of B, ties, both bad; prompts; annotators.

    missing: the column to remove, and the column that the error names.
    unknown: a change to the second row that makes its label unknown, and the column and row of the error.
    """

    rows: Rows
    counts: tuple[int, int, int, int]
    prompts: int
    annotators: int
    missing: tuple[str, str]
    unknown: tuple[dict[str, Any], str, int]
    form: Callable[[Rows], str] = as_table


def battle(a: str, b: str, **more: Any) -> dict[str, Any]:
    return {"model_a": a, "model_b": b, **more}


def task(number: int, left: str, right: str, selected: str) -> dict[str, Any]:
    result = [{"type": "pairwise", "value": {"selected": selected}, "from_name": "better"}]
    return {
        "id": number,
        "data": {"prompt": f"Question {number}", "model_left": left, "model_right": right},
        "annotations": [{"id": number + 10, "completed_by": {"id": number % 2, "email": ""}, "result": result}],
    }


def shown(number: int, label: Any, a: str = "finch", b: str = "crane") -> dict[str, Any]:
    return {
        "user_id": f"u{number}",
        "instance_id": f"i{number}",
        "model_a": a,
        "model_b": b,
        "label_annotations": {"better": label},
    }


def hit(number: int, answer: str) -> dict[str, Any]:
    asked = {"Input.prompt_id": f"p{number}", "Input.model_a": "finch", "Input.model_b": "crane"}
    return {"HITId": f"h{number}", "AssignmentId": f"a{number}", "WorkerId": f"w{number}", **asked,
            "Answer.winner": answer}  # fmt: skip


def headless(rows: Rows) -> str:
    return as_table(rows).partition("\n")[2]


def score(user: str, system: str, segment: int, points: object, kind: str = "TGT") -> dict[str, Any]:
    names = {"user": user, "system": system, "segment": segment, "kind": kind, "from": "eng", "to": "ces"}
    return {**names, "score": points, "document": "news", "last": "False", "begin": 1.5, "end": 2.5}


EXAMPLES: dict[str, Example] = {
    "own": Example(
        [
            {"system_a": "finch", "system_b": "crane", "outcome": o, "prompt_id": p, "annotator_id": w}
            for o, p, w in ((-1, "p1", "ann"), (1, "p2", "ann"), (0, "p2", "bo"))
        ],
        (1, 1, 1, 0), 2, 2, ("outcome", "outcome"), ({"outcome": "7"}, "outcome", 2),
    ),
    "arena": Example(
        [
            battle("finch", "crane", winner=w, question_id=n // 2, judge=f"j{n % 2}")
            for n, w in enumerate(["model_a", "model_b", "tie", "tie (bothbad)", "both_bad", "Bothbad"])
        ],
        (1, 1, 1, 3), 3, 2, ("winner", "winner"), ({"winner": "draw?"}, "winner", 2), as_lines,
    ),
    "synonyms": Example(
        [{"Left": "finch", "Right": "crane", "Vote": v} for v in ("LEFT", "right", "TIE", "bothbad")],
        (1, 1, 1, 1), 4, 0, ("Vote", "winner"), ({"Vote": "centre"}, "Vote", 2),
    ),
    "one_hot": Example(
        [
            {"id": n, **battle("finch", "crane"), "prompt": json.dumps([f"Ask {n % 2}"]), "response_a": '["a, b"]',
             "winner_model_a": int(w == 0), "winner_model_b": int(w == 1), "winner_tie": int(w == 2)}
            for n, w in enumerate([0, 1, 2, 2])
        ],
        (1, 1, 2, 0), 2, 0, ("winner_tie", "winner_tie"), ({"winner_model_a": 1}, "winner_model_a", 2),
    ),
    "mt_bench_human": Example(
        [
            battle("finch", "crane", winner=w, question_id=81, judge="expert", turn=turn)
            for w, turn in (("model_a", 1), ("tie", 2))
        ],
        (1, 0, 1, 0), 2, 1, ("winner", "winner"), ({"winner": "error"}, "winner", 2), as_lines,
    ),
    "mt_bench_pair": Example(
        [
            {"question_id": n, "model_1": "finch", "model_2": "crane", "g1_winner": one, "g2_winner": two,
             "judge": ["gpt", "pair"], "turn": 1}
            for n, (one, two) in enumerate([("model_1", "model_2"), ("tie", "model_1"), ("error", "tie")])
        ],
        (2, 1, 2, 0), 3, 1, ("g2_winner", "g2_winner"), ({"g2_winner": "model_3"}, "g2_winner", 2), as_lines,
    ),
    "alpaca_eval": Example(
        [
            {"instruction": f"Do {n}", "generator_1": "finch", "generator_2": "crane", "annotator": "judge",
             "preference": p}
            for n, p in enumerate([1, 2.0, 1.5, 1.98, 1.2, None])
        ],
        (2, 2, 1, 0), 5, 1, ("generator_2", "generator_2"), ({"preference": 2.5}, "preference", 2), json.dumps,
    ),
    "comparia": Example(
        [
            {"model_a_name": "finch", "model_b_name": "crane", "chosen_model_name": c, "both_equal": not c,
             "conversation_pair_id": f"c{n}", "session_hash": "s"}
            for n, c in enumerate(["finch", "crane", ""])
        ],
        (1, 1, 1, 0), 3, 1, ("both_equal", "both_equal"), ({"chosen_model_name": "owl"}, "chosen_model_name", 2),
    ),
    "acute_eval": Example(
        [
            {"worker": f"w{n}", "winner": w, "loser": "", "eval_choice_0": "finch", "eval_choice_1": "crane",
             "is_onboarding": False, "pairing_id": n // 2}
            for n, w in enumerate(["finch", "crane", "crane"])
        ],
        (1, 2, 0, 0), 2, 3, ("winner", "winner"), ({"winner": "owl"}, "winner", 2),
    ),
    "label_studio": Example(
        [task(1, "finch", "crane", "left"), task(2, "finch", "crane", "right"), task(3, "finch", "crane", "tie")],
        (1, 1, 1, 0), 3, 2, ("annotations", "annotations"),
        (task(2, "finch", "crane", "up"), "result", 2), json.dumps,
    ),
    "potato": Example(
        [shown(1, {"A": "true"}), shown(2, {"B": "true", "A": "false"}), shown(3, {"Tie": 1}), shown(4, "A")],
        (2, 1, 1, 0), 4, 4, ("label_annotations", "label_annotations"),
        (shown(2, {"C": "true"}), "label_annotations", 2), as_lines,
    ),
    "autoarena": Example(
        [
            {"prompt": f"Say {n}", **battle("finch", "crane"), "response_a": "x", "response_b": "y", "judge": "me",
             "winner": w}
            for n, w in enumerate("AB-")
        ],
        (1, 1, 1, 0), 3, 1, ("winner", "winner"), ({"winner": "C"}, "winner", 2),
    ),
    "appraise": Example(
        [
            score("u1", "finch", 0, 70), score("u1", "crane", 0, 30), score("u2", "finch", 1, 10),
            score("u2", "crane", 1, 90), score("u1", "crane", 2, 50), score("u1", "finch", 2, 50),
            score("u1", "finch", 3, 80, "BAD"), score("u1", "crane", 3, 20, "BAD"),
        ],
        (1, 1, 1, 0), 3, 2, ("kind", "system_a"), ({"score": "good"}, "score", 2), headless,
    ),
    "crowd_work": Example(
        [hit(1, "model_a"), hit(2, "model_b"), hit(3, "both bad")],
        (1, 1, 0, 1), 3, 3, ("Answer.winner", "Answer.winner"), ({"Answer.winner": "none"}, "Answer.winner", 2),
    ),
}  # fmt: skip

NAMES = [form.name for form in FORMATS]


def refused(path: Path) -> VoteFileError:
    with pytest.raises(VoteFileError) as caught:
        read_votes(path)
    assert str(path) in str(caught.value)
    return caught.value


def test_every_format_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_good_file_has_the_right_counts(write: Write, name: str) -> None:
    example = EXAMPLES[name]
    votes = read_votes(write(example.form(example.rows)))
    counts = Counter(zip(votes.outcome, votes.both_bad, strict=True))
    assert (counts[-1, False], counts[1, False], counts[0, False], counts[0, True]) == example.counts
    assert len(set(votes.prompt_key)) == example.prompts
    assert len({one for one in votes.annotator_id if one}) == example.annotators
    assert {*votes.system_a, *votes.system_b} == {"finch", "crane"}
    assert votes.looks_like == next(form.title for form in FORMATS if form.name == name)


@pytest.mark.parametrize("name", NAMES)
def test_missing_column_is_named(write: Write, name: str) -> None:
    example = EXAMPLES[name]
    column, said = example.missing
    rows = [{key: value for key, value in row.items() if key != column} for row in example.rows]
    error = refused(write(example.form(rows)))
    assert (error.code, error.column) == ("missing_column", said)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_label_is_refused_at_its_row_and_column(write: Write, name: str) -> None:
    example = EXAMPLES[name]
    change, column, row = example.unknown
    error = refused(write(example.form([example.rows[0], example.rows[1] | change, *example.rows[2:]])))
    assert (error.code, error.column, error.row) == ("unknown_label", column, row)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_file_is_refused(write: Write, name: str) -> None:
    example = EXAMPLES[name]
    text = example.form(example.rows).rstrip()
    if example.form in {as_lines, json.dumps}:
        error = refused(write(text[: -len(text) // 5]))
        assert error.code == "bad_json"
    else:
        lines = text.split("\n")
        error = refused(write("\n".join([*lines[:-1], lines[-1].rpartition(",")[0].rpartition(",")[0]])))
        assert error.code in {"ragged_row", "missing_row", "unknown_label"}
    assert error.row is not None


@pytest.mark.parametrize("name", [name for name in NAMES if EXAMPLES[name].form is as_table])
@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_read_the_same(write: Write, name: str, separator: str) -> None:
    rows = EXAMPLES[name].rows
    votes = read_votes(write(as_table(rows, separator), name="other"))
    plain = read_votes(write(as_table(rows), name="plain"))
    assert list(votes.rows()) == list(plain.rows())


@pytest.mark.parametrize("name", [name for name in NAMES if EXAMPLES[name].form in {as_lines, json.dumps}])
@pytest.mark.parametrize(
    "form",
    [
        lambda rows: json.dumps({"data": rows}),
        lambda rows: json.dumps({"v": 1, "rows": rows}, indent=1),
        json.dumps,
        as_lines,
    ],
)
def test_one_level_of_wrapping_reads_the_same(write: Write, name: str, form: Callable[[Rows], str]) -> None:
    example = EXAMPLES[name]
    votes = read_votes(write(form(example.rows), name="other"))
    plain = read_votes(write(example.form(example.rows), name="plain"))
    assert list(votes.rows()) == list(plain.rows())


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
def test_import_stores_the_same_votes(write: Write, name: str) -> None:
    example = EXAMPLES[name]
    path = write(example.form(example.rows))
    imported = votes_import(path=path, name=name, organisation="Files")
    assert imported.votes == sum(example.counts)
    values = Counter(Answer.objects.values_list("value", flat=True))
    chosen, ties, bad = (values[one] for one in (Answer.Value.CHOSEN, Answer.Value.TIE, Answer.Value.BOTH_BAD))
    assert (chosen, ties, bad) == (sum(example.counts[:2]), *example.counts[2:])
    assert Prompt.objects.count() == example.prompts
    assert AnnotatorIdentity.objects.count() == example.annotators
    assert not votes_import(path=path, name=name, organisation="Files").created


@pytest.mark.django_db
def test_broken_file_imports_nothing(write: Write) -> None:
    rows = EXAMPLES["mt_bench_pair"].rows
    path = write(as_lines([*rows, {**rows[0], "g2_winner": "nobody"}]))
    with pytest.raises(VoteFileError):
        votes_import(path=path, name="Broken", organisation="Files")
    assert not Campaign.objects.exists()
    assert not Prompt.objects.exists()


def test_acute_eval_task_data_is_read_and_pairings_are_refused(write: Write) -> None:
    pairing = {"speakers_to_eval": ["finch", "crane"], "dialogue_dicts": [{}, {}]}
    row = {"pairing_dict": pairing, "speakerChoice": "crane", "worker_id": "w", "pair_id": 4}
    votes = read_votes(write(as_lines([row])))
    assert (votes.outcome, votes.annotator_id, votes.prompt_id) == ((1,), ("w",), ("4",))
    error = refused(write(as_lines([pairing])))
    assert (error.code, error.column) == ("missing_column", "speakerChoice")
    assert "pairings" in str(error)


def test_prompts_that_are_lists_are_kept_apart(write: Write) -> None:
    rows = [row | {"prompt": [f"Ask {n}"]} for n, row in enumerate(EXAMPLES["one_hot"].rows)]
    assert len(set(read_votes(write(as_lines(rows))).prompt_key)) == len(rows)


def test_potato_without_chatbots_is_told_what_is_missing(write: Write) -> None:
    row = {key: value for key, value in shown(1, {"A": "true"}).items() if not key.startswith("model")}
    error = refused(write(as_lines([row])))
    assert (error.code, error.row, error.column) == ("missing_column", 1, "model_a")
    assert "model_a and model_b" in error.hint


def test_both_orders_of_a_pair_keep_which_was_shown_first(write: Write) -> None:
    votes = read_votes(write(as_lines(EXAMPLES["mt_bench_pair"].rows)))
    assert votes.a_first == (1, 0, 1, 0, 0)
    assert votes.annotator_id[0] == "gpt/pair"
    assert "1 row is left out" in " ".join(votes.warnings)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("left,right,model_1,model_2,winner", "'model_1 and model_2', 'left and right'"),
        ("left,right,vote,choice", "'vote', 'choice'"),
        ("Model_A,MODEL_A,model_b,winner", "'Model_A', 'MODEL_A'"),
    ],
)
def test_ambiguous_columns_are_refused_with_the_mapping_to_use(write: Write, header: str, words: str) -> None:
    error = refused(write(f"{header}\n" + ",".join("xyztu"[: header.count(",") + 1]) + "\n"))
    assert error.code.startswith("ambiguous")
    assert words in str(error)
