"""Babbler: a Markov chain over the project's own sentences. Its text sounds natural but means little."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from evalsite.demo.bots.base import Turns
from evalsite.demo.bots.shelf import shelf
from evalsite.demo.bots.text import last_user_text, number, sentence_case, words

_LENGTH = (9, 18)
"""Words of a reply: at least, at most."""


@cache
def chain() -> Mapping[str, tuple[str, ...]]:
    """Map each word to its successors in the sentences, with repetitions. The chain has order one, hence nonsense."""
    follows: dict[str, list[str]] = defaultdict(list)
    for sentence in shelf():
        spoken = words(sentence)
        for word, after in pairwise(spoken):
            follows[word].append(after)
    return {word: tuple(after) for word, after in follows.items()}


def babble(seed_text: str) -> str:
    """Generate a walk through the chain that begins with a word of the text, if the chain has one."""
    links, first, last = chain(), *_LENGTH
    known = [word for word in words(seed_text) if word in links] or sorted(links)
    walk = [known[number("start", seed_text) % len(known)]]
    length = first + number("length", seed_text) % (last - first + 1)
    while len(walk) < length:
        after = links.get(walk[-1]) or tuple(sorted(links))
        walk.append(after[number("step", seed_text, str(len(walk))) % len(after)])
    return sentence_case(" ".join(walk)) + "."


@dataclass(frozen=True, slots=True)
class Babbler:
    key: str = "babbler"
    name: str = "Babbler"
    description: str = "Strings words together by chance, each one after a word that it has followed before."

    def reply(self, turns: Turns) -> str:
        return babble(last_user_text(turns))
