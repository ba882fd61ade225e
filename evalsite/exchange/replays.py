"""Replay of a policy on the votes of a file or on known parameters, as plain values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict

from evalsite.exchange.file_ranking import table_of
from evalsite.exchange.vote_file import Votes
from irt_engine.errors import EngineWarning
from irt_engine.responses import ResponseTable
from irt_engine.truth import draw_truth
from scheduler.estimator import estimate
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.replay import replay, simulated_votes
from scheduler.replay_measures import ReplayPoint, ReplayReference, reference_of, reference_of_truth
from scheduler.tiers import TIERS

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """The reference for the points; pairs of chatbots by name.

    judgments: 0 if the truth is known.
    """

    judgments: int
    chatbots: dict[str, float]
    pairs: int
    separated: int


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of `replay`; the field names are those of its JSON."""

    policy: str
    seed: int
    reference: ReferenceRow
    points: tuple[ReplayPoint, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReplaySettings:
    """Settings of a replay: up to `budget` votes, a refit after `every` votes, and `tiers` of quality."""

    policy: str
    budget: int
    every: int
    seed: int
    tiers: int = TIERS


def replay_votes(votes: Votes, run: ReplaySettings, progress: Progress | None = None) -> Replay:
    """Replay a policy on recorded votes and compare with the fit of all votes.

    Raises SchedulerError, EngineError.
    """
    table = table_of(votes)
    with warnings.catch_warnings():
        # Each point has its coverage, which shows how reliable an uncertain fit is.
        warnings.simplefilter("ignore", EngineWarning)
        reference = reference_of(estimate(table, tiers=run.tiers))
        return _replay(table, reference, run, votes.warnings, progress)


def replay_simulated(chatbots: int, prompts: int, run: ReplaySettings, progress: Progress | None = None) -> Replay:
    """Simulate a policy on votes drawn from the priors and compare with the truth.

    Raises SchedulerError, EngineError.
    """
    truth = draw_truth(chatbots, prompts, seed=run.seed, form="vote", **_EFFECTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return _replay(simulated_votes(truth, seed=run.seed), reference_of_truth(truth), run, (), progress)


class _Effects(TypedDict):
    pair_sd: float
    cell_sd: float
    reply_sd: float


# Effects in real votes (ChatEval, Vicuna): of pairs, of cells with several votes, and of replies.
_EFFECTS = _Effects(pair_sd=0.1, cell_sd=0.35, reply_sd=0.6)


def _replay(
    table: ResponseTable,
    reference: ReplayReference,
    run: ReplaySettings,
    warnings: tuple[str, ...],
    progress: Progress | None,
) -> Replay:
    points = replay(
        table,
        reference,
        policy=run.policy,
        budget=run.budget,
        every=run.every,
        seed=run.seed,
        design=replace(DEFAULT_DESIGN, tiers=run.tiers),
        progress=progress,
    )
    found = tuple(points)
    return Replay(run.policy, run.seed, _reference(reference), found, (*warnings, *_short(found, run)))


def _reference(reference: ReplayReference) -> ReferenceRow:
    M = len(reference.chatbots)  # noqa: N806 - the number of chatbots, as everywhere
    return ReferenceRow(
        judgments=reference.judgments,
        chatbots=dict(zip(reference.chatbots, reference.ability.tolist(), strict=True)),
        pairs=math.comb(M, 2),
        separated=int(reference.separated.sum()),
    )


def _short(points: tuple[ReplayPoint, ...], run: ReplaySettings) -> list[str]:
    used = points[-1].votes if points else 0
    if used == run.budget:
        return []
    return [f"No item was left after {used:,} of {run.budget:,} votes: the policy does not allow the others."]
