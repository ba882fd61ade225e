"""Votes in other encodings, archives, Parquet files and workbooks, and what of them is refused."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsite.exchange.column_reading import columns_read
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_checks import Repeats
from evalsite.exchange.vote_file import ColumnMapping, iter_votes, read_votes
from evalsite.exchange.vote_reading import Options

Write = Callable[..., Path]
VOTES = "model_a,model_b,winner,question_id\nfinch,crane,model_a,q1\nfinch,ibis,tie,q2\n"
NAMED = VOTES.replace("finch", "Zoë")


def refused(path: Path, **options: Any) -> VoteFileError:
    with pytest.raises(VoteFileError) as caught:
        read_votes(path, **options)
    return caught.value


def zipped(**files: str | bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


def parquet(columns: dict[str, Any]) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue()


def workbook(rows: list[list[Any]], *more: str) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book, content = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    for title in more:
        book.create_sheet(title).append(["x"])
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "mac-roman", "UTF8"])
@pytest.mark.parametrize("packed", [False, True])
def test_named_encoding_is_read(write: Write, encoding: str, packed: bool) -> None:
    path = write(NAMED.encode(encoding), zipped=packed)
    assert read_votes(path, encoding=encoding).system_a == ("Zoë", "Zoë")
    assert [vote.system_a for vote in iter_votes(path, encoding=encoding)] == ["Zoë", "Zoë"]


@pytest.mark.parametrize(("encoding", "said"), [("cp1252", "--encoding cp1252"), ("utf-16", "--encoding utf-16")])
def test_encoding_is_offered_and_not_guessed(write: Write, encoding: str, said: str) -> None:
    assert said in refused(write(NAMED.encode(encoding))).hint


def test_wrong_or_unknown_encoding_is_refused(write: Write) -> None:
    mixed = NAMED.encode("cp1252") + "Zoë,ibis,tie,q3\n".encode()
    assert refused(write(mixed)).code == "bad_encoding"
    assert refused(write(mixed.replace(b"q2", b"\x81"), name="b"), encoding="cp1252").code == "bad_encoding"
    assert refused(write(VOTES), encoding="rot13").code == "unknown_encoding"
    assert refused(write(VOTES), encoding="utf-16").code in {"bad_encoding", "missing_column"}


def test_zip_of_one_file_is_read(write: Write) -> None:
    plain = list(iter_votes(write(VOTES, name="plain")))
    for litter in ({}, {"__MACOSX/._votes.csv": "x", ".DS_Store": "y"}):
        assert list(read_votes(write(zipped(**{"votes.csv": VOTES, **litter}))).rows()) == plain


@pytest.mark.parametrize(
    ("files", "code", "words"),
    [
        ({"a.csv": VOTES, "b.jsonl": "{}"}, "bad_zip", "2 files: 'a.csv', 'b.jsonl'"),
        ({"a.zip": zipped(**{"b.csv": VOTES})}, "unknown_format", "zip archive"),
        ({"a.csv.gz": gzip.compress(VOTES.encode())}, "unknown_format", "compressed twice"),
        ({}, "unknown_format", "empty zip"),
    ],
)
def test_zip_of_anything_else_is_refused(write: Write, files: dict[str, Any], code: str, words: str) -> None:
    error = refused(write(zipped(**files)))
    assert error.code == code
    assert words in str(error)


def test_truncated_or_damaged_zip_is_refused(write: Write) -> None:
    whole = zipped(**{"votes.csv": VOTES * 50})
    assert refused(write(whole[:-30])).code == "unknown_format"
    damaged = bytearray(whole)
    damaged[60] ^= 0xFF
    assert refused(write(bytes(damaged))).code in {"unknown_format", "bad_gzip", "bad_encoding"}


def test_parquet_is_read_with_numbers_nulls_and_nested_columns(write: Write) -> None:
    columns = {"model_a": ["finch", "7"], "model_b": ["crane", "ibis"], "winner": ["model_a", "tie"]}
    path = write(parquet({**columns, "question_id": [1.0, None], "turns": [["x"], []]}))
    votes = read_votes(path)
    assert (votes.prompt_id, votes.system_a, votes.outcome) == (("1", None), ("finch", "7"), (-1, 0))


def test_parquet_read_in_columns_is_the_same(write: Write) -> None:
    names = ["finch", "7", "finch"]
    more = {"turn": [1, 2, None], "judge": [None, "jo", "jo"], "anony": [True, False, True], "text": [["x"]] * 3}
    columns = {"model_a": names, "model_b": ["crane"] * 3, "winner": ["tie"] * 3, "question_id": [8.0, 8.0, 9.0]}
    path = write(parquet({**columns, **more}))
    found = columns_read(path, Options(), [], 10)
    assert found is not None
    assert list(zip(*found[0].values(), strict=True)) == list(iter_votes(path))
    assert "anony false" in " ".join(read_votes(path).warnings)


def test_huge_workbook_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsite.exchange.archives.MAX_WORKBOOK", 100)
    assert refused(write(workbook([["a"]]))).code == "too_big"


@pytest.mark.parametrize(
    ("column", "code"), [("winner", "unknown_label"), ("model_a", "blank_value"), ("question_id", "")]
)
def test_column_that_is_all_empty(write: Write, column: str, code: str) -> None:
    rows = [{"model_a": "1", "model_b": "2", "winner": "tie", "question_id": "3"} | {column: ""}] * 2
    path = write(",".join(rows[0]) + "\n" + "".join(",".join(row.values()) + "\n" for row in rows))
    if code:
        error = refused(path)
        assert (error.code, error.column, error.row) == (code, column, 1)
    else:
        assert read_votes(path).prompt_id == (None, None)


def test_parquet_faults_have_row_and_column(write: Write) -> None:
    columns = {"model_a": ["finch"] * 3, "model_b": ["crane"] * 3}
    error = refused(write(parquet({**columns, "winner": ["tie", "tie", None]})))
    assert (error.code, error.row, error.column) == ("unknown_label", 3, "winner")
    assert refused(write(parquet({**columns, "winner": [["tie"]] * 3}))).code == "bad_value"
    assert refused(write(parquet(columns))).code == "missing_column"
    assert refused(write(parquet({**columns, "winner": ["tie"] * 3})[:-20])).code == "bad_parquet"


def test_workbook_is_read(write: Write) -> None:
    rows: list[list[Any]] = [["model_a", "model_b", "winner", "question_id"], ["finch", 7, "model_a", 1], [None] * 4]
    votes = read_votes(write(workbook([*rows, ["finch", 7, "tie", None]])))
    assert (votes.system_b, votes.prompt_id, votes.row) == (("7", "7"), ("1", None), (1, 2))


@pytest.mark.parametrize(
    ("row", "more", "code", "words"),
    [
        (["finch", "crane", "=A1"], (), "bad_value", "row 2, column winner: the cell C3 holds a formula"),
        (["finch", "crane", "both"], (), "unknown_label", "row 2, column winner"),
        (["finch", "crane", "tie"], ("notes",), "several_sheets", "2 sheets"),
    ],
)
def test_workbook_faults_are_named(write: Write, row: list[Any], more: tuple[str, ...], code: str, words: str) -> None:
    error = refused(write(workbook([["model_a", "model_b", "winner"], ["finch", "crane", "tie"], row], *more)))
    assert error.code == code
    assert words in str(error)


def test_missing_package_is_named(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (("pyarrow", parquet({"a": [1]})), ("openpyxl", workbook([["a"]]))):
        monkeypatch.setitem(__import__("sys").modules, name, None)
        assert "pip install 'touchstone-eval[files]'" in refused(write(content)).hint


@pytest.mark.parametrize(
    ("body", "code", "column"),
    [
        ("finch,crane,NaN,1\n", "unknown_label", "winner"),
        ("finch,crane,,1\n", "unknown_label", "winner"),
        ("finch,crane,2026-03-04,1\n", "unknown_label", "winner"),
        (",crane,tie,1\n", "blank_value", "model_a"),
        ("finch,crane,tie\n", "ragged_row", None),
        ("finch,crane,tie,\0\n", "bad_encoding", None),
        ('finch,crane,tie,"q" 1\n', "bad_csv", None),
    ],
)
def test_fast_reader_leaves_faults_to_the_row_reader(write: Write, body: str, code: str, column: str | None) -> None:
    path = write(VOTES + body)
    assert columns_read(path, Options(), [], 10) is None
    error = refused(path)
    assert (error.code, error.column, error.row) == (code, column, 3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": [("turn", "2")]},
        {"by": "category"},
        {"merge_turns": True},
        {"where": [("category", "x"), ("category", "y")]},
    ],
)
@pytest.mark.parametrize("quoted", [False, True])
def test_fast_readers_and_row_reader_give_the_same_votes(write: Write, options: dict[str, Any], quoted: bool) -> None:
    head = "model_a,model_b,winner,question_id,judge,turn,category,a_first,tstamp,anony\n"
    rows = [f"m{n % 3}, m{n % 3 + 1} ,{w},q{n % 7},{'j' * (n % 2)},{n % 3},{'xyz'[n % 3]},{n % 2},{n},{n % 5 > 0}\n"
            for n, w in enumerate(["model_a", "B", "Tie", "both bad"] * 20)]  # fmt: skip
    path = write(head + "\n".join(rows))
    if quoted:
        path.write_text(path.read_text().replace(",x,", ',"x",'))
    found = columns_read(path, Options(**options), [], 1000)
    assert found is not None
    votes = list(iter_votes(path, **options))
    assert list(zip(*found[0].values(), strict=True)) == votes
    read = read_votes(path, **options)
    assert list(read.rows()) == votes
    repeats = Repeats()
    for vote in votes:
        repeats.add(vote, path)
    assert read.warnings[: len(list(repeats.warnings()))] == tuple(repeats.warnings())


@pytest.mark.parametrize("options", [{}, {"where": [("anony", "true")]}, {"by": "Category"}])
def test_lines_read_many_at_a_time_are_the_same(write: Write, options: dict[str, Any]) -> None:
    rows = [{"model_a": n % 3, "model_b": "x", "winner": "Tie", "question_id": n / 2, "turns": [n]} for n in range(40)]
    more = [{"judge": "jo", "anony": n % 2 == 0, "Category": None, "tstamp": 1e5} for n in range(30)]
    rows[10:] = [row | extra for row, extra in zip(rows[10:], more, strict=True)]
    path = write("\n\n".join(map(json.dumps, rows)))
    found = columns_read(path, Options(**options), options, 100)
    assert found is not None
    assert list(zip(*found[0].values(), strict=True)) == list(iter_votes(path, **options))


@pytest.mark.parametrize(
    "line", ['{"model_a":"x","model_a":"y"}', '{"model_a": NaN}', "[1]", '{"criterion": 1}', '{"model_a": ["x"]}']
)
def test_odd_lines_are_left_to_the_row_reader(write: Write, line: str) -> None:
    path = write('{"model_a":"x","model_b":"y","winner":"tie"}\n' + line)
    assert columns_read(path, Options(), [], 10) is None
    assert refused(path).row in {2, None}


def test_mapping_names_columns_and_labels(write: Write) -> None:
    path = write("first,second,best,prompt_id\nfinch,crane,1st,p\nfinch,crane,2nd,p\nfinch,crane,same,p\n")
    labels = {"1st": (-1, False), "2nd": (1, False), "same": (0, True)}
    mapping = ColumnMapping({"a": "First", "b": "second", "winner": "best"}, labels)
    votes = read_votes(path, mapping=mapping)
    assert (votes.outcome, votes.both_bad) == ((-1, 1, 0), (False, False, True))
    assert list(iter_votes(path, mapping=mapping)) == list(votes.rows())
    assert refused(path).code == "missing_column"
    assert "--a COLUMN --b COLUMN --winner COLUMN" in refused(path).hint
    error = refused(path, mapping=ColumnMapping(mapping.columns))
    assert (error.code, error.row) == ("unknown_label", 1)
    assert "--map 1st=" in error.hint
    assert refused(path, mapping=ColumnMapping({**mapping.columns, "b": "third"})).code == "unknown_column"


def test_mapping_of_one_column_keeps_the_others(write: Write) -> None:
    path = write("left,right,vote,choice\nfinch,crane,left,right\n")
    assert refused(path).code == "ambiguous_layout"
    mapping = ColumnMapping({"a": "left", "b": "right", "winner": "choice"})
    assert read_votes(path, mapping=mapping).outcome == (1,)
