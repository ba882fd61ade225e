"""Chart data of a board: results of every pair of chatbots, and what the fit learned about the votes.

The data is computed next to the fit, because web processes load no statistics. It is stored for the newest snapshot of
a board only. For an earlier snapshot, compute it again from the posterior and the votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalsite.chatbots.models import Version
from evalsite.judgments.selectors import CountedVote

if TYPE_CHECKING:  # The web process reads chart data and must not load the engine.
    from irt_engine import Posterior, ResponseTable
    from irt_engine.agreement import MergedPrompts
    from irt_engine.posterior import ToldApart

DIGITS = 5
# Differences of ability, in logits, at which the information of a prompt is stored.
DIFFERENCES = tuple(0.25 * step for step in range(25))
MARGIN = 1.959964  # Standard errors on either side of a 95 % interval.


@dataclass(frozen=True, slots=True)
class Pair:
    """Votes between two rows of a board and the difference of their abilities.

    `first` is the row with the higher rank.
    first, second: indices into the rows of the snapshot.
    won, tied, lost: votes from the point of view of `first`.
    mean, se: the ability of `first` minus the ability of `second`, in logits; the 95 % interval is mean -+ margin.
    p_above: the probability that `first` is the better chatbot.
    known: ties without a vote (`known_ties`).
    apart: whether the board shows the two as different (`boards.rows.board_tests`); None where it was not stored.
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
    apart: bool | None = None

    @property
    def judgments(self) -> int:
        return self.won + self.tied + self.lost

    @property
    def win_rate(self) -> float | None:
        """Return the wins of `first` plus half of the ties, as a share of votes and known ties."""
        return _win_rate(self.won, self.tied, self.judgments, self.known)

    def turned(self) -> Pair:
        """Return the same pair from the point of view of `second`."""
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
            self.apart,
        )


@dataclass(frozen=True, slots=True)
class Points:
    """Votes of one chatbot by result.

    won, tied: number of votes.
    known: ties without a vote (`known_ties`).
    """

    won: int
    tied: int
    judgments: int
    known: int = 0

    @property
    def win_rate(self) -> float | None:
        """Return the wins plus half of the ties, as a share of votes and known ties."""
        return _win_rate(self.won, self.tied, self.judgments, self.known)


def _win_rate(won: int, tied: int, judgments: int, known: int) -> float | None:
    count = judgments + known
    return (won + 0.5 * (tied + known)) / count if count else None


def points(votes: Sequence[CountedVote], known: Mapping[int, int] | None = None) -> dict[int, Points]:
    """Return the vote counts for each version ID.

    known: number of known ties for each version ID.
    """
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
    tests: ToldApart,
    posterior: Posterior,
    votes: Sequence[CountedVote],
    order: Sequence[int],
    known: Mapping[tuple[int, int], int],
) -> list[Pair]:
    """Return every pair with votes or `known` ties, and all neighbours within a group.

    tests: those of the posterior, as the rows use them.

    order: version IDs in the order of the rows.
    known: known ties in the format of `known_ties`.
    """
    place = {version: index for index, version in enumerate(order)}
    ties = {tuple(sorted((place[a], place[b]))): count for (a, b), count in known.items()}
    row = [place[int(name)] for name in posterior.chatbots]
    counts = _counts(votes, place)
    between = posterior.differences()
    found = []
    columns = (between.a, between.b, between.mean, between.se, between.p_better, tests.apart.tolist())
    for a, b, mean, se, p, apart in zip(*columns, strict=True):
        low, high = sorted((row[a], row[b]))
        if (low, high) not in counts and (low, high) not in ties and high - low > 1:
            continue
        if row[b] != low:  # The posterior describes b minus a.
            mean, p = -mean, 1.0 - p
        mean, se, margin, p = (round(float(value), DIGITS) for value in (mean, se, MARGIN * se, p))
        won, tied, lost = counts.get((low, high), (0, 0, 0))
        found.append(Pair(low, high, won, tied, lost, mean, se, margin, p, ties.get((low, high), 0), apart))
    return sorted(found, key=lambda pair: (pair.first, pair.second))


def _counts(votes: Sequence[CountedVote], place: Mapping[int, int]) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Map (higher row, lower row) to the votes that the higher row won, tied and lost."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for (first, second, outcome), count in _outcomes(votes).items():
        first_is_above = place[first] < place[second]
        low, high = sorted((place[first], place[second]))
        counts[low, high, outcome if first_is_above else -outcome] += count
    return {(low, high): (counts[low, high, -1], counts[low, high, 0], counts[low, high, 1]) for low, high, _ in counts}


def fit_facts(posterior: Posterior, known: int = 0, merged: MergedPrompts | None = None) -> dict[str, Any]:
    """Return the estimates beside the abilities, for the methodology page.

    known: number of votes that are known ties (`known_ties`). The count of ties covers votes of people only.
    merged: the redundant prompts that were fitted as one prompt, if they are.
    """
    style = zip(posterior.style_names, posterior.style.tolist(), posterior.style_se.tolist(), strict=True)
    return {
        "prompts": len(posterior.prompts),
        "cells": posterior.cells,
        "ties": None if posterior.ties is None else posterior.ties - known,
        "known_ties": known,
        "side": posterior.side,
        "side_se": posterior.side_se,
        "scales": asdict(posterior.scales),
        "iterations": posterior.iterations,
        "style": [{"name": name, "effect": effect, "se": se} for name, effect, se in style],
        "merged": None if merged is None else {"groups": len(merged.groups), "change": merged.change},
    }


def sensitivity_facts(posterior: Posterior, table: ResponseTable) -> dict[str, Any]:
    """Return how far the board moves without its most influential annotators; empty for too few annotators.

    Chatbots are named by the public IDs of their versions, as in the rows of a snapshot.
    """
    from irt_engine.agreement import sensitivity_of

    found = sensitivity_of(posterior, table)
    if found is None:
        return {}
    versions = dict(Version.objects.filter(pk__in=posterior.chatbots).values_list("pk", "public_id"))
    names = [str(versions[int(name)]) for name in posterior.chatbots]
    return {
        "dropped": found.dropped,
        "annotators": found.annotators,
        "version": names[found.chatbot],
        "shift": round(found.shift, DIGITS),
        "shift_se": round(found.shift_se, DIGITS),
        "swaps": [[names[one] for one in pair] for pair in found.swaps],
    }


def _outcomes(votes: Sequence[CountedVote]) -> Counter[tuple[int, int, int]]:
    return Counter((vote.first_version, vote.second_version, vote.outcome) for vote in votes)
