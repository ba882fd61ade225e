"""Examples from which the classifier of topics learns.

The project's own text stands in `data`: utterances with their domains, words of each domain, and reactions whose
subject is that of the utterance before. From it come examples in context, because a conversation has few sentences that
stand alone: "i love it" after a film is about films, "yeah" after a film is about nothing.
"""

from __future__ import annotations

import csv
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evalsite.scorecards.domains import DOMAINS

DATA = Path(__file__).parent / "data"
_SELF_CONTAINED = frozenset({"phatic", "none", "humor_wordplay", "chatbot"})  # A reaction never takes these domains.
_THINNED = 0.75  # Share of the listed words that held-out utterances lose.
_REACTIONS = 90  # Examples of reactions for each domain.
_FRAMES = (
    "{}",
    "do you like {}?",
    "i like {}",
    "tell me about {}",
    "what do you think about {}?",
    "have you heard of {}?",
    "did you know that {} is popular?",
    "let's talk about {}",
    "my favorite is {}",
    "the {} was great",
    "i have a {}",
    "i was thinking of {}",
)
_WORD = re.compile(r"[a-z0-9'&-]+")
_PRONOUNS = ("it", "that", "them", "one", "this", "those")
_JOINTS = (". ", ", ", "! ", " ", "? ")


class Example(NamedTuple):
    """An utterance after the previous one, with its domain."""

    previous: str
    utterance: str
    domain: str


@dataclass(frozen=True, slots=True)
class TrainingText:
    """Utterances, words of domains, and reactions that take their domain from the previous utterance."""

    utterances: tuple[Example, ...]
    words: tuple[tuple[str, str], ...]  # (word, domain)
    reactions: tuple[str, ...]


def own_text(data: Path = DATA) -> TrainingText:
    """Return the project's own training text."""
    with (data / "topic_utterances.csv").open(encoding="utf-8", newline="") as file:
        utterances = tuple(Example(row["previous"], row["utterance"], row["domain"]) for row in csv.DictReader(file))
    reactions = (data / "topic_reactions.txt").read_text(encoding="utf-8").splitlines()
    return TrainingText(utterances, tuple(_words(data / "topic_words.txt")), tuple(reactions))


def _words(path: Path) -> Iterable[tuple[str, str]]:
    domain = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            domain = line[2:]
        else:
            yield from ((word, domain) for word in (part.strip() for part in line.split(",")) if word)


def examples_in_context(text: TrainingText, seed: int = 0) -> list[Example]:
    """Return examples of the text in many contexts, equal for equal seeds."""
    return list(_Composition(text, random.Random(seed)).examples())  # noqa: S311  not for secrets


