"""Bookmark: finds the most similar sentence in its collection (TF-IDF and cosine)."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.text import content, earlier_user_texts, last_user_text, pick

CONTEXT_WEIGHT = 0.35
"""What a word of an earlier turn counts, beside 1 for a word of the last one."""

_FAR = 0.12
"""Cosine. A sentence that is less similar than this is offered only as a stray thought."""

_STRAY = (
    "I found nothing on that, but I did find this: {line}",
    "My shelf is silent here. The book next to it says: {line}",
    "Not quite your question, I fear. {line}",
)


@cache
def shelf() -> tuple[str, ...]:
    """Return the sentences of shelf.txt, written for this project, one per line."""
    return tuple(Path(__file__).with_name("shelf.txt").read_text(encoding="utf-8").split("\n")[:-1])


@cache
def rarity() -> Mapping[str, float]:
    """Map stems to their inverse document frequency: log(1 + sentences / sentences with the stem)."""
    seen = Counter(word for line in shelf() for word in set(content(line)))
    return {word: math.log1p(len(shelf()) / count) for word, count in seen.items()}


@cache
def vectors() -> tuple[Mapping[str, float], ...]:
    """Return each sentence as a vector of length 1 (stem -> weight)."""
    rare = rarity()
    return tuple(unit({word: rare[word] * n for word, n in Counter(content(line)).items()}) for line in shelf())


def unit(vector: Mapping[str, float]) -> Mapping[str, float]:
    length = math.sqrt(sum(weight * weight for weight in vector.values()))
    return {word: weight / length for word, weight in vector.items()} if length else {}


def query(turns: Turns) -> Mapping[str, float]:
    """Return the user's words as a unit vector.

    Earlier turns have lower weights. Words outside the collection are ignored.
    """
    counts = Counter[str]()
    for text, weight in [(last_user_text(turns), 1.0)] + [(text, CONTEXT_WEIGHT) for text in earlier_user_texts(turns)]:
        for word in set(content(text)):
            counts[word] = max(counts[word], weight)  # type: ignore[assignment]
    return unit({word: rarity()[word] * weight for word, weight in counts.items() if word in rarity()})


def closest(turns: Turns) -> tuple[str, float]:
    """Return the most similar sentence (the first of equals) and its cosine, or 0 without any similarity."""
    vector = query(turns)
    scores = [sum(weight * line.get(word, 0.0) for word, weight in vector.items()) for line in vectors()]
    best = max(range(len(scores)), key=scores.__getitem__)
    return shelf()[best], scores[best]


@dataclass(frozen=True, slots=True)
class Retrieval:
    key: str = "bookmark"
    name: str = "Bookmark"
    description: str = "Looks up the sentence on its small shelf that comes closest to what you said."

    def reply(self, turns: Turns) -> str:
        line, similarity = closest(turns)
        if similarity >= _FAR:
            return line
        heard = last_user_text(turns)
        return pick(_STRAY, self.key, heard).format(line=pick(shelf(), "line", heard))
