"""A ranking on the scale of Elo ratings: 400 points are odds of 10 to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from evalsite.core.errors import InvalidInput
from evalsite.exchange.errors import listed
from evalsite.exchange.file_ranking import ChatbotRow, MergedRow, Ranking, SandwichCheck, StyleControl

POINTS_PER_LOGIT = 400.0 / math.log(10.0)
MEAN_RATING = 1000.0


@dataclass(frozen=True, slots=True)
class Anchor:
    """A chatbot with its rating. Ratings are relative: only one of them can be chosen."""

    chatbot: str
    rating: float


def in_elo(ranking: Ranking, anchor: Anchor | None = None) -> Ranking:
    """Return the ranking with abilities as Elo ratings, and differences of pairs in points.

    Without an anchor, the mean rating of a board is 1000. An anchor moves only its own group, because groups were never
    compared.

    Raises InvalidInput if no chatbot has the anchor's name.
    """
    anchored = next((row for row in ranking.chatbots if anchor is not None and row.name == anchor.chatbot), None)
    if anchor is not None and (anchored is None or anchored.ability is None):
        names = listed(sorted(row.name for row in ranking.chatbots))
        raise InvalidInput(
            f"The anchor {anchor.chatbot!r} is not in the ranking.", hint=f"Choose one of its chatbots: {names}."
        )
    shift = 0.0
    if anchor is not None and anchored is not None and anchored.ability is not None:
        shift = anchor.rating - MEAN_RATING - POINTS_PER_LOGIT * anchored.ability
    chatbots = [_rated(row, shift if anchored and row.group == anchored.group else 0.0) for row in ranking.chatbots]
    pairs = [replace(row, delta=_points(row.delta), se=_points(row.se)) for row in ranking.pairs]
    return replace(
        ranking,
        chatbots=tuple(chatbots),
        pairs=tuple(pairs),
        merged=ranking.merged and _merged(ranking.merged),
        sandwich=ranking.sandwich and _sandwich(ranking.sandwich),
        style=ranking.style and _style(ranking.style),
    )


def _merged(merged: MergedRow) -> MergedRow:
    points = POINTS_PER_LOGIT
    return replace(merged, se_before=points * merged.se_before, se_after=points * merged.se_after)


def _sandwich(check: SandwichCheck) -> SandwichCheck:
    points = POINTS_PER_LOGIT
    rows = [replace(row, ability=MEAN_RATING + points * row.ability, se=points * row.se) for row in check.chatbots]
    return replace(check, chatbots=tuple(rows))


def _style(style: StyleControl) -> StyleControl:
    points = POINTS_PER_LOGIT
    rows = [
        replace(row, **{name: points * getattr(row, name) for name in ("effect", "se", "lower", "upper")})
        for row in style.covariates
    ]
    return replace(style, covariates=tuple(rows))


def _rated(row: ChatbotRow, shift: float) -> ChatbotRow:
    ability, lower, upper = (
        None if value is None else MEAN_RATING + shift + POINTS_PER_LOGIT * value
        for value in (row.ability, row.lower, row.upper)
    )
    return replace(row, ability=ability, lower=lower, upper=upper, se=_points(row.se))


def _points(value: float | None) -> float | None:
    return None if value is None else POINTS_PER_LOGIT * value
