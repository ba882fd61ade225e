"""Text functions that the bots share. They accept any text and take time linear in its length."""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence

from evalsite.demo.bots.base import MAX_REPLY, Turns

MAX_READ = 2000
"""Characters of a turn that a bot reads; the rest of a very long one is not looked at."""

MAX_TURNS = 50
"""Turns that a bot looks back."""

_STOP = """
a about after all also am an and any are as at be been before but by can could did do does for from get
give had has have he her here him his how i if in into is it its just me my no not of on once or our out
own she should so some somebody such tell than that the their them then there these they thing this to too
up us very was we were what when where which while who why will with would you your
"""
STOP_WORDS = frozenset(_STOP.split())

CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
"""The apostrophe that telephones write."""

_LETTERS = re.compile(rf"([A-Za-z]+(?:['{CURLY}][A-Za-z]+)?)")
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
_ENDINGS = (("ies", "y"), ("ves", "f"), ("sses", "ss"), ("s", ""))

_TURNED = {
    "i": "you",
    "i'm": "you're",
    "i've": "you've",
    "i'll": "you'll",
    "i'd": "you'd",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "am": "are",
    "you": "I",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
}


def clean(text: str, limit: int = MAX_READ) -> str:
    """Return the first `limit` characters without control characters and lone surrogates, with single spaces."""
    head = text[:limit]
    cleaned = (" " if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} else char for char in head)
    return " ".join("".join(cleaned).split())


def clip(text: str, limit: int = MAX_REPLY) -> str:
    """Return the text, or its beginning up to the end of a word with an ellipsis, in at most `limit` characters."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    return (head.rsplit(" ", 1)[0] if " " in head else head) + "…"


def sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def last_user_text(turns: Turns) -> str:
    """Return the user's last text, cleaned; empty without one."""
    return clean(turns[-1].get("text", "")) if turns else ""


def earlier_user_texts(turns: Turns) -> tuple[str, ...]:
    """Return the user's texts before the last one, oldest first, cleaned."""
    earlier = turns[-MAX_TURNS:-1]
    return tuple(clean(turn.get("text", "")) for turn in earlier if turn.get("speaker") == "user")


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace(CURLY, "'"))


def stem(word: str) -> str:
    """Return a word without its plural ending.

    The rule is crude on purpose, because both sides of a match use the same one.
    """
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 3 and not word.endswith(("ss", "us", "is")):
            return word[: -len(ending)] + instead
    return word


def content(text: str) -> list[str]:
    """Return the stems of the content words in order."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1]


def sentences(text: str) -> Iterator[str]:
    return (found.group().strip() for found in _SENTENCE.finditer(text) if found.group().strip(" .!?;"))


def turned(text: str) -> str:
    """Swap the grammatical person: "I lost my keys" becomes "you lost your keys"."""
    parts = _LETTERS.split(text)
    seen = [_TURNED.get(part.lower().replace(CURLY, "'"), part) for part in parts]
    for at, part in enumerate(seen):
        if part == "I" and not "".join(seen[at + 1 : at + 3]).strip()[:1].isalpha():
            seen[at] = "me"  # At the end of a phrase, the pronoun is an object: "I like you" -> "you like me".
    return re.sub(r"\byou was\b", "you were", "".join(seen))


def number(*salt: str) -> int:
    """Return an integer that depends only on the salt. Python's own hash would also depend on the process."""
    digest = hashlib.blake2b("\x1f".join(salt).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def pick(options: Sequence[str], *salt: str) -> str:
    """Return one of the options, always the same one for the same salt."""
    return options[number(*salt) % len(options)]
