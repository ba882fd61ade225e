"""How far the judgments that are left can take a board, by the information that is expected of the best of them.

Nobody knows the answers yet, so the means stay and only the covariance falls. n judgments on a pair tell h about its
theta, which is h / (1 + h tau^2) about the abilities (`belief`), so that the precision grows by the Laplacian of these.
A pair's prompts are used best first: the best share x of them holds the share C(x) of all their information, and C is
taken from the pair in the middle of the board for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.graph import centred
from irt_engine.information import projections, variance_fall
from irt_engine.ranks import pair_variances

from .belief import Belief
from .errors import InvalidState
from .pool import Pool
from .state import CampaignState, Decision
from .targets import laplacian

_ROUNDS = 32  # after each of which the most valuable pairs are looked for again
_AT_ONCE = 8  # one of so many pairs shares a round: fewer than chatbots would starve some of a large board
_QUANTILES = ndtri((np.arange(400) + 0.5) / 400)  # of where a mean may be by then


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Where `judgments` more lead: abilities (M,) in the state's order, their covariance (M, M) now and then.

    Abilities are minus the mean of the board. Asks in flight are counted in, beside the `judgments`.
    """

    judgments: int
    ability: FloatArray
    now: FloatArray
    then: FloatArray


@dataclass(frozen=True, slots=True)
class Outlook:
    """The chance, at most, of reaching an aim; what is in reach in words, and in numbers."""

    chance: float
    words: str
    evidence: Mapping[str, float]


class Aim(Protocol):
    """A stopping rule that can say what a campaign may still reach."""

    order: ClassVar[int]

    def decide(self, state: CampaignState) -> Decision:
        """Stop or not, with the reason in words and in numbers."""
        ...

    def outlook(self, state: CampaignState, reach: Reach) -> Outlook:
        """What `reach` means for this aim."""
        ...


def reachable(state: CampaignState, judgments: int | None = None) -> Reach:
    """What up to `judgments` more can reach, sent where they lower the variance of all abilities most; None for all.

    A board in separate parts is taken to be joined. Costs 32 inversions: .03 s for 50 chatbots, 3 s for 200.
    Raises InvalidState before the first fit.
    """
    if state.posterior is None:
        raise InvalidState("there is no fit to look ahead from", code="no_fit", hint="fit the first judgments")
    pool = Pool(state)
    before = Belief(replace(state, pending=state.pending[:0]), state.posterior, pool)
    ahead = _Ahead(state, pool, Belief(state, state.posterior, pool))
    left = ahead.room.sum() if judgments is None else min(max(judgments, 0), ahead.room.sum())
    for _ in range(_ROUNDS):
        ahead.give(left / _ROUNDS)
    whole = np.ones(len(state.chatbots), np.int64)
    ability, now = centred(before.mean, before.covariance, whole)
    return Reach(int(left), ability, now, centred(ability, ahead.covariance(), whole)[1])


def least_chance(
    reach: Reach, upper: IntArray, lower: IntArray, decided: Callable[[FloatArray, FloatArray], BoolArray]
) -> float:
    """The smallest of the pairs' chances to be decided: all of them together have no better one.

    A mean is now expected where it stands, and will have moved by the variance that is lost until then.
    """
    mean = reach.ability[upper] - reach.ability[lower]
    now, then = (pair_variances(covariance, upper, lower) for covariance in (reach.now, reach.then))
    may_be = mean[:, None] + np.sqrt(np.maximum(now - then, 0.0))[:, None] * _QUANTILES
    found = decided(may_be.ravel(), np.repeat(np.sqrt(then), len(_QUANTILES))).reshape(may_be.shape)
    return float(found.mean(axis=1).min())


class _Ahead:
    """Judgments (N,) given to every pair beside those that the belief knows of. Lives for one call."""

    def __init__(self, state: CampaignState, pool: Pool, belief: Belief) -> None:
        self.belief, self.low, self.high = belief, pool.low, pool.high
        prompts, votes = len(state.prompts), state.votes_per_item
        full = (prompts - pool.open_per_pair) * votes  # fewer where an item was closed: then a little too much is left
        room = pool.open_per_pair * votes - np.maximum(pool.pair_votes - full, 0)
        if state.votes_per_pair is not None:
            room = np.minimum(room, np.maximum(state.votes_per_pair - pool.pair_votes, 0))
        self.room = room.astype(np.float64)
        self.given = np.zeros(len(room))
        self.all = float(max(prompts * votes, 1))
        self.used = 1.0 - room / self.all
        self.best_first = _best_first(belief)

    def give(self, judgments: float) -> None:
        """To an eighth of the open pairs, those whose next judgment lowers the variance most; evenly."""
        k = self._about_abilities(self.given + 1.0) - self._about_abilities(self.given)
        fall = variance_fall(k, *projections(self.covariance(), self.low, self.high))
        order = np.argsort(-fall, kind="stable")
        order = order[self.room[order] > 0.0]
        at_once = -(-len(order) // _AT_ONCE)
        while judgments > 1e-9 and len(order):
            now, order = order[:at_once], order[at_once:]
            part = np.minimum(self.room[now], judgments / len(now))
            self.given[now] += part
            self.room[now] -= part
            judgments -= float(part.sum())

    def covariance(self) -> FloatArray:
        """(M, M) when all that was given is answered: (Sigma^-1 + L)^-1, for a Sigma that may be singular."""
        sigma = self.belief.covariance
        L = laplacian(len(sigma), self._about_abilities(self.given))
        return np.asarray(np.linalg.solve(np.eye(len(sigma)) + sigma @ L, sigma), np.float64)

    def _about_abilities(self, given: FloatArray) -> FloatArray:
        """(N,) what judgments on the best prompts that were not used before add on the differences of abilities."""
        at = np.linspace(0.0, 1.0, len(self.best_first))
        share = np.interp(self.used + given / self.all, at, self.best_first) - np.interp(self.used, at, self.best_first)
        known, tau2 = self.belief.known, self.belief.pair_variance
        total = known + self.belief.typical * self.all * share
        added: FloatArray = total / (1.0 + total * tau2) - known / (1.0 + known * tau2)
        return added


def _best_first(belief: Belief) -> FloatArray:
    """(J + 1,) share of a pair's information that its best 0, 1, .. J prompts hold."""
    if len(belief.low) == 0:
        return np.linspace(0.0, 1.0, 2)
    gap = np.abs(belief.mean[belief.high] - belief.mean[belief.low])
    middle = int(np.argsort(gap, kind="stable")[len(gap) // 2])
    of_each = np.sort(belief.information(middle, np.zeros(len(belief.cell_variance), np.int64)))[::-1]
    share: FloatArray = np.concatenate([[0.0], np.cumsum(of_each)]) / max(float(of_each.sum()), 1e-300)
    return share
