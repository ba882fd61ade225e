"""Hash chains with salted digests: a list to which entries are only added, and whose contents can be erased.

An entry holds a digest of its salt and content, and the hash of the entry before it. Without the salt, the digest tells
nothing about the content. So salt and content can be deleted, and the chain still verifies.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

GENESIS = "0" * 64  # The hash before the first entry.
LINKED = ("board", "number", "kind", "at", "digest", "previous")  # What the hash of an entry covers, in this order.


class ChainBroken(Exception):
    """An entry does not fit the chain. The message names the entry."""


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of a verification: entries in all, those without a content, and the hash of the last entry."""

    entries: int
    erased: tuple[int, ...]
    withheld: int
    head: str


def salt_make() -> str:
    """Return 128 random bits, in hexadecimal digits."""
    return secrets.token_hex(16)


def content_digest(salt: str, content: str) -> str:
    """Return the SHA-256 of the salt followed by the content."""
    return hashlib.sha256(f"{salt}{content}".encode()).hexdigest()


def link_hash(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry, which covers the hash of the entry before it."""
    return hashlib.sha256(canonical_json([entry[name] for name in LINKED]).encode()).hexdigest()


def chain_verify(entries: Iterable[Mapping[str, Any]]) -> ChainReport:
    """Check digests, hashes and numbers of entries in their order. Raises ChainBroken.

    Entries without a content are gaps. They are counted: `erased`, or `withheld` if the entry says so.
    """
    count, withheld, head = 0, 0, GENESIS
    erased: list[int] = []
    for count, entry in enumerate(entries, 1):
        _entry_verify(entry, count, head)
        head = entry["sha256"]
        if entry["content"] is None:
            withheld += bool(entry.get("withheld"))
            erased += [] if entry.get("withheld") else [count]
    return ChainReport(count, tuple(erased), withheld, head)


def _entry_verify(entry: Mapping[str, Any], number: int, head: str) -> None:
    missing = [name for name in (*LINKED, "sha256", "content", "salt") if name not in entry]
    if missing:
        raise ChainBroken(f"entry {number} has no field {missing[0]!r}")
    if entry["number"] != number:
        raise ChainBroken(f"entry {number} is missing, or not in its place")
    if entry["previous"] != head:
        raise ChainBroken(f"entry {number} does not follow the entry before it")
    if entry["sha256"] != link_hash(entry):
        raise ChainBroken(f"entry {number} was changed: its hash is another one")
    content, salt = entry["content"], entry["salt"]
    if content is not None and content_digest(str(salt), str(content)) != entry["digest"]:
        raise ChainBroken(f"the content of entry {number} was changed: its digest is another one")


def canonical_json(value: Any) -> str:
    """Return one text for equal values: keys in order, no spaces, ASCII alone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
