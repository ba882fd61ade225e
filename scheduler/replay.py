"""Replay of policies on recorded votes: plan, draw recorded votes of the planned items, refit, compare with the truth.

A policy names items (a pair on a prompt). Each is answered by a recorded vote of the item that was not used before,
drawn at random. An item whose votes are used up is closed. The truth is the fit of all votes, or known parameters. All
policies use one estimator. Abilities are on a scale where the geometric mean of the discriminations is 1, in marginal
logits, so that boards of few votes and of many are on one scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from irt_engine import ResponseTable, WarmStart
from irt_engine.arrays import IntArray
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import Truth
from scheduler.errors import InvalidRequest
from scheduler.estimator import estimate_with_warm_start
from scheduler.overlap import Overlap
from scheduler.planner import plan
from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign, PolicyFactory
from scheduler.policies.registry import ALL_POLICIES
from scheduler.replay_measures import ReplayPoint, ReplayReference, point_of
from scheduler.state import CampaignState

VOTES_OF_PAPER = 3  # of each item, under policy `paper`
_NO_OVERLAP = Overlap()


def simulated_votes(truth: Truth, *, votes: int = VOTES_OF_PAPER, seed: int) -> ResponseTable:
    """Return votes to replay: every pair on every prompt.

    Parameters
    ----------
    truth : Truth
        The parameters.
    votes : int
        Votes per item.
    seed : int
        Seed of the draws.

    Returns
    -------
    ResponseTable
        The votes.
    """
    return draw_votes(truth, all_cells(len(truth.ability), len(truth.discrimination)), seed=seed, votes=votes)


def replay(
    table: ResponseTable,
    reference: ReplayReference,
    *,
    policy: str,
    budget: int,
    every: int,
    seed: int,
    design: AdaptiveDesign = DEFAULT_DESIGN,
    policies: Mapping[str, PolicyFactory] = ALL_POLICIES,
    overlap: Overlap = _NO_OVERLAP,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[ReplayPoint]:
    """Replay recorded votes in the order of a policy.

    Parameters
    ----------
    table : ResponseTable
        The recorded votes.
    reference : ReplayReference
        The result to compare with.
    policy : str
        A name in `policies`.
    budget, every : int
        Largest number of votes, and votes between two fits; at least 1.
    seed : int
        Seed of all random choices. Equal arguments give equal points.
    design : AdaptiveDesign
        Design of the adaptive policy.
    policies : mapping of str to PolicyFactory
        The policies to choose from; by default all, with the published baselines.
    overlap : Overlap
        Items that get several votes.
    progress : callable, optional
        Called with the votes so far and the budget, after each fit.

    Yields
    ------
    ReplayPoint
        A point after every `every` votes, up to the budget or until nothing is left to ask.

    Raises
    ------
    InvalidRequest
        For an unknown policy, or a budget or `every` below 1.
    """
    if policy not in policies:
        raise InvalidRequest(
            f"unknown policy {policy!r}", code="unknown_policy", hint=f"use one of {', '.join(sorted(policies))}"
        )
    if budget < 1 or every < 1 or seed < 0:
        raise InvalidRequest(
            f"budget {budget}, every {every}, seed {seed}", code="bad_count", hint="budget and every are at least 1"
        )
    loop = ReplayLoop(table, policy, seed, design, policies=policies, overlap=overlap)
    return _points(loop, reference, budget, every, progress)


def _points(
    loop: ReplayLoop, reference: ReplayReference, budget: int, every: int, progress: Callable[[int, int], None] | None
) -> Iterator[ReplayPoint]:
    while len(loop.used) < budget:
        if not loop.collect(min(every, budget - len(loop.used))):
            return
        loop.refit()
        if progress is not None:
            progress(len(loop.used), budget)
        assert loop.posterior is not None  # noqa: S101 - it has just been fitted
        yield point_of(loop.posterior, reference)


class ReplayLoop:
    """Run a replay: ask the policy, use the recorded votes, and fit them.

    Parameters
    ----------
    table : ResponseTable
        The recorded votes.
    policy : str
        A name in `policies`.
    seed : int
        Seed of all random choices.
    design : AdaptiveDesign
        Design of the adaptive policy.
    begun : CampaignState, optional
        A campaign to continue; the first rows of the table are its judgments.
    policies : mapping of str to PolicyFactory
        The policies to choose from.
    overlap : Overlap
        Items that get several votes.
    """

    def __init__(
        self,
        table: ResponseTable,
        policy: str,
        seed: int,
        design: AdaptiveDesign,
        begun: CampaignState | None = None,
        *,
        policies: Mapping[str, PolicyFactory] = ALL_POLICIES,
        overlap: Overlap = _NO_OVERLAP,
    ) -> None:
        """`begun`: a campaign that goes on; the first rows of the table are what has been judged in it."""
        self.table, self.policy, self.seed, self.design = table, policy, seed, design
        self.policies, self.overlap = policies, begun.overlap if begun else overlap
        self.rng = np.random.default_rng([seed, 1])
        self.posterior = begun.posterior if begun else None
        self.warm_start: WarmStart | None = None
        self.used = list(range(len(begun.judged))) if begun else []
        self.plans = 0
        self.items = _items(table)
        self.unused = self._shuffled()
        most = begun.votes_per_item if begun else max(len(rows) for rows in self.unused.values())
        self.votes_per_item = VOTES_OF_PAPER if policy == "paper" else most
        self.votes_per_pair = begun.votes_per_pair if begun else None
        codes = self._codes(every_item(table))
        self.never = every_item(table)[~np.isin(codes, self._codes(self.items))]

    def collect(self, count: int) -> bool:
        """Use more votes that the policy asks for.

        Parameters
        ----------
        count : int
            Largest number of votes.

        Returns
        -------
        bool
            False if nothing is left to ask.
        """
        goal = len(self.used) + count
        while len(self.used) < goal:
            made = plan(
                self.state(),
                policy=self.policy,
                count=goal - len(self.used),
                seed=self.seed * 1_000_003 + self.plans,
                design=self.design,
                policies=self.policies,
            )
            self.plans += 1
            if not made.asks:
                break
            for ask in made.asks:
                rows = self.unused[ask.a, ask.b, ask.prompt]
                if rows:  # a plan may ask for more votes of an item than were recorded
                    self.used.append(rows.pop())
        return bool(self.used) and len(self.used) > goal - count

    def refit(self) -> None:
        """Fit the votes used so far."""
        votes = rows_of(self.table, np.array(self.used))
        found = estimate_with_warm_start(votes, self.warm_start, tiers=self.design.tiers)
        self.posterior, self.warm_start = found.posterior, found.warm_start

    def state(self) -> CampaignState:
        """Return the campaign's state.

        Returns
        -------
        CampaignState
            The state after the votes so far.
        """
        spent = [item for item, rows in self.unused.items() if not rows]
        return CampaignState(
            chatbots=self.table.chatbots,
            prompts=self.table.prompts,
            posterior=self.posterior,
            judged=self.items[self.used],
            closed=np.concatenate([self.never, np.array(spent, np.int64).reshape(-1, 3)]),
            votes_per_item=self.votes_per_item,
            votes_per_pair=self.votes_per_pair,
            overlap=self.overlap,
            judgments=len(self.used),
        )

    def _shuffled(self) -> dict[tuple[int, int, int], list[int]]:
        """The unused rows of every item in random order; the last one is used next."""
        rows: dict[tuple[int, int, int], list[int]] = {}
        begun = len(self.used)
        for row in self.rng.permutation(len(self.table)).tolist():
            a, b, prompt = self.items[row].tolist()
            of_item = rows.setdefault((a, b, prompt), [])
            if row >= begun:
                of_item.append(row)
        return rows

    def _codes(self, items: IntArray) -> IntArray:
        code: IntArray = (items[:, 0] * len(self.table.chatbots) + items[:, 1]) * len(self.table.prompts) + items[:, 2]
        return code


def _items(table: ResponseTable) -> IntArray:
    """(n, 3) the item of every row, a < b."""
    return np.column_stack([np.minimum(table.a, table.b), np.maximum(table.a, table.b), table.prompt])


def every_item(table: ResponseTable) -> IntArray:
    """Return every pair on every prompt.

    Parameters
    ----------
    table : ResponseTable
        The votes.

    Returns
    -------
    ndarray of int, shape (N J, 3)
        Items (a, b, prompt).
    """
    return all_cells(len(table.chatbots), len(table.prompts))


def rows_of(table: ResponseTable, rows: IntArray) -> ResponseTable:
    """Return the table of some rows, with the same chatbots and prompts.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    rows : ndarray of int
        The rows.

    Returns
    -------
    ResponseTable
        Their votes.
    """
    columns = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return ResponseTable(table.chatbots, table.prompts, table.labels, *(getattr(table, name)[rows] for name in columns))
