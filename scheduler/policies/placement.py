"""Placement of new chatbots on an established board: first against an anchor, then against neighbours.

The first votes are against the anchor, a well-measured chatbot near the middle of the board, on as many different
prompts as there are votes: they inform whatever the new chatbot's ability is. The next votes are against its
neighbours, on the prompts that inform most about such pairs (Sedoc & Ungar 2020, last section). After that it is a
chatbot like the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields
from scheduler.belief import Belief
from scheduler.errors import InvalidRequest
from scheduler.policies.item_sampling import PairPolicy, PromptPolicy, uniform_over
from scheduler.pool import Pool
from scheduler.state import CampaignState
from scheduler.targets import NewEntrantTarget, Target


@dataclass(frozen=True, slots=True)
class Placement:
    """How a new chatbot is placed.

    Parameters
    ----------
    anchor : int
        Votes against the anchor.
    neighbours : int
        Votes against neighbours, after that.
    near : int
        How many neighbours.

    Raises
    ------
    InvalidRequest
        Unless anchor and neighbours are 0 or more and near at least 1.
    """

    anchor: int = 10
    neighbours: int = 20
    near: int = 3

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.anchor < 0 or self.neighbours < 0 or self.near < 1:
            raise InvalidRequest(
                f"{self.anchor} votes against an anchor, {self.neighbours} against {self.near} neighbours",
                code="bad_welcome",
                hint="numbers of votes are 0 or more, near is at least 1",
            )

    @property
    def votes(self) -> int:
        """Return the number of votes after which a chatbot is placed."""
        return self.anchor + self.neighbours


def newcomers(state: CampaignState, pool: Pool, placement: Placement, target: Target | None = None) -> IntArray:
    """Return the chatbots with too few votes on an established board.

    On an established board, most chatbots have twice the votes of a placement. The chatbot of a `NewEntrantTarget`
    needs no such board.

    Parameters
    ----------
    state : CampaignState
        The state.
    pool : Pool
        Its open items.
    placement : Placement
        The votes of a placement.
    target : Target, optional
        The target of the plan.

    Returns
    -------
    ndarray of int
        The chatbots.
    """
    if state.posterior is None:
        return np.empty(0, np.int64)
    votes = _votes(state, pool)
    few = votes < placement.votes
    if np.median(votes) < 2 * placement.votes:
        named = target.chatbot if isinstance(target, NewEntrantTarget) else -1
        few &= np.arange(len(few)) == named
    return np.flatnonzero(few)


def _votes(state: CampaignState, pool: Pool) -> IntArray:
    """(M,) votes that touch each chatbot: the campaign's, or the board's if those are more (it may rank several)."""
    assert state.posterior is not None  # noqa: S101 - the caller has looked
    known = dict(zip(state.posterior.chatbots, state.posterior.chatbot_judgments.tolist(), strict=True))
    of_board = np.array([known.get(name, 0) for name in state.chatbots], np.int64)
    votes: IntArray = np.maximum(pool.degrees(), of_board)
    return votes


def anchor_of(belief: Belief, known: IntArray) -> int:
    """Return the chatbot nearest to the median ability among the more precise half.

    Parameters
    ----------
    belief : Belief
        The beliefs about the board.
    known : ndarray of int, shape (k,)
        The chatbots to choose from.

    Returns
    -------
    int
        The chatbot.
    """
    se = np.sqrt(np.diag(belief.covariance)[known])
    away = np.abs(belief.mean[known] - np.median(belief.mean[known]))
    away[se > np.median(se) * (1.0 + 1e-9)] = np.inf
    return int(known[away.argmin()])


class PlacementPairs:
    """Place new chatbots with a share of the draws, those with the fewest votes first.

    The other draws, and all draws without new chatbots, follow the usual policy.

    Parameters
    ----------
    usual : PairPolicy
        The usual policy.
    belief : Belief
        The beliefs about the board.
    new : ndarray of int
        The new chatbots.
    placement : Placement
        The votes of a placement.
    floor : float
        Share of the draws that follows the usual policy.
    cap : float
        Largest share of a pair in all votes.
    """

    def __init__(
        self, usual: PairPolicy, belief: Belief, new: IntArray, placement: Placement, *, floor: float, cap: float
    ) -> None:
        self.usual, self.belief, self.new, self.placement = usual, belief, new, placement
        self.floor, self.cap = floor, cap
        self.known = np.setdiff1d(np.arange(len(belief.mean)), new)
        self.anchor = anchor_of(belief, self.known)

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        """Return the probability of each pair; see `PairPolicy.probabilities`."""
        p = self.usual.probabilities(pool, rng)
        first = self._meetings(pool)
        return self.floor * p + (1.0 - self.floor) * uniform_over(first) if first.any() else p

    def placing(self, pool: Pool, pair: int) -> bool:
        """Return whether a pair is a new chatbot with the anchor.

        Parameters
        ----------
        pool : Pool
            The open items.
        pair : int
            The pair.

        Returns
        -------
        bool
            True if all prompts are equally good for it.
        """
        ends = {int(pool.low[pair]), int(pool.high[pair])}
        votes = pool.degrees()
        return self.anchor in ends and any(votes[m] < self.placement.anchor for m in self.new if m in ends)

    def _meetings(self, pool: Pool) -> BoolArray:
        """(N,) the open pairs of the next newcomer that has any to meet; none if all have been placed."""
        votes, allowed = pool.degrees(), pool.below_cap(self.cap)
        for m in self.new[np.argsort(votes[self.new], kind="stable")]:
            if votes[m] >= self.placement.votes:
                break
            for others in self._opponents(int(m), int(votes[m])):
                pairs = allowed & _pairs_with(pool, int(m), others)
                if pairs.any():
                    return pairs
        return np.zeros(len(pool.low), bool)

    def _opponents(self, newcomer: int, votes: int) -> list[IntArray]:
        """Whom a newcomer meets, and whom instead if no item of these pairs is open."""
        nearest = self.known[
            np.argsort(np.abs(self.belief.mean[self.known] - self.belief.mean[newcomer]), kind="stable")
        ]
        groups = [nearest[: self.placement.near], nearest]
        return [np.array([self.anchor]), *groups] if votes < self.placement.anchor else groups


class PlacementPrompts:
    """Draw a prompt on which the new chatbot has not met its anchor; otherwise follow the usual policy.

    Parameters
    ----------
    usual : PromptPolicy
        The usual policy.
    pairs : PlacementPairs
        The policy that draws the pairs.
    """

    def __init__(self, usual: PromptPolicy, pairs: PlacementPairs) -> None:
        self.usual, self.pairs = usual, pairs

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt; see `PromptPolicy.probabilities`."""
        if not self.pairs.placing(pool, pair):
            return self.usual.probabilities(pool, pair, prompts)
        votes = pool.votes(pair)[prompts]
        return uniform_over(votes == votes.min())


def _pairs_with(pool: Pool, chatbot: int, others: IntArray) -> BoolArray:
    """(N,) the pairs of a chatbot with any of the others."""
    among = np.zeros(pool.chatbots, bool)
    among[others] = True
    met: BoolArray = ((pool.low == chatbot) & among[pool.high]) | ((pool.high == chatbot) & among[pool.low])
    return met
