"""read_votes: what is wrong with a file is said with its file, row and column, and nothing is guessed."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import iter_votes, read_votes

Write = Callable[..., Path]

NATIVE = "system_a,system_b,prompt_id,annotator_id,outcome\n"
ARENA = "model_a,model_b,winner,question_id,judge,tstamp\n"


def refusal(path: Path, **options: object) -> VoteFileError:
    with pytest.raises(VoteFileError) as caught:
        read_votes(path, **options)  # type: ignore[arg-type]
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("label", ["2", "B", "model_a", "tie", "-1.5", "nan", "", "0.5", "01"])
def test_an_unknown_outcome_is_never_a_tie(write: Write, label: str) -> None:
    error = refusal(write(NATIVE + f"x,y,p,a,0\nx,y,p,a,{label}\n"))
    assert (error.code, error.row, error.line, error.column) == ("unknown_label", 2, 3, "outcome")
    assert "-1 (A better), 0 (tie), 1 (B better)" in str(error)


@pytest.mark.parametrize("label", ["model_c", "0", "", "1", "neither", "tie?", "nan", "2026-01-02"])
def test_an_unknown_winner_is_never_a_tie(write: Write, label: str) -> None:
    error = refusal(write(ARENA + f"x,y,{label},1,j,\n"))
    assert (error.code, error.row, error.column) == ("unknown_label", 1, "winner")
    assert "tie (bothbad)" in str(error)


def test_a_boolean_is_no_outcome(write: Write) -> None:
    error = refusal(write('{"system_a":"x","system_b":"y","outcome":true}'))
    assert (error.code, error.row) == ("unknown_label", 1)


def test_a_chatbot_against_itself_is_refused(write: Write) -> None:
    error = refusal(write(NATIVE + "x,y,p,a,0\nx, x ,p,a,1\n"))
    assert (error.code, error.row, error.column) == ("self_comparison", 2, "system_b")


@pytest.mark.parametrize(("row", "column"), [("  ,y,p,a,0", "system_a"), ("x,,p,a,0", "system_b")])
def test_a_blank_name_is_refused(write: Write, row: str, column: str) -> None:
    error = refusal(write(NATIVE + row + "\n"))
    assert (error.code, error.row, error.column) == ("blank_value", 1, column)


@pytest.mark.parametrize("value", ["2", "yes", "-1", "true"])
def test_an_order_other_than_1_0_or_unknown_is_refused(write: Write, value: str) -> None:
    error = refusal(write(f"model_a,model_b,winner,a_first\nx,y,tie,{value}\n"))
    assert (error.code, error.row, error.column) == ("bad_value", 1, "a_first")


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("system_a,system_b,prompt_id", "outcome"),
        ("model_a,winner", "model_b"),
        ("system,prompt_id,rating", "system_a"),
    ],
)
def test_a_missing_column_is_named(write: Write, header: str, column: str) -> None:
    for body in ("", ",".join(["x"] * (header.count(",") + 1)) + "\n"):
        error = refusal(write(f"{header}\n{body}"))
        assert (error.code, error.column, error.row) == ("missing_column", column, None)


def test_a_file_with_the_columns_of_both_layouts_is_refused(write: Write) -> None:
    error = refusal(write("system_a,system_b,outcome,model_a,model_b,winner\nx,y,1,x,y,model_a\n"))
    assert error.code == "ambiguous_layout"


def test_a_column_that_stands_twice_is_refused_only_if_it_is_used(write: Write) -> None:
    error = refusal(write("model_a,model_b,winner,winner\nx,y,tie,model_a\n"))
    assert (error.code, error.column) == ("repeated_column", "winner")
    assert len(read_votes(write("model_a,model_b,winner,n,n\nx,y,tie,1,2\n"))) == 1
    assert refusal(write('{"model_a":"x","model_b":"y","winner":"tie","winner":"model_a"}')).row == 1
    assert refusal(write('[{"model_a":"x","model_b":"y","winner":"tie","winner":"model_a"}]')).row == 1


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"   \n", b"[]", b"\xef\xbb\xbf[ ]\n"])
@pytest.mark.parametrize("zipped", [False, True])
def test_an_empty_file_is_refused(write: Write, content: bytes, zipped: bool) -> None:
    assert refusal(write(content, zipped=zipped)).code == "empty_file"


@pytest.mark.parametrize("content", [NATIVE, NATIVE.strip(), ARENA + "\n\n"])
def test_a_header_without_votes_is_refused(write: Write, content: str) -> None:
    assert refusal(write(content)).code == "empty_file"


@pytest.mark.parametrize("row", ["x,y,p,a", "x,y,p,a,1,extra", "x"])
def test_a_ragged_row_is_refused(write: Write, row: str) -> None:
    error = refusal(write(NATIVE + f"x,y,p,a,1\n{row}\n"))
    assert (error.code, error.row, error.line) == ("ragged_row", 2, 3)


@pytest.mark.parametrize(
    ("body", "row"), [('x,y,p,a,1\nx,"y,p,a,1\nx,y,p,a,1\n', 2), ('"x"y,z,p,a,1\n', 1), ('"x,y,p,a,1', 1)]
)
def test_unbalanced_quotes_are_refused_at_the_row_where_they_open(write: Write, body: str, row: int) -> None:
    error = refusal(write(NATIVE + body))
    assert (error.code, error.row) == ("bad_csv", row)


@pytest.mark.parametrize("content", [(NATIVE + "x,y,p,a,1\n").replace("\n", "\r"), NATIVE + "x,y,p\rq,a,1\n"])
def test_carriage_returns_alone_are_refused_with_how_to_mend_them(write: Write, content: str) -> None:
    error = refusal(write(content))
    assert (error.code, "holds a carriage return without a line feed" in str(error)) == ("bad_csv", True)
    assert error.hint.startswith("Save the file with line feeds")


def test_a_nul_byte_is_refused(write: Write) -> None:
    error = refusal(write(NATIVE + "x,y,p,a,1\nx,y\0,p,a,1\n"))
    assert (error.code, error.row, error.line) == ("bad_encoding", 2, 3)
    escaped = refusal(write('{"system_a":"x\\u0000","system_b":"y","outcome":1}'))
    assert (escaped.code, escaped.column) == ("bad_value", "system_a")


@pytest.mark.parametrize("content", [b"\xff\xfem\0o\0", b"PK\x03\x04...", b"BZh9", b"SQLite format 3\0"])
def test_a_file_of_another_kind_is_named(write: Write, content: bytes) -> None:
    error = refusal(write(content))
    assert error.code == "unknown_format"
    assert "Save it as CSV or JSON in UTF-8" in str(error)


def test_a_file_that_was_compressed_twice_is_named(write: Write) -> None:
    assert "compressed twice" in str(refusal(write(gzip.compress(NATIVE.encode()), zipped=True)))


@pytest.mark.parametrize("fault", [b"\xe9", b"\0", b"{", b"x" * 1_000_001])
def test_a_bad_line_of_json_is_named_itself_and_not_the_one_before(write: Write, fault: bytes) -> None:
    vote = b'{"model_a":"x","model_b":"y","winner":"tie"}\n'
    error = refusal(write(vote + b"\n" + vote + fault + b"\n"))
    assert (error.row, error.line) == (3, 4)


def test_bytes_that_are_not_utf8_are_refused_with_their_line(write: Write) -> None:
    error = refusal(write(NATIVE.encode() + b"x,y,p,a,1\n\xe9,y,p,a,1\n"))
    assert (error.code, error.row, error.line) == ("bad_encoding", 2, 3)
    array = refusal(write(b'[{"system_a":"\xe9","system_b":"y","outcome":1}]'))
    assert (array.code, array.row) == ("bad_json", 1)


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "a" * 201])
def test_a_name_that_a_screen_cannot_show_is_refused_and_not_shown(write: Write, name: str) -> None:
    error = refusal(write(f'system_a,system_b,outcome\n"{name}",y,1\n'))
    assert (error.code, error.row, error.column) == ("bad_value", 1, "system_a")
    assert name not in str(error)


def test_a_lone_surrogate_is_refused(write: Write) -> None:
    assert refusal(write('{"system_a":"\\ud800","system_b":"y","outcome":1}')).code == "bad_value"


@pytest.mark.parametrize(
    "content",
    [
        '[{"system_a":"x","system_b":"y","outcome":1},',
        '[{"system_a":"x","system_b":"y","outcome":1},{"system_a":"x"',
        '[{"system_a":"x","system_b":"y","outcome":1}] []',
        '[{"system_a":"x","system_b":"y","outcome":1}, 5]',
        '[{"system_a":"x","system_b":"y","outcome":1}, [1]]',
        '[{"system_a":"x","system_b":"y","outcome":1}, {"a": ' + "[" * 5000,
        '{"system_a":"x","system_b":"y","outcome":1}\n{"system_a":',
        '{"system_a":"x","system_b":"y","outcome":1}\n[1, 2]',
        '{"system_a":"x","system_b":"y","outcome":1}\n{"a": ' + "[" * 100_000,
        '{"system_a":"x","system_b":"y","outcome":1}\n{"outcome": NaN}',
        '{"system_a":"x","system_b":"y","outcome":1}\n{"outcome": ' + "1" * 5000 + "}",
    ],
)
def test_broken_json_is_refused_at_its_row(write: Write, content: str) -> None:
    error = refusal(write(content))
    assert (error.code, error.row) == ("bad_json", 2)
    assert len(str(error)) < 600


def test_a_nested_value_in_a_column_that_is_used_is_refused(write: Write) -> None:
    for content in (
        '{"system_a":["x"],"system_b":"y","outcome":1}',
        '[{"system_a":{},"system_b":"y","outcome":1}]',
    ):
        error = refusal(write(content))
        assert (error.code, error.row, error.column) == ("bad_value", 1, "system_a")


def test_a_json_row_without_a_needed_key_is_refused(write: Write) -> None:
    error = refusal(write('[{"system_a":"x","system_b":"y","outcome":1},{"system_a":"x","system_b":"y"}]'))
    assert (error.code, error.row, error.column) == ("unknown_label", 2, "outcome")


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_truncated_gzip_is_refused(write: Write, kept: float) -> None:
    whole = gzip.compress((NATIVE + "".join(f"x{i * i},y,p{i},a,1\n" for i in range(20_000))).encode())
    error = refusal(write(whole[: int(len(whole) * kept)]))
    assert error.code == "bad_gzip"
    assert error.row is not None
    assert error.row > 1000


def test_the_votes_before_the_end_of_a_truncated_gzip_are_told_from_the_rest(write: Write) -> None:
    whole = gzip.compress((NATIVE + "x,y,p,a,1\n" * 5).encode())
    votes = iter_votes(write(whole[:-4]))
    assert [next(votes).row for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(VoteFileError) as caught:
        next(votes)
    assert (caught.value.code, caught.value.row) == ("bad_gzip", 6)


def test_a_gzip_with_a_wrong_check_sum_is_refused(write: Write) -> None:
    whole = bytearray(gzip.compress((NATIVE + "x,y,p,a,1\n").encode()))
    whole[-8] ^= 1
    assert refusal(write(bytes(whole))).code == "bad_gzip"


def test_a_gzip_of_garbage_is_refused(write: Write) -> None:
    for content in (b"\x1f\x8b", b"\x1f\x8bgarbage garbage", gzip.compress(b"a")[:10] + b"\xff" * 50):
        assert refusal(write(content)).code == "bad_gzip"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.csv", tmp_path / "a\0b"):
        assert refusal(path).code == "unreadable"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file whose first read fails is Linux's")
def test_a_file_whose_first_bytes_cannot_be_read_is_refused() -> None:
    error = refusal(Path("/proc/self/mem"))
    assert (error.code, error.row) == ("unreadable", None)


def test_more_votes_than_memory_is_meant_for_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsite.exchange.vote_file.MAX_VOTES", 3)
    assert len(read_votes(write(NATIVE + "x,y,p,a,1\n" * 3))) == 3
    error = refusal(write(NATIVE + "x,y,p,a,1\n" * 4))
    assert (error.code, error.row) == ("too_big", 4)
