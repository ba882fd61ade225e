"""Containers and bad input of votes go through every entry: `rank`, `import_votes`, the page and the API.

What is refused names file, row, column and what to do, and nothing of it is stored. Everything else is read as
docs/formats.md says.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.judgments.models import Answer
from evalsite.prompts.models import Prompt
from tests.evalsite.api.client import Api
from tests.evalsite.exchange.test_vote_containers import parquet, workbook, zipped
from tests.evalsite.exchange.test_vote_file_entries import api, post, refused, send, upload
from tests.evalsite.pages.test_pages import words

__all__ = ["api"]

pytestmark = pytest.mark.django_db
Write = Callable[..., Path]
Rows = list[list[Any]]

HEAD = ["model_a", "model_b", "winner", "question_id"]
VOTES: Rows = [["Zoë", "crane", "model_a", "q1"], ["Zoë", "crane", "tie", "q2"], ["crane", "Zoë", "both_bad", "q2"]]


def table(rows: Rows, separator: str = ",", ending: str = "\n") -> str:
    return "".join(separator.join(map(str, row)) + ending for row in rows)


def columns(rows: Rows) -> dict[str, list[Any]]:
    return dict(zip(rows[0], map(list, zip(*rows[1:], strict=True)), strict=True))


CONTAINERS: dict[str, Callable[[Rows], bytes]] = {
    "csv": lambda rows: table(rows).encode(),
    "tsv": lambda rows: table(rows, "\t").encode(),
    "semicolons": lambda rows: table(rows, ";").encode(),
    "byte order mark, CRLF": lambda rows: table(rows, ending="\r\n").encode("utf-8-sig"),
    "cp1252": lambda rows: table(rows, ";").encode("cp1252"),
    "utf-16": lambda rows: table(rows, "\t").encode("utf-16"),
    "gzip": lambda rows: gzip.compress(table(rows).encode()),
    "zip": lambda rows: zipped(**{"votes.csv": table(rows)}),
    "parquet": lambda rows: parquet(columns(rows)),
    "xlsx": workbook,
}
ENCODED = {"cp1252", "utf-16"}


def options(name: str) -> dict[str, str]:
    return {"encoding": name} if name in ENCODED else {}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_is_read_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str
) -> None:
    content, more = CONTAINERS[name]([HEAD, *VOTES]), options(name)
    call_command("rank", write(content), json=True, **more)
    ranked = json.loads(capsys.readouterr().out)
    assert ranked["fit"]["judgments"] == 3
    assert {row["name"] for row in ranked["chatbots"]} == {"Zoë", "crane"}
    call_command("import_votes", write(content), campaign="Zoo", fit="later", **more)
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["both_bad", "chosen", "tie"]
    text = words(owner.get(upload(owner, content, **more)))
    assert "Votes 3 A is better 1 B is better 0 Tie 1 Both are bad 1" in text
    assert send(api, content, check="true", **more)["counts"]["votes"] == 3


def every_entry_refuses(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, content: bytes, *parts: str, **more: str
) -> None:
    path = write(content)
    for told in (
        refused(capsys, "rank", path, **more),
        refused(capsys, "import_votes", path, campaign="Zoo", **more),
    ):
        assert all(part in told for part in (str(path), *parts)), told
    text = words(owner.get(upload(owner, content, **more)))
    assert all(part in text for part in ("votes.dat", *parts, "Nothing was stored.")), text
    problem = send(api, content, **more)["problem"]
    assert problem["hint"], "it says what to do"
    told = f"{problem['message']} {problem['hint']}"
    assert all(part in told for part in ("votes.dat", *parts)), told
    assert not Campaign.objects.exists()
    assert not Prompt.objects.exists()
    assert not Chatbot.objects.exists()


FAULTS: dict[str, tuple[Rows, tuple[str, ...]]] = {
    "missing": (
        [[name for name in HEAD if name != "winner"], *([*row[:2], row[3]] for row in VOTES)],
        ("column winner",),
    ),
    "unknown": ([HEAD, VOTES[0], ["crane", "Zoë", "neither", "q2"]], ("row 2", "column winner", "'neither'")),
}
CHEAP = {"csv", "parquet", "xlsx"}  # The others are the same text to the reader.


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in CHEAP else pytest.mark.full) for name in CONTAINERS]
)
def test_fault_in_any_container_is_named_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str, fault: str
) -> None:
    rows, parts = FAULTS[fault]
    every_entry_refuses(write, capsys, owner, api, CONTAINERS[name](rows), *parts, **options(name))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("gzip", ("gzip",)),
        ("zip", ("zip",)),
        ("parquet", ("Parquet",)),
        ("xlsx", ("zip",)),
    ],
)
def test_truncated_container_is_refused_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str, parts: tuple[str, ...]
) -> None:
    whole = CONTAINERS[name]([HEAD, *VOTES * 20])
    every_entry_refuses(write, capsys, owner, api, whole[: len(whole) * 4 // 5], *parts)


START = table([HEAD, VOTES[0]])
LINE = '{"model_a": "finch", "model_b": "crane", "winner": %s}\n'
BAD: dict[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "mixed encodings": (
        lambda: START.encode() + "Zoë,crane,tie,q3\n".encode("cp1252"),
        ("row 2", "not UTF-8", "cp1252"),
    ),
    "two formats in a zip": (
        lambda: zipped(**{"a.csv": START, "b.jsonl": LINE % '"tie"'}),
        ("2 files", "'a.csv', 'b.jsonl'"),
    ),
    "a zip in a zip": (lambda: zipped(**{"a.zip": zipped(**{"b.csv": START})}), ("zip archive",)),
    "a gzip in a zip": (lambda: zipped(**{"a.gz": gzip.compress(START.encode())}), ("compressed twice",)),
    "an endless line": (lambda: START.encode() + b"x" * 2_000_000, ("row 2",)),
    "a repeated header": (
        lambda: b"model_a,model_b,winner,winner\nfinch,crane,tie,tie\n",
        ("column winner", "stands twice"),
    ),
    "dates as labels": (lambda: START.encode() + b"finch,crane,2026-03-04,q\n", ("row 2", "column winner")),
    "a NaN winner of a table": (lambda: START.encode() + b"finch,crane,NaN,q\n", ("row 2", "column winner", "'NaN'")),
    "a NaN winner of JSON": (lambda: (LINE % '"tie"' + LINE % "NaN").encode(), ("row 2", "NaN")),
    "a null winner of JSON": (lambda: (LINE % '"tie"' + LINE % "null").encode(), ("row 2", "column winner", "missing")),
    "a null winner of Parquet": (
        lambda: parquet({"model_a": ["finch"] * 2, "model_b": ["crane"] * 2, "winner": ["tie", None]}),
        ("row 2", "column winner", "missing"),
    ),
    "winners that are all empty": (
        lambda: b"model_a,model_b,winner\nfinch,crane,\nfinch,crane,\n",
        ("row 1", "column winner", "missing"),
    ),
    "a formula in a workbook": (
        lambda: workbook([HEAD, ["finch", "crane", "tie", "q1"], ["finch", "crane", "=C2", "q1"]]),
        ("row 2", "column winner", "C3", "formula"),
    ),
    "a nested column of Parquet": (
        lambda: parquet({"model_a": ["finch"], "model_b": ["crane"], "winner": [["tie"]]}),
        ("row 1", "column winner", "list"),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str
) -> None:
    content, parts = BAD[name]
    every_entry_refuses(write, capsys, owner, api, content(), *parts)


ODD: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "integers as names": (lambda: b"model_a,model_b,winner\n7,8,tie\n8,7,model_a\n", {"7", "8"}),
    "integers as names in JSON": (
        lambda: b'{"model_a": 7, "model_b": 8, "winner": "tie"}\n{"model_a": 8, "model_b": 7, "winner": "model_a"}\n',
        {"7", "8"},
    ),
    "numbers as names in a workbook": (
        lambda: workbook([HEAD[:3], [7.0, 8, "tie"], [8.0, 7, "model_a"]]),
        {"7", "8"},
    ),
    "an optional column that is all empty": (
        lambda: b"model_a,model_b,winner,question_id\nfinch,crane,tie,\ncrane,finch,model_a,\n",
        {"finch", "crane"},
    ),
    "a repeated header that nobody reads": (
        lambda: b"model_a,model_b,winner,note,note\nfinch,crane,tie,x,y\ncrane,finch,model_a,x,y\n",
        {"finch", "crane"},
    ),
    "a nested column of Parquet that nobody reads": (
        lambda: parquet(
            {
                "model_a": ["finch", "crane"],
                "model_b": ["crane", "finch"],
                "winner": ["tie", "model_a"],
                "turns": [[{"text": "x"}], None],
            }
        ),
        {"finch", "crane"},
    ),
    "names that spreadsheets compute": (
        lambda: b"model_a,model_b,winner\n=1+1,@SUM(1),tie\n@SUM(1),=1+1,model_a\n",
        {"=1+1", "@SUM(1)"},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_input_is_read_by_every_entry(
    write: Write, capsys: pytest.CaptureFixture[str], owner: Client, api: Api, name: str
) -> None:
    make, chatbots = ODD[name]
    content = make()
    call_command("rank", write(content), json=True)
    assert {row["name"] for row in json.loads(capsys.readouterr().out)["chatbots"]} == chatbots
    call_command("import_votes", write(content), campaign="Command", fit="later")
    address = upload(owner, content)
    assert "Votes 2 A is better 1 B is better 0 Tie 1 Both are bad 0" in words(owner.get(address))
    post(owner, address, take="yes", campaign="Page")
    assert send(api, content, campaign="Program")["state"] == "imported"
    for slug in ("command", "page", "program"):
        campaign = Campaign.objects.get(slug=slug)
        assert set(campaign.entrants.values_list("version__chatbot__name", flat=True)) == chatbots
        assert Answer.objects.filter(judgment__assignment__campaign=campaign).count() == 2
