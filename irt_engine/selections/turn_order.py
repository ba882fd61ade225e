"""Effects of display order (anchoring) and of earlier turns (cascade)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, IntArray
from irt_engine.selections.tables import TurnTable


@dataclass(frozen=True, slots=True)
class Repetition:
    """Store how often an event of one turn happens again in the next turn of the same conversation.

    Parameters
    ----------
    name : str
        Name of the chatbot, or kind of tie.
    after : int
        Number of pairs of consecutive turns of which the first had the event.
    again : int
        Number of these pairs of which the second turn had the event too.
    otherwise : int
        Number of pairs of consecutive turns of which the first did not have the event.
    anew : int
        Number of these pairs of which the second turn had the event.
    expected : float
        Expected value of `again` if the order of a conversation's turns does not matter.
    z : float or None
        Standardized difference of `again` and `expected`; None if every order gives the same `again`.
    p : float or None
        Two-sided p value of `z`; None without `z`.
    """

    name: str
    after: int
    again: int
    otherwise: int
    anew: int
    expected: float
    z: float | None
    p: float | None


def by_position(table: TurnTable) -> TurnTable | None:
    """Return the turns with display positions as columns, to analyse selection by position (anchoring).

    Parameters
    ----------
    table : TurnTable
        The turns of one setting.

    Returns
    -------
    TurnTable or None
        The table with columns "1" to "k"; None without positions, and for a single chatbot.
    """
    if table.position is None or len(table.chatbots) == 1:
        return None
    selected = np.take_along_axis(table.selected, np.argsort(table.position, axis=1), axis=1)
    names = tuple(str(m + 1) for m in range(len(table.chatbots)))
    return replace(table, chatbots=names, selected=selected, position=None)


def reselection(table: TurnTable) -> tuple[Repetition, ...]:
    """Return how often each chatbot is selected again in the next turn (cascade).

    Parameters
    ----------
    table : TurnTable
        The turns of one setting.

    Returns
    -------
    tuple of Repetition, length k
        One per chatbot. The test compares with random orders of the turns within each conversation, so that an
        annotator who likes a chatbot throughout does not count as a cascade.

    References
    ----------
    Mood, A. M. (1940). The distribution theory of runs. Annals of Mathematical Statistics 11, 367-392.
    """
    follows = _follows(table)
    return tuple(_repetition(name, table.selected[:, m].astype(bool), follows) for m, name in enumerate(table.chatbots))


def tie_repetition(table: TurnTable) -> tuple[Repetition, ...]:
    """Return how often turns with all replies selected, and with none, follow each other.

    Parameters
    ----------
    table : TurnTable
        The turns of one setting.

    Returns
    -------
    tuple of Repetition
        "tie-win" and "tie-loss"; empty for a setting without ties.
    """
    if table.one_best or len(table.chatbots) == 1:
        return ()
    follows = _follows(table)
    chosen = table.selected.sum(axis=1)
    events = {"tie-win": chosen == len(table.chatbots), "tie-loss": chosen == 0}
    return tuple(_repetition(name, event, follows) for name, event in events.items())


def _follows(table: TurnTable) -> BoolArray:
    """Whether each turn is the next one of the turn in the row before, shape (n,)."""
    same = np.diff(table.conversation, prepend=table.conversation[0] - 1) == 0
    next_one = np.diff(table.turn, prepend=table.turn[0] - 1) == 1
    follows: BoolArray = same & next_one
    return follows


def _repetition(name: str, event: BoolArray, follows: BoolArray) -> Repetition:
    before, now = event[:-1][follows[1:]], event[1:][follows[1:]]
    again, after = int((before & now).sum()), int(before.sum())
    expected, variance = _random_order(event, (~follows).cumsum() - 1)
    z = None if variance <= 0.0 else float((again - expected) / np.sqrt(variance))
    p = None if z is None else float(2.0 * ndtr(-abs(z)))
    return Repetition(name, after, again, len(before) - after, int((~before & now).sum()), expected, z, p)


def _random_order(event: BoolArray, stretch: IntArray) -> tuple[float, float]:
    """Return mean and variance of the number of repetitions over random orders within unbroken stretches of turns.

    s events in n turns form R runs, and s - R repetitions. R is hypergeometric: s drawn out of n, of which n - s + 1
    count (Mood 1940).
    """
    n = np.bincount(stretch).astype(np.float64)
    s = np.bincount(stretch, weights=event)
    mean = s * (s - 1.0) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(n > 1.0, s * (s - 1.0) * (n - s) * (n - s + 1.0) / (n * n * (n - 1.0)), 0.0)
    return float(mean.sum()), float(variance.sum())
