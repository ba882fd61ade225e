"""The concierge's memory: a search in the user's earlier sentences."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalsite.demo.bots.text import content, sentences, turned, words

_CUES = re.compile(
    r"\b(?:again|remind|remember|did i say|did i tell|what was|my name|where are my|where is my"
    r"|do i have|on which day|what did i)\b"
)
"""Words by which people ask for something that they have said before."""

_KINDS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(answer))
    for asked, answer in (
        (r"\bname\b", r"\b[Mm]y name is\b|\b[Ii]'m called\b"),
        (r"\b(?:which|what) day\b", r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b"),
        (r"\bwhere\b", r"\b(?:in|at|on|under|behind)\b"),
        (r"\bhow many\b", r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b"),
        (r"\bcolou?r\b", r"\b(?:red|green|blue|white|black|yellow|grey|pink|brown|orange|purple)\b"),
    )
)
"""What is asked for -> what a sentence that answers it looks like."""

_CANNOT_EAT = re.compile(
    r"\b(?:allergic to|(?:does|do) not eat|doesn't eat|don't eat|cannot eat|can't eat) (\w+)", re.IGNORECASE
)
_FOOD = frozenset({"bake", "cake", "cook", "dinner", "dish", "eat", "lunch", "meal", "recipe", "supper"})


@dataclass(frozen=True, slots=True)
class Recollection:
    """A sentence of the user, rephrased for the reply, and its score (higher is better)."""

    sentence: str
    fit: float


def statements(earlier: Sequence[str]) -> Iterator[str]:
    """Yield the sentences that are not questions.

    Of "Let us play: the word is x", also yield the part after the colon.
    """
    for text in earlier:
        for sentence in sentences(text):
            if not sentence.endswith("?"):
                yield sentence.rstrip(" .!;")
                yield from (part.strip(" .!;") for part in sentence.split(": ")[1:])


def recall(question: str, earlier: Sequence[str]) -> Recollection | None:
    """Return the earlier statement that best answers the question; None if the user does not ask for one."""
    if not earlier or "?" not in question or not _CUES.search(question.lower()):
        return None
    best = max(statements(earlier), key=lambda sentence: fit_of(question, sentence), default="")
    fit = fit_of(question, best)
    return Recollection(turned(best), fit) if best and (fit >= 1 or len(list(statements(earlier))) == 1) else None


def fit_of(text: str, sentence: str) -> float:
    """Score a sentence: shared content words, plus one for each requested kind, minus a little for length."""
    shared = len(set(content(text)) & set(content(sentence)))
    kinds = sum(1 for question, answer in _KINDS if question.search(text) and answer.search(sentence))
    return shared + kinds - len(words(sentence)) / 200


def left_out(text: str, earlier: Sequence[str]) -> Recollection | None:
    """Return foods that the user cannot eat, if the conversation is about food and asks for no sentence."""
    if not _FOOD & set(words(text)):
        return None
    for sentence in statements(earlier):
        if found := _CANNOT_EAT.search(sentence):
            return Recollection(f"{found.group(1).lower()}, since {turned(sentence)}", 1.0)
    return None
