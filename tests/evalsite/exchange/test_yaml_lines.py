"""YAML documents know the line of each value and each key."""

import pytest

from evalsite.exchange.campaign_file import CampaignFileError
from evalsite.exchange.campaign_file.lines import Document

TEXT = """\
a: 1
b:
- x
- c: "2"

  d:
    e
"""


def test_document_holds_plain_values() -> None:
    assert Document(TEXT).value == {"a": 1, "b": ["x", {"c": "2", "d": "e"}]}


@pytest.mark.parametrize(
    ("path", "line", "key_line"),
    [
        ((), 1, 1),
        (("a",), 1, 1),
        (("b",), 3, 2),
        (("b", 1), 4, 4),
        (("b", 1, "d"), 7, 6),
        (("b", 1, "missing"), 4, 4),
        (("b", 9, "c"), 3, 3),
    ],
)
def test_document_names_lines(path: tuple[str | int, ...], line: int, key_line: int) -> None:
    document = Document(TEXT)
    assert (document.line(path), document.key_line(path)) == (line, key_line)


def test_keys_are_spelled_as_in_the_file() -> None:
    assert Document("yes: 1\n07: 2\n2026-01-01: 3\n").value == {"yes": 1, "07": 2, "2026-01-01": 3}


def test_last_of_two_equal_keys_counts_and_is_a_problem() -> None:
    document = Document("a: {b: 1}\na: {c: 2}\n")
    assert document.value == {"a": {"c": 2}}
    assert [str(problem) for problem in document.problems] == ["line 2: a: stands here twice"]


def test_complex_key_is_a_problem_and_is_left_out() -> None:
    document = Document("a:\n  [x]: 1\n  y: 2\n")
    assert document.value == {"a": {"y": 2}}
    assert [(problem.line, problem.key) for problem in document.problems] == [(2, "a")]


@pytest.mark.parametrize("scalar", ["!unknown 1", "!!int one", "!!timestamp 2090-02-30", "9" * 5000])
def test_unreadable_scalar_equals_nothing(scalar: str) -> None:
    found = Document(f"a: {scalar}").value["a"]
    assert not isinstance(found, str | int | float)


def test_document_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsite.exchange.campaign_file.lines.MOST_BYTES", 3)
    with pytest.raises(CampaignFileError, match="line 1: the file is too long"):
        Document("a: 1")
