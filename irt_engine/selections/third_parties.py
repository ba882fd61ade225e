"""Agreement of people who judged the same turns again, and their judgments of replies that annotators wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from irt_engine.agreement.coefficients import Agreement, fleiss_kappa, krippendorff_alpha
from irt_engine.errors import InvalidResponses
from irt_engine.significance.proportions import Share
from irt_engine.significance.share_intervals import share_interval

Comparison = Literal["better", "equal", "worse"]


class ThirdPartySelection(NamedTuple):
    """Store whether one third party selected one reply of a turn.

    Parameters
    ----------
    turn : str
        Name of the turn.
    chatbot : str
        Name of the chatbot that wrote the reply.
    annotator : str
        Name of the third party.
    selected : bool
        Whether the reply was selected.
    """

    turn: str
    chatbot: str
    annotator: str
    selected: bool


@dataclass(frozen=True, slots=True)
class SelectionAgreement:
    """Store the agreement of third parties, with replies as items and selected or not as categories.

    Parameters
    ----------
    fleiss : Agreement
        Fleiss' kappa.
    krippendorff : Agreement
        Krippendorff's alpha, nominal.
    annotators, turns : int
        Number of third parties, and of turns that two or more of them judged.
    """

    fleiss: Agreement
    krippendorff: Agreement
    annotators: int
    turns: int


@dataclass(frozen=True, slots=True)
class WrittenQuality:
    """Store how third parties judged written replies against the chatbots' replies to the same message.

    Parameters
    ----------
    comparisons : int
        Number of judgments.
    at_least_as_good, better : Share
        Shares of judgments, with intervals.
    """

    comparisons: int
    at_least_as_good: Share
    better: Share


def selection_agreement(selections: Sequence[ThirdPartySelection]) -> SelectionAgreement:
    """Return Fleiss' kappa and Krippendorff's alpha of third parties.

    Parameters
    ----------
    selections : sequence of ThirdPartySelection
        One for each reply that a third party judged, in any order.

    Returns
    -------
    SelectionAgreement
        The coefficients. Turns with a single third party count for neither.

    Raises
    ------
    InvalidResponses
        If a third party judged a reply twice.

    Examples
    --------
    >>> rows = [ThirdPartySelection("t", bot, who, bot == "A") for bot in "AB" for who in ("x", "y")]
    >>> selection_agreement(rows).krippendorff.value
    1.0
    """
    if len({(one.turn, one.chatbot, one.annotator) for one in selections}) != len(selections):
        raise InvalidResponses(
            "a third party judged a reply twice", code="repeated_row", hint="keep one judgment of each reply"
        )
    items = {key: i for i, key in enumerate(dict.fromkeys((one.turn, one.chatbot) for one in selections))}
    counts = np.zeros((len(items), 2), np.int64)
    for one in selections:
        counts[items[one.turn, one.chatbot], int(one.selected)] += 1
    shared = {turn for (turn, _), i in items.items() if counts[i].sum() > 1}
    return SelectionAgreement(
        fleiss_kappa(counts),
        krippendorff_alpha(counts),
        len({one.annotator for one in selections}),
        len(shared),
    )


def written_quality(comparisons: Sequence[Comparison], *, level: float = 0.95) -> WrittenQuality:
    """Return the shares of written replies that are at least as good as, and better than, a chatbot's.

    Parameters
    ----------
    comparisons : sequence of {"better", "equal", "worse"}
        The written reply against the chatbot's, one for each judgment.
    level : float
        Coverage probability of the intervals (Wilson).

    Returns
    -------
    WrittenQuality
        The shares with their intervals.

    Raises
    ------
    InvalidResponses
        If there are no comparisons.

    Examples
    --------
    >>> round(written_quality(["better", "equal", "worse", "better"]).at_least_as_good.value, 2)
    0.75
    """
    if not comparisons:
        raise InvalidResponses(
            "there are no comparisons of written replies", code="no_votes", hint="have written replies judged first"
        )
    n, better, worse = len(comparisons), comparisons.count("better"), comparisons.count("worse")
    return WrittenQuality(n, share_interval(n - worse, n, level=level), share_interval(better, n, level=level))
