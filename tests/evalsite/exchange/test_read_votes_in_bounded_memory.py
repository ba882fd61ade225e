"""A line of 1 GB, whatever the format, is refused before it is in memory."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import iter_votes
from tests.environment import PATIENCE_S

MEMORY = 700 << 20  # bytes of address space for the whole process with its threads, less than the line has
CHILD = f"""
import resource, sys
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import read_votes
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
for path in sys.argv[1:]:
    try:
        read_votes(path)
    except VoteFileError as error:
        print(error.code, error.row, error)
"""

STARTS = {
    "the header": b"",
    "a row": b"model_a,model_b,winner\nx,y,tie\n",
    "a quoted field": b'model_a,model_b,winner\nx,y,tie\n"',
    "JSON lines": b'{"model_a":"x","model_b":"y","winner":"tie"}\n{"text":"',
    "a JSON array": b'[{"model_a":"x","model_b":"y","winner":"tie"},{"text":"',
}

BOMBS = {name: (start, b"a") for name, start in STARTS.items()} | {
    "an open quote": (b'model_a,model_b,winner\nx,y,tie\nx,"y,tie\n', b"x,y,tie\n"),
    "spaces": (b"", b" "),
}


def gigabyte(path: Path, start: bytes, filling: bytes) -> None:
    """1 GB after `start`, from gzip members of 1 MB: quick to write, 1 MB on the disk."""
    member = gzip.compress(filling * (1_000_000 // len(filling)))
    path.write_bytes(gzip.compress(start) + member * 1000)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one process of little memory says of each bomb."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, (start, filling) in BOMBS.items():
        gigabyte(folder / name, start, filling)
    paths = [folder / name for name in BOMBS]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *paths], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(paths), done.stdout
    return {path.name: line.replace(str(path), "<path>") for path, line in zip(paths, lines, strict=True)}


@pytest.mark.parametrize("start", STARTS, ids=STARTS.keys())
def test_a_line_of_a_gigabyte_is_refused(said: dict[str, str], start: str) -> None:
    row = "None" if start == "the header" else "2"
    assert said[start].startswith(f"too_long {row} <path>")


def test_a_quote_left_open_over_a_gigabyte_of_lines_is_refused_where_it_opens(said: dict[str, str]) -> None:
    assert said["an open quote"].startswith("too_long 2 <path>")
    assert "row 2 (line 3)" in said["an open quote"]


def test_a_gigabyte_of_spaces_is_refused(said: dict[str, str]) -> None:
    assert said["spaces"].startswith("too_long None <path>")


def test_the_whole_file_has_a_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsite.exchange.file_opening.MAX_BYTES", 1 << 18)
    path = tmp_path / "bomb"
    gigabyte(path, b"model_a,model_b,winner\n", b"x,y,tie\n")
    with pytest.raises(VoteFileError) as caught:
        for _ in iter_votes(path):
            pass
    assert caught.value.code == "too_big"
    assert (caught.value.row or 0) > 20_000
