"""Exposure control and content balancing: which of a pair's open prompts may come next, whatever their value.

One rule does all of it. A prompt or category with a share w of the votes is passed over while one more vote would put
it above ceil(w (n + 1)) of n + 1 votes. While the shares sum to at least 1, something is below its share, so that the
rule never leaves nothing. With shares that sum to 1, each of C categories is within C - 1 votes of its share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, is_number
from scheduler.errors import InvalidRequest
from scheduler.policies.item_sampling import PromptPolicy
from scheduler.pool import Pool
from scheduler.state import CampaignState

AT_LEAST = 100  # prompts in use: what a board rests on is to be many topics, and blocks of ten are to differ
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Balance:
    """Each category's share of the votes.

    Parameters
    ----------
    shares : tuple of (str, float) or None
        Share by category; None for the share of the prompts that are in it. A category that is not named has a share of
        0: it is asked about only where a pair has nothing else left.

    Raises
    ------
    InvalidRequest
        On shares that are negative, name a category twice or do not sum to 1.
    """

    shares: tuple[tuple[str, float], ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.shares is None:
            return
        if not _are_shares(self.shares):
            raise InvalidRequest(
                "shares of categories are no pairs of a name and a number",
                code="bad_shares",
                hint='give for example (("coding", 0.5), ("writing", 0.5))',
            )
        named, shares = [name for name, _ in self.shares], [share for _, share in self.shares]
        total = math.fsum(shares)
        if len(set(named)) < len(named) or not all(share >= 0.0 for share in shares) or abs(total - 1.0) > 1e-6:
            raise InvalidRequest(
                f"shares of categories sum to {total:g}",
                code="bad_shares",
                hint="name each category once, with a share from 0 to 1, and let the shares sum to 1",
            )


def _are_shares(values: object) -> bool:
    pairs = values if isinstance(values, tuple | list) else (None,)
    return all(
        isinstance(one, tuple | list) and len(one) == 2 and isinstance(one[0], str) and is_number(one[1])
        for one in pairs
    )


class ConstrainedPrompts:
    """A prompt policy that chooses among the prompts that exposure, balance, depth, repeats and redundancy allow.

    The constraints apply in this order. Each is dropped where it would leave no open prompt of the pair.

    Parameters
    ----------
    inner : PromptPolicy
        The policy that chooses among the rest.
    state : CampaignState
        The prompts with their categories and redundant groups. Of prompts that say the same thing a pair is asked one,
        and the others only when nothing else is open.
    exposure, balance, depth, repeats
        As in `AdaptiveDesign`. `AT_LEAST` prompts are in use from the start, so that annotators see different ones.

    Raises
    ------
    InvalidRequest
        Where the balance names categories that the state lacks, or asks more of one than exposure allows.
    """

    def __init__(
        self,
        inner: PromptPolicy,
        state: CampaignState,
        *,
        exposure: float,
        balance: Balance | None = None,
        depth: float = 0.0,
        repeats: bool = False,
    ) -> None:
        self.inner, self.repeats, self.exposure, self.depth = inner, repeats, exposure, depth
        live = np.ones(len(state.prompts), bool)
        live[state.retired] = False
        self.live = max(int(live.sum()), 1)
        self.category, self.shares = _categories(state, balance, exposure, live)
        self.group = _groups(state)

    def probabilities(self, pool: Pool, pair: int, prompts: IntArray) -> FloatArray:
        """Return the probability of each open prompt; see `PromptPolicy.probabilities`."""
        left = self._left(pool, pair, prompts)
        p = np.zeros(len(prompts))
        p[left] = self.inner.probabilities(pool, pair, prompts[left])
        return p

    def _left(self, pool: Pool, pair: int, prompts: IntArray) -> BoolArray:
        total = int(pool.prompt_votes.sum())
        wanted = self._in_use(total)
        below = below_share(pool.prompt_votes[prompts], self.exposure / wanted, total)
        left = _narrowed(np.ones(len(prompts), bool), below)
        if self.shares is not None:
            votes = np.bincount(self.category, pool.prompt_votes, len(self.shares))
            left = _narrowed(left, below_share(votes, self.shares, total)[self.category[prompts]])
        if np.count_nonzero(pool.prompt_votes[~pool.retired]) >= wanted:
            left = _narrowed(left, pool.prompt_votes[prompts] > 0)
        own = pool.votes(pair)
        if not self.repeats:
            left = _narrowed(left, own[prompts] == 0)
        if self.group is not None:
            of_group = np.bincount(self.group, own)[self.group]
            left = _narrowed(left, (of_group == own)[prompts])
        return left

    def _in_use(self, total: int) -> int:
        """How many prompts are to be in use with one more vote than `total`."""
        if self.depth == 0.0:
            return self.live
        return min(self.live, max(AT_LEAST, math.ceil((total + 1) / self.depth)))


def below_share(votes: FloatArray | IntArray, share: FloatArray | float, total: int) -> BoolArray:
    """Return which counts stay within their share of all votes after one more vote.

    Parameters
    ----------
    votes : ndarray, shape (n,)
        Votes.
    share : ndarray of float, shape (n,), or float
        Largest shares.
    total : int
        Number of all votes.

    Returns
    -------
    ndarray of bool, shape (n,)
        Whether the count stays within its share of total + 1, rounded up.
    """
    below: BoolArray = votes + 1 <= np.ceil(np.asarray(share) * (total + 1) - _ROUNDING)
    return below


def _narrowed(left: BoolArray, allowed: BoolArray) -> BoolArray:
    both: BoolArray = left & allowed
    return both if both.any() else left


def _categories(
    state: CampaignState, balance: Balance | None, exposure: float, live: BoolArray
) -> tuple[IntArray, FloatArray | None]:
    """Category number (J,) of every prompt, and the categories' shares (C,) among those with prompts left."""
    if balance is None or not state.prompts:
        return np.zeros(len(state.prompts), np.int64), None
    if not state.categories:
        raise InvalidRequest(
            "a balance over categories, but the prompts have none",
            code="no_categories",
            hint="give the state a category for each prompt, or leave the balance out",
        )
    names, category = np.unique(np.array(state.categories), return_inverse=True)
    count = np.bincount(category, minlength=len(names))
    shares = count / len(category) if balance.shares is None else _given(balance, names.tolist())
    _check_room(names.tolist(), shares, exposure * count / len(category))
    # A category whose prompts are all retired leaves its share to the others.
    shares = np.where(np.bincount(category, live, len(names)) > 0, shares, 0.0)
    return category, shares / max(float(shares.sum()), _ROUNDING)


