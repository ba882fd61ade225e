"""Simulated annotators, who compare two texts and have different weaknesses.

| kind            | of 12 | behaviour                                                                  |
|-----------------|-------|----------------------------------------------------------------------------|
| careful         | 5     | judges by the truth, temperature 1                                         |
| noisy           | 3     | judges by the truth, temperature 2: half as certain                        |
| side-preferring | 2     | adds 0.8 logits for the first reply                                        |
| careless        | 1     | picks a random choice without reading                                      |
| adversarial     | 1     | judges like a careful one, then exchanges A and B                          |

Annotators see only texts. `SimulatedTruth` knows the authors. For an unknown text, such as one of a visitor's chatbot,
annotators guess like the careless one.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from evalsite.demo.truth import SimulatedTruth, VerdictOdds

JsonObject = Mapping[str, Any]
"""An assignment in the API's format: context, candidates, aspects."""

NOISY_TEMPERATURE = 2.0
SIDE_PREFERENCE = 0.8


class AnnotatorKind(StrEnum):
    CAREFUL = "careful"
    NOISY = "noisy"
    SIDE_PREFERRING = "side-preferring"
    CARELESS = "careless"
    ADVERSARIAL = "adversarial"


PANEL_OF_TWELVE: Mapping[AnnotatorKind, int] = MappingProxyType(
    {
        AnnotatorKind.CAREFUL: 5,
        AnnotatorKind.NOISY: 3,
        AnnotatorKind.SIDE_PREFERRING: 2,
        AnnotatorKind.CARELESS: 1,
        AnnotatorKind.ADVERSARIAL: 1,
    }
)
"""How many of each kind in a panel of 12; other sizes keep these shares as well as whole people can."""


@dataclass(frozen=True, slots=True)
class SimulatedAnnotator:
    """A simulated annotator. It has no memory: its verdict depends only on the assignment and the generator."""

    name: str
    kind: AnnotatorKind
    truth: SimulatedTruth = field(repr=False)

    def recognises(self, assignment: JsonObject) -> bool:
        """Return whether the truth knows the authors of both texts. Otherwise the verdict is a guess."""
        return self.odds(assignment) is not None

    def odds(self, assignment: JsonObject) -> VerdictOdds | None:
        """Return the odds of the verdicts of a reading annotator; None if a text is unknown."""
        prompt = assignment["context"]["prompt"]
        shown = {candidate["label"]: candidate for candidate in assignment["candidates"]}
        a, b = (self.truth.identify(prompt, shown[label]["text"]) for label in ("A", "B"))
        if a is None or b is None:
            return None
        temperature = NOISY_TEMPERATURE if self.kind is AnnotatorKind.NOISY else 1.0
        side = SIDE_PREFERENCE if self.kind is AnnotatorKind.SIDE_PREFERRING else 0.0
        a_is_first = shown["A"]["position"] < shown["B"]["position"]
        odds = self.truth.odds(a, b, prompt, temperature=temperature, side=side if a_is_first else -side)
        return odds.mirrored() if self.kind is AnnotatorKind.ADVERSARIAL else odds

    def judge(self, assignment: JsonObject, rng: random.Random) -> str:
        """Return the verdict on the first question: one of its choices ("A", "tie", "B", "both_bad")."""
        return self._choose(assignment, assignment["aspects"][0], rng)

    def answers(self, assignment: JsonObject, rng: random.Random) -> list[dict[str, str]]:
        """Return the verdicts on all questions, in the format of the API."""
        return [
            {"aspect": aspect["key"], "choice": self._choose(assignment, aspect, rng)}
            for aspect in assignment["aspects"]
        ]

    def _choose(self, assignment: JsonObject, aspect: JsonObject, rng: random.Random) -> str:
        choices: Sequence[str] = aspect["choices"]
        odds = None if self.kind is AnnotatorKind.CARELESS else self.odds(assignment)
        if odds is None:
            return rng.choice(choices)
        weights = offered(odds, choices)
        return rng.choices(list(weights), list(weights.values()))[0]


def offered(odds: VerdictOdds, choices: Sequence[str]) -> dict[str, float]:
    """Return the odds of the available choices.

    Without "both_bad", its odds go to the tie. Without "tie", they are split evenly between the sides. The order is
    always A, tie, B, both_bad, so that one generator gives the same verdict for any order of the choices.
    """
    weights = odds.by_choice()
    if "both_bad" not in choices:
        weights["tie"] += weights.pop("both_bad")
    if "tie" not in choices:
        spare = weights.pop("tie")
        weights["A"] += spare / 2
        weights["B"] += spare / 2
    return weights


def panel(count: int, seed: int, truth: SimulatedTruth) -> tuple[SimulatedAnnotator, ...]:
    """Return `count` annotators in the shares of PANEL_OF_TWELVE (largest remainders), in an order by the seed.

    Raises ValueError if count is below 1.
    """
    if count < 1:
        raise ValueError("a panel needs at least one annotator")
    kinds = [kind for kind, number in _shares(count).items() for _ in range(number)]
    random.Random(seed).shuffle(kinds)  # noqa: S311  (a simulation, no secret)
    return tuple(SimulatedAnnotator(f"{kind.value}-{place:02d}", kind, truth) for place, kind in enumerate(kinds, 1))


def _shares(count: int) -> dict[AnnotatorKind, int]:
    whole = sum(PANEL_OF_TWELVE.values())
    numbers = {kind: count * share // whole for kind, share in PANEL_OF_TWELVE.items()}
    by_remainder = sorted(PANEL_OF_TWELVE, key=lambda kind: -(count * PANEL_OF_TWELVE[kind] % whole))
    for kind in by_remainder[: count - sum(numbers.values())]:
        numbers[kind] += 1
    return numbers
