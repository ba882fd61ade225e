"""Ranking of a vote file as plain values: table, fit, and warnings."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from evalsite.exchange.errors import listed
from evalsite.exchange.vote_file import Votes
from irt_engine.errors import EngineWarning
from irt_engine.fitting.everyday import fit
from irt_engine.posterior import Posterior, difference_of
from irt_engine.responses import ResponseTable

Model = Literal["board", "pair"]


@dataclass(frozen=True, slots=True)
class ChatbotRow:
    """A chatbot of the board.

    The interval covers 95 %. Rank and its bounds are within the group.
    """

    name: str
    ability: float | None
    se: float | None
    lower: float | None
    upper: float | None
    rank: int
    rank_lower: int
    rank_upper: int
    judgments: int
    group: int


@dataclass(frozen=True, slots=True)
class PairRow:
    """A comparison in the order of the file: delta > 0 means that B is better."""

    a: str
    b: str
    by: str | None
    delta: float | None
    se: float | None
    p_better: float | None
    significant: bool
    judgments: int


@dataclass(frozen=True, slots=True)
class PromptSummary:
    id: str
    discrimination: float | None
    se: float | None
    thresholds: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class FitRow:
    seconds: float
    converged: bool
    judgments: int
    cells: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of `rank`; the field names are those of its JSON. None means that a number does not exist."""

    model: Model
    chatbots: tuple[ChatbotRow, ...]
    pairs: tuple[PairRow, ...]
    prompts: tuple[PromptSummary, ...]
    fit: FitRow
    warnings: tuple[str, ...]


def rank_votes(
    votes: Votes, *, model: Model = "board", progress: Callable[[int, int], None] | None = None, seed: int = 0
) -> Ranking:
    """Fit the votes and return the ranking.

    Model `pair` has no chatbots, only comparisons. The votes already have the values of the column that separates
    comparisons (`by` of `read_votes`).

    Raises irt_engine's EngineError.
    """
    table = table_of(votes)
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EngineWarning)
        posterior = fit(table, model, seed=seed, progress=progress)
    seconds = time.perf_counter() - begun
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, EngineWarning)]
    return Ranking(
        model=model,
        chatbots=_chatbots(posterior),
        pairs=_pairs(posterior),
        prompts=_prompts(posterior),
        fit=FitRow(round(seconds, 3), bool(posterior.converged), int(posterior.judgments), int(posterior.cells)),
        warnings=(*votes.warnings, *_doubts(posterior), *messages),
    )


def table_of(votes: Votes) -> ResponseTable:
    """Return the votes in the engine's format. A row without a prompt gets its own prompt."""
    labels = None if votes.by_column is None else [label or "" for label in votes.by]
    return ResponseTable.from_votes(
        votes.system_a,
        votes.system_b,
        votes.prompt_key,
        votes.outcome,
        annotator_id=votes.annotator_id,
        a_first=votes.a_first,
        label=labels,
    )


def _chatbots(posterior: Posterior) -> tuple[ChatbotRow, ...]:
    if not posterior.chatbots:
        return ()
    interval, ranks, se = posterior.interval(), posterior.rank_bounds(), posterior.se
    rows = [
        ChatbotRow(
            name=name,
            ability=finite_or_none(posterior.ability[m]),
            se=finite_or_none(se[m]),
            lower=finite_or_none(interval[m, 0]),
            upper=finite_or_none(interval[m, 1]),
            rank=int(ranks[m, 0]),
            rank_lower=int(ranks[m, 1]),
            rank_upper=int(ranks[m, 2]),
            judgments=int(posterior.chatbot_judgments[m]),
            group=int(posterior.group[m]),
        )
        for m, name in enumerate(posterior.chatbots)
    ]
    return tuple(sorted(rows, key=lambda row: (row.group, row.rank, row.name)))


def _pairs(posterior: Posterior) -> tuple[PairRow, ...]:
    rows = []
    for comparison, theta, se in zip(posterior.comparisons, posterior.theta, posterior.theta_se, strict=True):
        difference = difference_of(float(theta), float(se))
        rows.append(
            PairRow(
                a=comparison.a,
                b=comparison.b,
                by=comparison.by,
                delta=finite_or_none(difference.mean),
                se=finite_or_none(difference.se),
                p_better=finite_or_none(difference.p_better),
                significant=bool(difference.significant),
                judgments=int(comparison.judgments),
            )
        )
    return tuple(rows)


def _prompts(posterior: Posterior) -> tuple[PromptSummary, ...]:
    return tuple(
        PromptSummary(name, finite_or_none(alpha), finite_or_none(se), tuple(finite_or_none(b) for b in thresholds))
        for name, alpha, se, thresholds in zip(
            posterior.prompts,
            posterior.discrimination.tolist(),
            posterior.discrimination_se.tolist(),
            posterior.thresholds.tolist(),
            strict=True,
        )
    )


def _doubts(posterior: Posterior) -> Iterator[str]:
    """Yield warnings about the ranking."""
    if not posterior.converged:
        yield (
            f"The fit had not converged after {posterior.iterations:,} iterations: "
            "estimates and intervals may be wrong."
        )
    parts: dict[int, list[str]] = {}
    for name, group in zip(posterior.chatbots, posterior.group.tolist(), strict=True):
        parts.setdefault(group, []).append(name)
    if len(parts) > 1:
        named = "; ".join(f"group {group}: {listed(parts[group])}" for group in sorted(parts))
        yield (
            f"The comparisons fall into {len(parts):,} separate parts, which are ranked separately "
            f"and cannot be compared with each other. {named}."
        )


def finite_or_none(value: float) -> float | None:
    """Return a plain float, or None for values that JSON does not have."""
    return float(value) if math.isfinite(value) else None
