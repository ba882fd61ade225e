"""Attack: small uploads that become large in memory: many short lines, many columns, many nested values."""

import subprocess
import sys
import tracemalloc

import pytest

from evalsite.core import row_files
from evalsite.core.errors import InvalidInput, TooLarge
from evalsite.core.row_files import MOST_BYTES, rows_read
from tests.processes import ROOT

LIMIT_MB, LIMIT_S = 200, 2.0
SHAPES = {
    "short lines": (b"a\n", ""),
    "short lines of CSV": (b"a\n", "x.csv"),
    "short lines of JSONL": (b"1\n", "x.jsonl"),
    "blank lines": (b"\n", "x.txt"),
    "blank lines of CSV": (b"\n", "x.csv"),
    "wide lines": ("\U0001f600\n".encode(), "x.txt"),
    "columns": (b"a,", "x.csv"),
    "empty objects": (b"{},", "x.jsonl"),
    "short texts": (b'"ab",', "x.jsonl"),
}


def content_of(piece: bytes, size: int) -> bytes:
    return piece * (size // len(piece))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_is_refused_while_it_is_read(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of each limit, so that the peak of memory can be traced."""
    for name, value in {"MOST_ROWS": 2_000, "MOST_LINES": 20_000, "MOST_CELLS": 30_000}.items():
        monkeypatch.setattr(row_files, name, value, raising=False)
    piece, name = SHAPES[shape]
    content = content_of(piece, 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises((TooLarge, InvalidInput)):
            rows_read(content, name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(content), f"{peak / len(content):.1f} times the file"


@pytest.mark.full
@pytest.mark.parametrize("shape", SHAPES)
def test_twenty_megabytes_cost_little_before_they_are_refused(shape: str) -> None:
    piece, name = SHAPES[shape]
    code = (
        "import resource, time, os\n"
        "os.environ['DJANGO_SETTINGS_MODULE'] = 'evalsite.settings'\n"
        "import django; django.setup()\n"
        "from evalsite.core.errors import TouchstoneError\n"
        "from evalsite.core.row_files import rows_read\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024\n"
        f"before, piece = peak(), {piece!r}\n"
        f"content = piece * ({MOST_BYTES} // len(piece))\n"
        "def refused():\n"
        "    begun = time.process_time()\n"
        f"    try: rows_read(content, {name!r}); return 0, 'taken'\n"
        "    except TouchstoneError as error: return time.process_time() - begun, type(error).__name__\n"
        "seconds, kind = min(refused() for _ in range(3))\n"  # others may use the same processor's caches
        "print(kind)\n"
        "print(peak() - before, seconds)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kind, numbers = said.strip().splitlines()
    megabytes, seconds = map(float, numbers.split())
    assert kind != "taken"
    assert megabytes <= LIMIT_MB, said
    assert seconds <= LIMIT_S, said


def test_many_lines_within_a_cell_are_one_row() -> None:
    content = b'prompt_id,reply\np1,"' + b"line\n" * 5_000 + b'"\n'
    assert len(rows_read(content, "x.csv").rows) == 1


def test_what_is_no_text_is_told_with_its_line_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "PIECE", 7, raising=False)
    assert rows_read("ä\nöü\n\U0001f600x\n".encode(), "x.txt").rows[2].cells["text"] == "\U0001f600x"
    for line in range(1, 9):
        content = b"abcd\n" * (line - 1) + "ä\n".encode("latin-1") + b"abcd\n"
        with pytest.raises(InvalidInput, match=f"Line {line} is not UTF-8"):
            rows_read(content, "x.txt")
    with pytest.raises(InvalidInput, match="Line 2 is not UTF-8"):
        rows_read("abcd\nab\u00e4".encode()[:-1], "x.txt")
