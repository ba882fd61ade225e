"""Random samples of replies, and how large they must be for a wanted precision. Needs the standard library alone."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

from django.utils.translation import gettext

from evalsite.core.errors import InvalidInput

LEVEL = 0.95
CORRELATION = 0.1
"""Assumed correlation of errors of two replies in one conversation."""

WORST_RATE = 0.5
"""Error rate at which the interval is widest."""


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """How many replies of each chatbot to draw: exactly one of a share, a number, or a half-width of the interval.

    whole: draw conversations, and take all of their replies. rate: the expected error rate, for a half-width.
    """

    share: float | None = None
    number: int | None = None
    half_width: float | None = None
    whole: bool = False
    rate: float = WORST_RATE

    def __post_init__(self) -> None:
        given = [one for one in (self.share, self.number, self.half_width) if one is not None]
        if len(given) != 1:
            raise InvalidInput(
                gettext("Say how many replies to annotate."),
                hint=gettext("Give one of: a share, a number, or a half-width."),
                field="share",
            )
        if self.share is not None and not 0 < self.share <= 1:
            raise InvalidInput(gettext("A share is above 0, and at most 1."), field="share")
        if self.number is not None and self.number < 1:
            raise InvalidInput(gettext("Annotate one reply of each chatbot at least."), field="number")
        if self.half_width is not None and not 0.001 <= self.half_width <= 0.5:
            raise InvalidInput(gettext("A half-width is from 0.001 to 0.5."), field="half_width")
        if not 0 < self.rate < 1:
            raise InvalidInput(gettext("An error rate is between 0 and 1."), field="rate")

    @property
    def size(self) -> dict[str, float]:
        """Return the share, the number, or the half-width with its expected rate, by name."""
        if self.share is not None:
            return {"share": self.share}
        if self.number is not None:
            return {"number": self.number}
        return {"half_width": self.half_width or 0.0, "rate": self.rate}


class Drawn(NamedTuple):
    """The n-th reply of a conversation."""

    conversation: int
    number: int


def wanted_replies(request: SampleRequest, replies: Mapping[int, int]) -> int:
    """Return how many replies to draw from conversations with these numbers of replies, by conversation."""
    total = sum(replies.values())
    if request.number is not None:
        return min(request.number, total)
    if request.share is not None:
        return min(math.ceil(request.share * total), total)
    together = total / len(replies) if request.whole and replies else 1.0
    return replies_for_precision(request.half_width or 0.5, total, rate=request.rate, together=together)


def replies_for_precision(half_width: float, total: int, *, rate: float = WORST_RATE, together: float = 1.0) -> int:
    """Return how many of `total` replies give a 95 % interval of the error rate with this half-width.

    n0 = z^2 p (1 - p) / h^2, times the design effect 1 + (m - 1) rho of m replies drawn together, with the correction
    for a finite population n0 / (1 + (n0 - 1) / N) (Cochran 1977, sections 4.4 and 9.4).
    """
    z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    effect = 1 + max(0.0, together - 1) * CORRELATION
    infinite = effect * z**2 * rate * (1 - rate) / half_width**2
    return min(total, math.ceil(infinite / (1 + (infinite - 1) / total))) if total else 0


def replies_draw(replies: Mapping[int, int], wanted: int, *, whole: bool = False, rng: random.Random) -> list[Drawn]:
    """Return a random sample. Conversations come in random order, and the replies of each one in their own order.

    Of whole conversations, the last one may exceed the wanted number.
    """
    order = list(replies)
    rng.shuffle(order)
    if whole:
        drawn: list[Drawn] = []
        for conversation in order:
            if len(drawn) >= wanted:
                break
            drawn += [Drawn(conversation, number + 1) for number in range(replies[conversation])]
        return drawn
    every = [Drawn(conversation, number + 1) for conversation in order for number in range(replies[conversation])]
    return [every[place] for place in sorted(rng.sample(range(len(every)), min(wanted, len(every))))]
