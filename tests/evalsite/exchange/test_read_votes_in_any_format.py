"""The same votes give the same result whatever they are written as."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import Vote, iter_votes, read_votes

NAMES = ["eliza", "écho", "a, b", 'quo"te', "日本", "-1", "null"]
Row = dict[str, Any]


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Votes in either layout, with unknown cells and columns that mean nothing."""
    native = draw(st.booleans())
    a, b, outcome = ("system_a", "system_b", "outcome") if native else ("model_a", "model_b", "winner")
    labels: list[Any] = [-1, 0, 1] if native else ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]
    unknown = st.none() | st.sampled_from(["1", "p 2", "é"])

    @st.composite
    def row(draw: st.DrawFn) -> Row:
        first, second = draw(st.permutations(NAMES))[:2]
        return {
            a: first,
            b: second,
            outcome: draw(st.sampled_from(labels)),
            "prompt_id": draw(unknown),
            "annotator_id" if native else "judge": draw(unknown),
            "a_first": draw(st.sampled_from([None, 0, 1])),
            "category": draw(unknown),
            "text": draw(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))),
        }

    return draw(st.lists(row(), min_size=1, max_size=8))


def as_csv(votes: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(votes[0]))
    writer.writeheader()
    writer.writerows(votes)
    return text.getvalue().encode()


def as_array(votes: list[Row]) -> bytes:
    return json.dumps(votes, indent=1, ensure_ascii=False).encode()


def as_lines(votes: list[Row]) -> bytes:
    known = [{key: value for key, value in vote.items() if value is not None} for vote in votes]
    return "\n".join(map(json.dumps, known)).encode()


def written(content: bytes) -> list[Vote]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "votes"
        path.write_bytes(content)
        return list(iter_votes(path))


@settings(max_examples=60, deadline=None)
@given(votes=rows())
def test_csv_json_lines_and_json_array_plain_or_gzipped_are_one(votes: list[Row]) -> None:
    forms: list[Callable[[list[Row]], bytes]] = [as_csv, as_array, as_lines]
    read = [written(form(votes)) for form in forms]
    read += [written(gzip.compress(form(votes))) for form in forms]
    read.append(written(b"\xef\xbb\xbf" + as_csv(votes)))
    assert all(other == read[0] for other in read)
    assert len(read[0]) == len(votes)
    a, b, *_ = votes[0]
    assert [(vote.system_a, vote.system_b) for vote in read[0]] == [(row[a], row[b]) for row in votes]
    assert [vote.a_first for vote in read[0]] == [row["a_first"] for row in votes]


@settings(max_examples=150, deadline=None)
@given(content=st.binary(max_size=300), form=st.sampled_from(["", "head", "array", "lines", "gzip"]))
def test_no_content_whatever_makes_it_fail_otherwise_than_by_a_clear_message(content: bytes, form: str) -> None:
    starts = {
        "": b"",
        "head": b"model_a,model_b,winner\n",
        "array": b'[{"model_a":"x","model_b":"y","winner":"tie"},{"',
        "lines": b'{"model_a":"x","model_b":"y","winner":"tie"}\n{"',
        "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
    }
    with pytest.raises(VoteFileError):
        # What is appended has no votes, and a random continuation of one is not valid either.
        written(starts[form] + content + b"\n,")


@settings(max_examples=60, deadline=None)
@given(votes=rows(), damage=st.integers(min_value=0), byte=st.integers(0, 255))
def test_a_damaged_gzip_is_refused_or_read_whole(votes: list[Row], damage: int, byte: int) -> None:
    whole = bytearray(gzip.compress(as_csv(votes), mtime=0))
    whole[damage % len(whole)] = byte
    try:
        read = written(bytes(whole))
    except VoteFileError:
        return
    assert read == written(as_csv(votes))  # the byte was one that means nothing (time, system), or the same


def test_columns_are_those_of_iter_votes(tmp_path: Path) -> None:
    path = tmp_path / "votes"
    path.write_bytes(b"model_a,model_b,winner,judge\nx,y,tie,j\ny,x,model_a,\n")
    votes = read_votes(path)
    assert [tuple(getattr(votes, name)[i] for name in Vote._fields) for i in range(2)] == list(iter_votes(path))
