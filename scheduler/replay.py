"""The closed loop on recorded votes: plan, draw recorded votes of what was planned, refit, compare with the truth.

The policy names items (a pair on a prompt); each is answered by a recorded vote of it that was not used before, taken
at random. An item whose votes are used up is closed. The truth is the fit on all votes, or known parameters. All
policies use one estimator, and abilities are put on a scale where the geometric mean of the discriminations is 1: those
of a vote on two replies that nobody has judged, so that few votes and many are on one scale (`irt_engine.posterior`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from irt_engine import Posterior, ResponseTable
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.models.comparison_graph import centred
from irt_engine.posterior.differences import SAME
from irt_engine.simulate import Truth, all_cells, draw_votes
from scheduler.errors import InvalidRequest
from scheduler.estimator import estimate
from scheduler.overlap import Overlap
from scheduler.planner import plan
from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign, PolicyFactory
from scheduler.policies.registry import ALL_POLICIES
from scheduler.state import CampaignState

VOTES_OF_PAPER = 3  # of each item, under policy `paper`
_NO_OVERLAP = Overlap()
_Z = float(ndtri(0.975))


@dataclass(frozen=True, slots=True, eq=False)
class ReplayReference:
    """What a replay is compared with: abilities (M,) minus their mean, which pairs a < b are separated, and how.

    separated (P,) bool; sign (P,) of s_b - s_a; judgments behind it (0: known parameters).
    """

    chatbots: tuple[str, ...]
    ability: FloatArray
    separated: BoolArray
    sign: FloatArray
    judgments: int


@dataclass(frozen=True, slots=True)
class ReplayPoint:
    """How far a replay is after `votes` votes.

    tau       Kendall's tau-a of the abilities against the reference's
    rmse      of the centred abilities
    decided   share of the reference's separated pairs that are separated the same way
    wrong     share of them that are separated the other way
    mean_se   mean SE of the abilities
    coverage  share of the reference's abilities inside the 95 % intervals
    """

    votes: int
    tau: float
    rmse: float
    decided: float
    wrong: float
    mean_se: float
    coverage: float


def reference_of(posterior: Posterior) -> ReplayReference:
    """From a fit on all votes. Raises InvalidRequest if its chatbots are not all connected."""
    if posterior.group.max() > 1:
        raise InvalidRequest(
            f"the comparison graph of all votes has {posterior.group.max()} separate parts",
            code="separate_groups",
            hint="select the rows of one part",
        )
    ability, covariance = scaled(posterior)
    z = _standardised(ability, covariance)
    return ReplayReference(posterior.chatbots, ability, np.abs(z) > _Z, _sign(z), posterior.judgments)


def reference_of_truth(truth: Truth) -> ReplayReference:
    """From known parameters: every pair of unequal abilities is separated."""
    scale = np.exp(np.log(truth.discrimination).mean()) / truth.unit
    ability = (truth.ability - truth.ability.mean()) * scale
    low, high = np.triu_indices(len(ability), 1)
    difference = ability[high] - ability[low]
    return ReplayReference(truth.chatbots, ability, difference != 0.0, np.sign(difference), 0)


def simulated_votes(truth: Truth, *, votes: int = VOTES_OF_PAPER, seed: int) -> ResponseTable:
    """Votes of known parameters to replay: every pair on every prompt, `votes` times."""
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
    """A point after every `every` votes up to `budget`, or until the recorded votes that the policy may use are spent.

    `policies`: others than campaigns have; `overlap`: the items that get several votes before others get their first.
    Equal arguments give equal points. Raises InvalidRequest on an unknown policy, a budget or `every` below 1, and
    whatever the fit raises.
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
    """What a replay remembers: the votes used so far, and the posterior of them."""

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
        """Use up to `count` more votes that the policy asks for; False if there is nothing left to ask."""
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
        votes = rows_of(self.table, np.array(self.used))
        self.posterior = estimate(votes, self.posterior, tiers=self.design.tiers)

    def state(self) -> CampaignState:
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
    """(N J, 3) every pair on every prompt."""
    return all_cells(len(table.chatbots), len(table.prompts))


def rows_of(table: ResponseTable, rows: IntArray) -> ResponseTable:
    """The same chatbots and prompts with these rows only."""
    columns = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return ResponseTable(table.chatbots, table.prompts, table.labels, *(getattr(table, name)[rows] for name in columns))


def scaled(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Centred abilities and their covariance on the scale where the geometric mean of the discriminations is 1: of
    those that votes on new replies have, where the board is in marginal logits."""
    scale = float(np.exp(np.log(posterior.discrimination).mean())) / posterior.scales.unit
    whole = np.ones(len(posterior.chatbots), np.int64)
    ability, covariance = centred(posterior.ability, posterior.covariance, whole)
    return scale * ability, scale**2 * covariance


def point_of(posterior: Posterior, reference: ReplayReference) -> ReplayPoint:
    """The posterior of a part of the votes against the reference."""
    ability, covariance = scaled(posterior)
    se = np.sqrt(np.diag(covariance))
    low, high = np.triu_indices(len(ability), 1)
    z = _standardised(ability, covariance)
    clear = reference.separated & (np.abs(z) > _Z) & (posterior.group[low] == posterior.group[high])
    separated = max(int(reference.separated.sum()), 1)
    right = _sign(z) == reference.sign
    away = np.abs(ability - reference.ability)
    return ReplayPoint(
        votes=posterior.judgments,
        tau=float(np.mean(_sign(z) * reference.sign)),
        rmse=float(np.sqrt(np.mean(away**2))),
        decided=float((clear & right).sum() / separated),
        wrong=float((clear & ~right).sum() / separated),
        mean_se=float(se.mean()),
        coverage=float(np.mean(away <= _Z * se)),
    )


def _sign(z: FloatArray) -> FloatArray:
    """(P,) of differences over their SEs: 0 where two chatbots differ by rounding alone."""
    sign: FloatArray = np.where(np.abs(z) > SAME, np.sign(z), 0.0)
    return sign


def _standardised(ability: FloatArray, covariance: FloatArray) -> FloatArray:
    """(P,) differences over their SEs, a < b."""
    low, high = np.triu_indices(len(ability), 1)
    v = np.diag(covariance)
    variance = np.maximum(v[low] + v[high] - 2.0 * covariance[low, high], 1e-300)
    z: FloatArray = (ability[high] - ability[low]) / np.sqrt(variance)
    return z
