"""`manage.py rank` as a person runs it: a process, its two streams and its exit status."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from irt_engine.errors import DidNotConverge
from tests.environment import PATIENCE_S

Write = Callable[..., Path]
ROOT = Path(__file__).resolve().parents[3]
VOTES = "model_a,model_b,winner,question_id,category\n" + "".join(
    f"x,y,{winner},{i % 4},{'odd' if i % 2 else 'even'}\n"
    for i, winner in enumerate(["model_a", "model_a", "tie", "model_b"] * 5)
)


def environment(tmp_path: Path) -> dict[str, str]:
    """No server and no database: an address that nobody answers, in a data directory of the test's own."""
    kept = {key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}}
    return kept | {"TOUCHSTONE_DATA_DIR": str(tmp_path / "data"), "PYTHONWARNINGS": "ignore"}


def rank(tmp_path: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "rank", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment(tmp_path), **options
    )


def test_only_json_goes_to_standard_output_and_warnings_go_to_standard_error(tmp_path: Path) -> None:
    done = rank(tmp_path, "-", "--json", input=VOTES.replace("y,", "z,", 1) + "q,r,tie,1,odd\n")
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert document["fit"]["judgments"] == 21
    assert "The file looks like votes of a chatbot arena." in done.stderr
    assert document["warnings"]
    # A slow machine also gets lines of progress there.
    warned = [line for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    assert warned == [f"Warning: {warning}" for warning in document["warnings"]]


def test_rank_loads_no_library_that_it_does_not_need(write: Write, tmp_path: Path) -> None:
    program = (
        "import sys, manage\n"
        f"sys.argv = ['manage.py', 'rank', {str(write(VOTES))!r}, '--csv']\n"
        "manage.main()\n"
        "print([name for name in ('pandas', 'scipy.optimize', 'scipy.stats', 'statsmodels') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True,
        timeout=PATIENCE_S, env=environment(tmp_path),
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_unknown_label_ends_with_status_2_a_place_and_no_traceback(tmp_path: Path) -> None:
    done = rank(tmp_path, "-", "--json", input=VOTES.replace("model_b,3", "model_x,3", 1))
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input, row 4 (line 5), column winner: the label 'model_x' is not known." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_who_goes_away_is_no_failure_that_anybody_reads_about(write: Write, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "manage.py"), "rank", str(write(VOTES)), "--json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        command, stdout=write_end, stderr=subprocess.PIPE, env=environment(tmp_path), timeout=PATIENCE_S, check=False
    )
    os.close(write_end)
    assert done.returncode == 141
    assert b"Error" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_told_without_a_traceback(write: Write, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "manage.py"), "rank", str(write(VOTES)), "--json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=environment(tmp_path), timeout=PATIENCE_S, check=False
        )
    assert done.returncode == 1
    assert b"The result could not be written" in done.stderr
    assert b"Traceback" not in done.stderr


# What follows needs no process of its own ------------------------------------------------------------------


def out(*arguments: str) -> str:
    stream = io.StringIO()
    call_command("rank", *arguments, stdout=stream, stderr=io.StringIO())
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("model_a,model_b,winner\n", "holds no votes"),
        ("model_a,winner\nx,tie\n", "column model_b: there is no column model_b"),
        ("model_a,model_b,winner\nx,x,tie\n", "row 1 (line 2), column model_b: 'x' is compared with itself"),
        ("[1]", "row 1: is not a JSON object"),
    ],
)
def test_bad_input_is_an_error_of_status_2_that_names_file_row_and_column(
    write: Write, content: str, words: str
) -> None:
    path = write(content)
    with pytest.raises(CommandError) as caught:
        out(str(path))
    assert caught.value.returncode == 2
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_a_truncated_gzip_ends_with_status_2(write: Write) -> None:
    path = write(gzip.compress(VOTES.encode())[:-4])
    with pytest.raises(CommandError, match="breaks off") as caught:
        out(str(path))
    assert caught.value.returncode == 2
    assert f"{path}, row 21 (line 22): the gzip data breaks off" in str(caught.value)


def test_csv_follows_the_model(write: Write) -> None:
    path = str(write(VOTES))
    board = list(csv.DictReader(io.StringIO(out(path, "--csv"))))
    assert [row["name"] for row in board] == ["x", "y"]
    pair = list(csv.DictReader(io.StringIO(out(path, "--csv", "--model", "pair", "--by", "category"))))
    assert [(row["a"], row["b"], row["by"]) for row in pair] == [("x", "y", "even"), ("x", "y", "odd")]


def test_a_fit_without_an_end_is_no_fault_of_the_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object, **__: object) -> None:
        raise DidNotConverge("no mode", code="no_mode", hint="report it")

    monkeypatch.setattr("evalsite.exchange.file_ranking.estimate_with_warm_start", endless)
    with pytest.raises(CommandError, match="no mode") as caught:
        out(str(write(VOTES)))
    assert caught.value.returncode == 1


def test_where_chooses_rows(write: Write) -> None:
    path = str(write(VOTES))
    assert json.loads(out(path, "--json"))["fit"]["judgments"] == 20
    assert json.loads(out(path, "--json", "--where", "category=odd"))["fit"]["judgments"] == 10


@pytest.mark.parametrize(
    "arguments",
    [["--where", "category"], ["--where", "=x"], ["--model", "best"], ["--json", "--csv"], ["--colour"]],
)
def test_a_wrong_option_is_refused(write: Write, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        out(str(write(VOTES)), *arguments)


def test_an_interruption_ends_without_a_traceback(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Iterator[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr("evalsite.exchange.management.commands.rank.read_votes", interrupted)
    with pytest.raises(SystemExit) as caught:
        out(str(write(VOTES)))
    assert caught.value.code == 130


def test_a_screen_that_knows_only_ascii_gets_an_ascii_drawing(write: Write) -> None:
    screen = io.BytesIO()
    stream = io.TextIOWrapper(screen, encoding="ascii")
    call_command("rank", str(write(VOTES)), stdout=stream, stderr=io.StringIO())
    stream.flush()
    assert b"|-" in screen.getvalue()
    assert screen.getvalue().isascii()


def test_gzipped_votes_are_ranked(write: Write) -> None:
    assert json.loads(out(str(write(VOTES, zipped=True)), "--json"))["fit"]["judgments"] == 20


def test_columns_and_labels_can_be_named(write: Write) -> None:
    path = str(write("one,two,best\nx,y,first\nx,y,second\nx,z,first\n"))
    named = ["--a", "one", "--b", "two", "--winner", "best", "--map", "first=model_a", "--map", "second=model_b"]
    assert json.loads(out(path, "--json", *named))["fit"]["judgments"] == 3
    with pytest.raises(CommandError, match="LABEL=OUTCOME"):
        out(path, "--map", "first=best")
