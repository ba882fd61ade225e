"""What a board's pictures are drawn from: how every pair of chatbots fared, and what the fit learned about the votes.

Computed where the fit is (pages load no statistics), and kept for the newest snapshot of a board only: an earlier
one's can be had again from its posterior and its votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalsite.judgments.selectors import CountedVote

if TYPE_CHECKING:  # the web process reads records and must not load the engine
    from irt_engine import Posterior

DIGITS = 5
DIFFERENCES = tuple(0.25 * step for step in range(25))  # of abilities, in logits: where a prompt's information is kept
MARGIN = 1.959964  # standard errors on either side of a 95 % interval


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows of a board, `first` the one that stands higher: its votes, and the difference of the abilities.

    first, second: indices into the snapshot's rows. won, tied, lost: votes, as `first` saw them. mean, se: of the
    ability of `first` minus that of `second`, in logits; mean -+ margin is its 95 % interval. p_above: the
    probability that `first` is the better one. known: ties that nobody judged (`ties`).
    """

    first: int
    second: int
    won: int
    tied: int
    lost: int
    mean: float
    se: float
    margin: float
    p_above: float
    known: int = 0

    @property
    def judgments(self) -> int:
        return self.won + self.tied + self.lost

    @property
    def win_rate(self) -> float | None:
        """Wins of `first` and half of the ties, known ones too, as a share of them and the votes."""
        return _win_rate(self.won, self.tied, self.judgments, self.known)

    def turned(self) -> Pair:
        """The same pair as `second` saw it."""
        return Pair(
            self.second,
            self.first,
            self.lost,
            self.tied,
            self.won,
            -self.mean,
            self.se,
            self.margin,
            1.0 - self.p_above,
            self.known,
        )


@dataclass(frozen=True, slots=True)
class Points:
    """Votes of one chatbot: those that it won, and ties. known: ties that nobody judged (`ties`)."""

    won: int
    tied: int
    judgments: int
    known: int = 0

    @property
    def win_rate(self) -> float | None:
        """Wins and half of the ties, known ones too, as a share of them and the votes."""
        return _win_rate(self.won, self.tied, self.judgments, self.known)


def _win_rate(won: int, tied: int, judgments: int, known: int) -> float | None:
    count = judgments + known
    return (won + 0.5 * (tied + known)) / count if count else None


def points(votes: Sequence[CountedVote], known: Mapping[int, int] | None = None) -> dict[int, Points]:
    """Version id -> what its votes were; `known`: version id -> its known ties."""
    known = known or {}
    won: Counter[int] = Counter()
    tied: Counter[int] = Counter()
    judgments: Counter[int] = Counter()
    for (first, second, outcome), count in _outcomes(votes).items():
        for version, sign in ((first, -1), (second, 1)):
            judgments[version] += count
            won[version] += count if outcome == sign else 0
            tied[version] += count if outcome == 0 else 0
    return {
        version: Points(won[version], tied[version], judgments[version], known.get(version, 0)) for version in judgments
    }


def pairs(
    posterior: Posterior, votes: Sequence[CountedVote], order: Sequence[int], known: Mapping[tuple[int, int], int]
) -> list[Pair]:
    """Every pair with votes or `known` ties, and every two neighbours in `order` (version ids as the rows have them) of
    one group. known: as `known_ties` has it."""
    place = {version: index for index, version in enumerate(order)}
    ties = {tuple(sorted((place[a], place[b]))): count for (a, b), count in known.items()}
    row = [place[int(name)] for name in posterior.chatbots]
    counts = _counts(votes, place)
    apart = posterior.differences()
    found = []
    for a, b, mean, se, p in zip(apart.a, apart.b, apart.mean, apart.se, apart.p_better, strict=True):
        low, high = sorted((row[a], row[b]))
        if (low, high) not in counts and (low, high) not in ties and high - low > 1:
            continue
        if row[b] != low:  # the posterior speaks of b above a
            mean, p = -mean, 1.0 - p
        mean, se, margin, p = (round(float(value), DIGITS) for value in (mean, se, MARGIN * se, p))
        won, tied, lost = counts.get((low, high), (0, 0, 0))
        found.append(Pair(low, high, won, tied, lost, mean, se, margin, p, ties.get((low, high), 0)))
    return sorted(found, key=lambda pair: (pair.first, pair.second))


def _counts(votes: Sequence[CountedVote], place: Mapping[int, int]) -> dict[tuple[int, int], tuple[int, int, int]]:
    """(higher row, lower row) -> votes that the higher one won, tied and lost."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for (first, second, outcome), count in _outcomes(votes).items():
        first_is_above = place[first] < place[second]
        low, high = sorted((place[first], place[second]))
        counts[low, high, outcome if first_is_above else -outcome] += count
    return {(low, high): (counts[low, high, -1], counts[low, high, 0], counts[low, high, 1]) for low, high, _ in counts}


def fit_facts(posterior: Posterior, known: int = 0) -> dict[str, Any]:
    """What the fit learned beside the abilities, as the methodology page tells it. known: of its votes, those that are
    known ties (`ties`); ties are those of people."""
    return {
        "prompts": len(posterior.prompts),
        "cells": posterior.cells,
        "ties": None if posterior.ties is None else posterior.ties - known,
        "known_ties": known,
        "side": posterior.side,
        "side_se": posterior.side_se,
        "scales": asdict(posterior.scales),
        "iterations": posterior.iterations,
    }


def _outcomes(votes: Sequence[CountedVote]) -> Counter[tuple[int, int, int]]:
    return Counter((vote.first_version, vote.second_version, vote.outcome) for vote in votes)
