"""Almanac: answers by keywords from a hand-written list of facts. It reads the last turn only."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import last_user_text, pick, stem, words

_UNKNOWN = (
    "That is not in my almanac. I am at home in kitchens, gardens, the sky and good manners.",
    "I have no page on that yet. Ask me about cooking, the stars, a present or a joke.",
    "My almanac has nothing about it, sorry. Perhaps you can put it in other words?",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A fact in the almanac.

    keys: sets of stems, each of which is enough for a match.
    say: the short answer, which is all that the almanac itself uses.
    more: further details; may be empty.
    ask: a question that continues the conversation.
    """

    keys: tuple[frozenset[str], ...]
    say: str
    more: str
    ask: str

    def match(self, heard: frozenset[str]) -> int:
        """Return the size of the largest key whose words all occur, or 0."""
        return max((len(key) for key in self.keys if key <= heard), default=0)


def root(word: str) -> str:
    """Return a stem without -ing and -ed, so that "moved" matches "move" and "speaking" matches "speak"."""
    word = stem(word)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word[: -len(ending)]
            word = word[:-1] if word[-1:] == word[-2:-1] not in {"l", "s"} else word  # running -> run
    return word.rstrip("e") if len(word) > 3 else word


def roots(text: str) -> frozenset[str]:
    return frozenset(root(word) for word in words(text))


@cache
def entries() -> tuple[Entry, ...]:
    """Load almanac.jsonl in order, one JSON object per line: {"keys": [text, ...], "say": text, "more": text, "ask":
    text}.
    """
    lines = Path(__file__).with_name("almanac.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(Entry(tuple(roots(key) for key in row["keys"]), row["say"], row["more"], row["ask"]) for row in rows)


def look_up(text: str) -> tuple[Entry | None, int]:
    """Return the entry with the largest matching key (the first of equals) and the size of that key."""
    heard = roots(text)
    best = max(entries(), key=lambda entry: entry.match(heard))
    size = best.match(heard)
    return (best, size) if size else (None, 0)


@dataclass(frozen=True, slots=True)
class Almanac:
    key: str = "almanac"
    name: str = "Almanac"
    description: str = "Answers from a hand-written list of useful things, by keywords."

    def reply(self, turns: Turns) -> str:
        heard = last_user_text(turns)
        entry, _ = look_up(heard)
        return entry.say if entry else pick(_UNKNOWN, self.key, heard)
