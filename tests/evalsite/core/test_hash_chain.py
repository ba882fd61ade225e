"""A chain of entries shows every change but the erasure of a content, which it counts."""

from typing import Any

import pytest

from evalsite.core.hash_chain import (
    GENESIS,
    ChainBroken,
    canonical_json,
    chain_verify,
    content_digest,
    link_hash,
    salt_make,
)

Line = dict[str, Any]


def chain(length: int) -> list[Line]:
    """Return a chain of entries."""
    lines: list[Line] = []
    for number in range(1, length + 1):
        salt, content = salt_make(), canonical_json({"vote": number})
        line: Line = {"board": "b", "number": number, "kind": "judgments", "at": "2026-01-01", "salt": salt}
        line |= {"content": content, "digest": content_digest(salt, content)}
        line |= {"previous": lines[-1]["sha256"] if lines else GENESIS}
        lines.append(line | {"sha256": link_hash(line)})
    return lines


def test_whole_chain_verifies() -> None:
    lines = chain(3)
    report = chain_verify(lines)
    assert (report.entries, report.erased, report.withheld, report.head) == (3, (), 0, lines[-1]["sha256"])


def test_erased_content_is_reported_and_the_rest_verifies() -> None:
    lines = chain(4)
    lines[1] |= {"salt": None, "content": None}
    lines[2] |= {"salt": None, "content": None, "withheld": True}
    report = chain_verify(lines)
    assert (report.erased, report.withheld) == ((2,), 1)


@pytest.mark.parametrize(
    ("number", "change", "message"),
    [
        (1, {"content": canonical_json({"vote": 9})}, "content of entry 2 was changed"),
        (1, {"kind": "batch"}, "entry 2 was changed"),
        (1, {"previous": GENESIS}, "entry 2 does not follow"),
        (2, {"number": 4}, "entry 3 is missing"),
        (0, {"salt": "0" * 32}, "content of entry 1 was changed"),
    ],
)
def test_every_change_is_found(number: int, change: Line, message: str) -> None:
    lines = chain(3)
    lines[number] |= change
    with pytest.raises(ChainBroken, match=message):
        chain_verify(lines)


def test_removed_entry_is_found_even_if_its_successor_is_hashed_anew() -> None:
    lines = chain(3)
    lines[2] |= {"previous": lines[0]["sha256"]}
    lines[2] |= {"sha256": link_hash(lines[2])}
    with pytest.raises(ChainBroken, match="entry 2 is missing"):
        chain_verify([lines[0], lines[2]])


def test_line_without_a_field_is_named() -> None:
    with pytest.raises(ChainBroken, match="no field 'digest'"):
        chain_verify([{name: value for name, value in chain(1)[0].items() if name != "digest"}])