class _Composition:
    """Puts utterances into contexts."""

    def __init__(self, text: TrainingText, rng: random.Random) -> None:
        self._text, self._rng = text, rng
        self._by: defaultdict[str, list[str]] = defaultdict(list)
        self._words: defaultdict[str, list[str]] = defaultdict(list)
        for one in text.utterances:
            self._by[one.domain].append(one.utterance)
        for word, domain in text.words:
            self._words[domain].append(word)
        self._subjects = [name for name in DOMAINS if name in self._by and name not in _SELF_CONTAINED]
        self._subject_words = subject_words(text.words)
        self._acknowledgements = self._by["none"] or [""]
        self._greetings = self._by["phatic"] or [""]
        self._fillers = [*self._acknowledgements, *self._greetings, *text.reactions]

    def examples(self) -> Iterable[Example]:
        for one in self._text.utterances:
            yield from self._contexts(one)
        for word, domain in self._text.words:
            yield Example("", word, domain)
            yield Example(self._any_previous(), self._rng.choice(_FRAMES).format(word), domain)
        for domain in self._subjects if self._text.reactions else ():
            for _ in range(_REACTIONS):
                yield Example(self._sentence(domain), self._reaction(), domain)
        for _ in range(2 * _REACTIONS if self._text.reactions else 0):
            yield Example(
                self._rng.choice([*self._acknowledgements, ""]), self._rng.choice(self._text.reactions), "none"
            )

    def _contexts(self, one: Example) -> Iterable[Example]:
        if one.previous:
            yield one
            yield one
        else:
            yield Example("", one.utterance, one.domain)
        if one.domain == "none":
            yield from self._empty_contexts(one.utterance)
            return
        yield Example(self._subject(), one.utterance, one.domain)
        yield Example(self._rng.choice([*self._acknowledgements, *self._greetings]), one.utterance, one.domain)
        if one.domain == "phatic":
            yield self._joined(self._rng.choice(self._acknowledgements), one.utterance, one.domain)
            yield self._joined(one.utterance, self._rng.choice(self._greetings), one.domain)
        else:
            yield from self._mixtures(one)

    def _empty_contexts(self, utterance: str) -> Iterable[Example]:
        for _ in range(5):
            yield Example(self._subject(), utterance, "none")
        yield Example(self._rng.choice(self._greetings), utterance, "none")
        for previous in (self._rng.choice(self._acknowledgements), self._subject()):
            joined = self._joined(self._rng.choice(self._acknowledgements), utterance, "none")
            yield joined._replace(previous=previous)

    def _mixtures(self, one: Example) -> Iterable[Example]:
        """Yield the utterance beside others: with fillers, after a shorter one of another domain, with its own."""
        yield Example(self._sentence(one.domain), one.utterance, one.domain)
        if one.domain not in _SELF_CONTAINED:
            for _ in range(2):
                yield Example(self._sentence(one.domain), self._masked(one.utterance), one.domain)
        for _ in range(2):
            filler = self._rng.choice(self._fillers)
            pair = (filler, one.utterance) if self._rng.random() < 0.7 else (one.utterance, filler)
            yield self._joined(*pair, one.domain)
        shorter = self._rng.choice(self._by[self._rng.choice(self._subjects)] if self._subjects else [""])
        if len(shorter) < len(one.utterance):
            yield self._joined(shorter, one.utterance, one.domain)
        yield self._joined(one.utterance, self._rng.choice(self._by[one.domain]), one.domain)

    def _joined(self, first: str, second: str, domain: str) -> Example:
        text = first.rstrip("?.!,") + self._rng.choice(_JOINTS) + second
        return Example(self._any_previous(), text, domain)

    def _reaction(self) -> str:
        reaction = self._rng.choice(self._text.reactions)
        if self._rng.random() < 0.4:
            return self._joined(self._rng.choice(self._acknowledgements), reaction, "").utterance
        return reaction

    def _masked(self, utterance: str) -> str:
        """Return the utterance with pronouns in the place of the words of domains, so that its subject is before it."""
        return _WORD.sub(
            lambda found: self._rng.choice(_PRONOUNS) if found.group() in self._subject_words else found.group(),
            utterance,
        )

    def _any_previous(self) -> str:
        kind = self._rng.randrange(4)
        return ("", self._subject(), self._rng.choice(self._acknowledgements), self._rng.choice(self._greetings))[kind]

    def _subject(self) -> str:
        return self._sentence(self._rng.choice(self._subjects)) if self._subjects else ""

    def _sentence(self, domain: str) -> str:
        if self._words[domain] and self._rng.random() < 0.5:
            return self._rng.choice(_FRAMES).format(self._rng.choice(self._words[domain]))
        return self._rng.choice(self._by[domain])


def subject_words(words: Sequence[tuple[str, str]]) -> frozenset[str]:
    """Return the single words of the domains that have a subject, and their plurals."""
    single = {word for word, domain in words if " " not in word and domain not in _SELF_CONTAINED}
    return frozenset(single | {f"{word}s" for word in single})


def thinned(examples: Sequence[Example], words: Sequence[tuple[str, str]], seed: int = 0) -> list[Example]:
    """Return the examples without most of the words of domains, as if their speaker used words that are not listed."""
    rng, known = random.Random(seed), subject_words(words)  # noqa: S311  not for secrets

    def without(text: str) -> str:
        return _WORD.sub(
            lambda found: "" if found.group() in known and rng.random() < _THINNED else found.group(), text
        )

    return [one._replace(previous=without(one.previous), utterance=without(one.utterance)) for one in examples]


def with_utterances(text: TrainingText, more: Sequence[Example]) -> TrainingText:
    """Return the text with more utterances."""
    return TrainingText((*text.utterances, *more), text.words, text.reactions)
