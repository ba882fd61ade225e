"""Topical keywords of an utterance, without a model.

A keyword is a run of up to three words between function words, punctuation and words of everyday talk: "the band played
jazz fusion in new orleans" has `band`, `jazz fusion` and `new orleans`. Words become lower case, and plurals singular
by suffix. Longer runs are split into their words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

MAX_WORDS = 3
_WORD = re.compile(r"[a-z]+(?:[-'][a-z]+)*|[.,;:!?()\"\n]|\d+")
_COMMON = frozenset((Path(__file__).parent / "data" / "common_words.txt").read_text(encoding="utf-8").split())


def keywords(text: str) -> frozenset[str]:
    """Return the different keywords of a text."""
    found: set[str] = set()
    run: list[str] = []
    for word in [*_WORD.findall(text.lower()), "."]:
        if part := _part(word):
            run.append(part)
            continue
        found.update([" ".join(run)] if 0 < len(run) <= MAX_WORDS else run)
        run = []
    return frozenset(found)


@lru_cache(maxsize=100_000)
def _part(word: str) -> str:
    """Return the word as keywords have it; "" if it ends a run."""
    if word[0].isalpha() and len(word) > 1 and word not in _COMMON:
        return _singular(word.removesuffix("'s"))
    return ""


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies") and word != "movies":
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
