"""Files as they come from the field: turns, flags that say which votes count, and names that spreadsheets compute."""

import csv
import gzip
import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.file_ranking import rank_votes
from evalsite.exchange.presenters import as_csv
from evalsite.exchange.text_tables import as_table
from evalsite.exchange.vote_file import iter_votes, read_votes
from evalsite.exchange.vote_import import votes_import
from evalsite.prompts.models import Prompt
from tests.evalsite.exchange.conftest import Write

EXPERT = {"model_a": "a", "model_b": "b", "question_id": 81, "judge": "expert"}
TURNS = [EXPERT | {"winner": "model_a", "turn": 1}, EXPERT | {"winner": "model_b", "turn": 2}]
ANONY = [EXPERT | {"winner": "tie", "question_id": i, "anony": i != 1} for i in range(3)]
FORMULA = "=cmd|'/C calc'!A1"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


FORMS = [lines, table, json.dumps, lambda rows: gzip.compress(lines(rows).encode())]


@pytest.mark.parametrize("form", FORMS, ids=["lines", "csv", "array", "gzip"])
def test_turns_of_one_annotator_are_two_items(write: Write, form: Any) -> None:
    votes = read_votes(write(form(TURNS)))
    assert votes.prompt_key == ("81", "81 (turn 2)")
    assert votes.warnings == ()
    assert len(rank_votes(votes).prompts) == 2


def test_merged_turns_are_one_item_and_a_repeat(write: Write) -> None:
    votes = read_votes(write(lines(TURNS)), merge_turns=True)
    assert votes.prompt_key == ("81", "81")
    assert "1 vote repeats an earlier one" in votes.warnings[0]
    assert [vote.prompt_id for vote in iter_votes(votes.path, merge_turns=True)] == ["81", "81"]


@pytest.mark.parametrize("cell", ["1", "1.0", "", " 1 "])
def test_the_first_turn_keeps_the_name_of_its_prompt(write: Write, cell: str) -> None:
    file = write(f"model_a,model_b,winner,question_id,turn\na,b,tie,81,{cell}\na,b,tie,81,2.0\n")
    assert read_votes(file).prompt_key == ("81", "81 (turn 2)")


def test_a_prompt_named_like_a_turn_is_refused(write: Write) -> None:
    file = write("model_a,model_b,winner,question_id,turn\na,b,tie,81 (turn 2),1\n")
    with pytest.raises(VoteFileError) as caught:
        read_votes(file)
    assert (caught.value.code, caught.value.row) == ("ambiguous_prompt", 1)
    assert read_votes(file, merge_turns=True).prompt_key == ("81 (turn 2)",)


@pytest.mark.django_db
def test_an_import_keeps_turns_apart(write: Write) -> None:
    path = write(lines(TURNS))
    votes_import(path=path, name="Turns", organisation="Field")
    assert set(Prompt.objects.values_list("key", flat=True)) == {"81", "81 (turn 2)"}
    votes_import(path=path, name="Merged", organisation="Field", merge_turns=True)
    assert Prompt.objects.filter(key="81").count() == 2


@pytest.mark.parametrize("command", ["rank", "replay"])
def test_commands_merge_turns_when_asked(write: Write, command: str) -> None:
    path = str(write(lines(TURNS * 2)))
    for merged in (False, True):
        err = io.StringIO()
        call_command(command, path, merge_turns=merged, stdout=io.StringIO(), stderr=err)
        repeated = {False: "2 votes repeat", True: "3 votes repeat"}[merged]
        assert repeated in err.getvalue()


@pytest.mark.parametrize("form", FORMS, ids=["lines", "csv", "array", "gzip"])
def test_votes_on_shown_names_are_named_in_a_warning(write: Write, form: Any) -> None:
    votes = read_votes(write(form(ANONY)))
    assert len(votes) == 3
    (warning,) = votes.warnings
    assert warning.startswith(("1 of 3 votes have anony false:", "1 of 3 votes have anony False:"))
    assert "--where anony=" in warning


def test_a_column_that_was_chosen_by_is_not_warned_of(write: Write) -> None:
    votes = read_votes(write(lines(ANONY)), where=[("anony", "true")])
    assert (len(votes), votes.warnings) == (2, ())
    assert read_votes(write(lines(ANONY)), by="anony").warnings == ()


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("counted", (True, False), "2 votes have counted false: the campaign did not count them"),
        ("AssignmentStatus", ("Approved", "Rejected"), "AssignmentStatus Rejected: their work was rejected"),
        ("is_gold", (0, 1), "is_gold 1: they check the annotator"),
        ("purpose", ("measure", "gold"), "purpose gold: they check the annotator"),
        ("aspect", ("style", "overall"), "holds 'overall', 'style': their votes are pooled"),
        ("dedup_tag", ({"sampled": True}, {"sampled": False}), "holds objects that mark votes to leave out"),
        ("language", ("en", "de"), ""),
        ("counted", (True, True), ""),
        ("aspect", ("style", "style"), ""),
    ],
)
def test_each_column_that_changes_what_counts(write: Write, column: str, values: Any, said: str) -> None:
    rows = [EXPERT | {"winner": "tie", "question_id": i, column: value} for i, value in enumerate(values)]
    votes = read_votes(write(lines(rows)))
    assert len(votes) == 2
    assert [said in warning for warning in votes.warnings] == [True] * bool(said)


@pytest.mark.parametrize("name", [FORMULA, "=1", "+1", "-x", "@a", " =1", "＝1"])  # noqa: RUF001
@pytest.mark.parametrize("model", ["board", "pair"])
def test_names_are_safe_in_a_spreadsheet(write: Write, name: str, model: Any) -> None:
    ranking = rank_votes(read_votes(write(table([EXPERT | {"model_a": name, "winner": "tie"}]))), model=model)
    read = name.strip()
    (named, *_) = [cell for row in csv.reader(io.StringIO(as_csv(ranking))) for cell in row if read in cell]
    assert named == f"'{read}"
    assert f" {read} " not in as_table(ranking)
    assert f"'{read} " in as_table(ranking)
