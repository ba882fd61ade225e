"""Pages use one word per thing: the table "Words on screen" of docs/glossary.md, against both catalogues."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from babel.messages import Catalog

from tests.house import messages

GLOSSARY = messages.ROOT / "docs" / "glossary.md"
# For those who run the service. Owners, readers and annotators know the board only.
OPERATORS = ("evalsite/console/health.py",)


class Term(NamedTuple):
    """A row of the table."""

    english: str
    german: str
    not_english: tuple[str, ...]
    not_german: tuple[str, ...]


def terms() -> list[Term]:
    section = GLOSSARY.read_text().partition("## Words on screen")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return [Term(row[0], row[1], *(tuple(cell.split(", ")) for cell in row[2:])) for row in rows[2:]]


def texts(catalogue: Catalog, *, german: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each text of a catalogue with the files that show it."""
    for message in catalogue:
        found = (message.string if german else message.id) or ""
        for text in [found] if isinstance(found, str) else found:
            yield re.sub(r"%\(\w+\)s", "", text), [file for file, _ in message.locations]


def offences(words: tuple[str, ...], *, german: bool) -> list[str]:
    """Return the texts with one of these words. A German noun has a capital letter; English words may have one."""
    forbidden = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", 0 if german else re.IGNORECASE)
    catalogue = messages.catalogue("de")
    return [text for text, _ in texts(catalogue, german=german) if forbidden.search(text)]


def test_table_of_words_is_read() -> None:
    assert {"reply", "judgment", "board"} <= {term.english for term in terms()}


@pytest.mark.parametrize("german", [False, True], ids=["English", "German"])
def test_texts_have_no_forbidden_words(german: bool) -> None:
    words = tuple(word for term in terms() for word in (term.not_german if german else term.not_english))
    assert offences(words, german=german) == []


def test_texts_use_every_term() -> None:
    catalogue = messages.catalogue("de")
    english = "\n".join(text for text, _ in texts(catalogue, german=False)).lower()
    german = "\n".join(text for text, _ in texts(catalogue, german=True))
    assert [term.english for term in terms() if term.english not in english or term.german not in german] == []


def test_only_operators_read_of_refits() -> None:
    others = [
        text
        for text, files in texts(messages.catalogue("de"), german=False)
        if re.search(r"\brefits?\b", text, re.IGNORECASE) and not set(files) <= set(OPERATORS)
    ]
    assert others == []