def _given(balance: Balance, names: list[str]) -> FloatArray:
    given = dict(balance.shares or ())
    unknown = sorted(name for name, share in given.items() if share > 0.0 and name not in names)
    if unknown:
        raise InvalidRequest(
            f"a share for category {unknown[0]!r}, which no prompt is in",
            code="unknown_category",
            hint=f"the prompts' categories are {', '.join(names)}",
        )
    return np.array([given.get(name, 0.0) for name in names])


def _check_room(names: list[str], shares: FloatArray, most: FloatArray) -> None:
    over = np.flatnonzero(shares > most + _ROUNDING)
    if len(over):
        c = int(over[0])
        raise InvalidRequest(
            f"category {names[c]!r} is to have {shares[c]:.0%} of the votes, and its prompts may have {most[c]:.0%}",
            code="contradictory_caps",
            hint="lower the category's share, add prompts to it, or raise the exposure",
        )


def _groups(state: CampaignState) -> IntArray | None:
    """(J,) a number shared by the prompts of a redundant group; None where there is no group."""
    if not state.redundant:
        return None
    number = {name: j for j, name in enumerate(state.prompts)}
    group = np.arange(len(state.prompts))
    for names in state.redundant:
        members = [number[name] for name in names]
        group[members] = min(members, default=0)
    return group
