"""Ranking of a vote file as plain values: table, fit, and warnings."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from evalsite.exchange.errors import listed
from evalsite.exchange.vote_file import Votes
from irt_engine import FitResult, WarmStart
from irt_engine.errors import EngineWarning
from irt_engine.fitting.everyday import fit_with_warm_start
from irt_engine.models.annotator_effects import AnnotatorEffects, annotators_assessable
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior import Posterior, difference_of
from irt_engine.posterior.differences import Differences, differences_of
from irt_engine.responses import ResponseTable
from irt_engine.responses.style import StyleDifferences
from scheduler.estimator import campaign_priors, estimate_with_warm_start
from scheduler.tiers import TIERS

if TYPE_CHECKING:  # It loads scipy.stats, which takes longer than a small fit.
    from irt_engine.agreement.merged_prompts import MergedPrompts

Model = Literal["board", "pair"]
Form = Literal["vote", "net"]
Unit = Literal["marginal", "conditional"]
MARGIN = 1.959963984540054  # Quantile of a two-sided 95 % interval.
LEAST_JUDGMENTS = 10  # of a chatbot, for an interval that rests on its votes


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
class MergedRow:
    """Groups of redundant prompts that were fitted as one prompt, and the mean SE of the abilities."""

    groups: tuple[tuple[str, ...], ...]
    se_before: float
    se_after: float
    change: float


@dataclass(frozen=True, slots=True)
class SandwichRow:
    name: str
    ability: float
    se: float


@dataclass(frozen=True, slots=True)
class SandwichCheck:
    """Bradley-Terry abilities with a sandwich covariance by prompt, beside the board.

    apart, apart_here: pairs whose 95 % interval excludes 0, by the sandwich and on the board, of `pairs`.
    """

    prompts: int
    chatbots: tuple[SandwichRow, ...]
    pairs: int
    apart: int
    apart_here: int


@dataclass(frozen=True, slots=True)
class StyleRow:
    """The effect of a covariate on theta, for one root mean square of its difference; the interval covers 95 %."""

    name: str
    effect: float
    se: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class StyleControl:
    """Effects of style, and the rank of each chatbot without them.

    unknown: number of votes without known style.
    """

    covariates: tuple[StyleRow, ...]
    ranks_without: dict[str, int]
    unknown: int


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """Effects of an annotator: share of careless votes, bias toward the first reply, log width of the tie category."""

    id: str
    votes: int
    careless: float
    careless_se: float
    side: float
    tie: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of `rank`; the field names are those of its JSON. None means that a number does not exist.

    merged, sandwich, style: only if they were asked for. annotators: only if they have effects.
    """

    model: Model
    chatbots: tuple[ChatbotRow, ...]
    pairs: tuple[PairRow, ...]
    prompts: tuple[PromptSummary, ...]
    fit: FitRow
    warnings: tuple[str, ...]
    merged: MergedRow | None = None
    sandwich: SandwichCheck | None = None
    style: StyleControl | None = None
    annotators: tuple[AnnotatorRow, ...] | None = None


def rank_votes(
    votes: Votes,
    *,
    model: Model = "board",
    form: Form | None = None,
    unit: Unit | None = None,
    tiers: int = TIERS,
    merge_redundant: bool = False,
    sandwich: bool = False,
    style: StyleDifferences | None = None,
    annotators: bool = True,
    progress: Callable[[int, int], None] | None = None,
    seed: int = 0,
) -> Ranking:
    """Fit the votes and return the ranking.

    A board is fitted as the boards of campaigns are, so the same votes give the same numbers: vote by vote, in marginal
    logits. Form `net` fits net ratings of items, as the published model does. Unit `conditional` gives logits given the
    effects of replies and items. Both are fitted without tiers. `tiers`: at most so many tiers of chatbots.

    Model `pair` has no chatbots, only comparisons; its defaults are form `net` and unit `conditional`. The votes
    already have the values of the column that separates comparisons (`by` of `read_votes`).

    merge_redundant: fit each group of redundant prompts as one prompt.
    sandwich: compute abilities with a sandwich covariance by prompt, too.
    style: differences of style of the votes; the board is that of equal style.
    annotators: fit effects of annotators, where enough are known (`scheduler.estimator`).

    Raises irt_engine's EngineError.
    """
    form = form or ("vote" if model == "board" else "net")
    unit = unit or ("marginal" if model == "board" else "conditional")
    table = table_of(votes)
    annotators = annotators and model == "board" and form == "vote" and annotators_assessable(table.annotator)
    plan = _FitPlan(model, form, unit, tiers, seed, annotators, progress)
    begun = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EngineWarning)
        found, merged = _fitted(table, plan, style, merge_redundant=merge_redundant)
        posterior = found.posterior
        controlled = None if style is None else _style(posterior, plan.fit(table).posterior, style)
    seconds = time.perf_counter() - begun
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, EngineWarning)]
    return Ranking(
        model=model,
        chatbots=_chatbots(posterior),
        pairs=_pairs(posterior),
        prompts=_prompts(posterior),
        fit=FitRow(round(seconds, 3), bool(posterior.converged), int(posterior.judgments), int(posterior.cells)),
        warnings=(*votes.warnings, *_doubts(posterior, table), *dict.fromkeys(messages)),
        merged=None if merged is None else MergedRow(merged.groups, merged.se_before, merged.se_after, merged.change),
        sandwich=_sandwich(table, posterior) if sandwich else None,
        style=controlled,
        annotators=None if found.annotators is None else _annotators(found.annotators, table, votes),
    )


@dataclass(frozen=True, slots=True)
class _FitPlan:
    """How a table is fitted."""

    model: Model
    form: Form
    unit: Unit
    tiers: int
    seed: int
    annotators: bool
    progress: Callable[[int, int], None] | None

    def fit(
        self, table: ResponseTable, start: WarmStart | None = None, style: StyleDifferences | None = None
    ) -> FitResult:
        if (self.model, self.form, self.unit) == ("board", "vote", "marginal"):
            return estimate_with_warm_start(
                table,
                start,
                self.seed,
                tiers=self.tiers,
                style=style,
                annotators=self.annotators,
                progress=self.progress,
            )
        priors = campaign_priors(table) if (self.model, self.form) == ("board", "vote") else DEFAULT_PRIORS
        found = fit_with_warm_start(
            table,
            self.model,
            form=self.form,
            priors=priors,
            start=start,
            style=style,
            annotators=self.annotators,
            seed=self.seed,
            progress=self.progress,
        )
        return replace(found, posterior=found.posterior.marginal()) if self.unit == "marginal" else found


def _fitted(
    table: ResponseTable, plan: _FitPlan, style: StyleDifferences | None, *, merge_redundant: bool
) -> tuple[FitResult, MergedPrompts | None]:
    if not merge_redundant:
        return plan.fit(table, None, style), None
    from irt_engine.agreement.merged_prompts import merged_fit

    return merged_fit(table, lambda votes, start: plan.fit(votes, start, style))


def _annotators(found: AnnotatorEffects, table: ResponseTable, votes: Votes) -> tuple[AnnotatorRow, ...]:
    """Return the annotators, the most careless first."""
    names = dict(zip(table.annotator.tolist(), votes.annotator_id, strict=True))
    columns = (found.annotator, found.votes, found.careless, found.careless_se, found.side, found.tie)
    values = zip(*(column.tolist() for column in columns), strict=True)
    rows = [AnnotatorRow(names[number] or "", *rest) for number, *rest in values]
    return tuple(sorted(rows, key=lambda row: (-row.careless, row.id)))


def _style(posterior: Posterior, without: Posterior, style: StyleDifferences) -> StyleControl:
    rows = []
    for name, effect, se in zip(
        posterior.style_names, posterior.style.tolist(), posterior.style_se.tolist(), strict=True
    ):
        rows.append(StyleRow(name, effect, se, effect - MARGIN * se, effect + MARGIN * se))
    ranks = (
        {} if not without.chatbots else dict(zip(without.chatbots, without.rank_bounds()[:, 0].tolist(), strict=True))
    )
    return StyleControl(tuple(rows), ranks, int((style.known == 0).sum()))


def _sandwich(table: ResponseTable, posterior: Posterior) -> SandwichCheck:
    from irt_engine.sandwich import prompt_sandwich  # late: it loads scipy.sparse

    found = prompt_sandwich(table)
    differences = differences_of(found.ability, found.covariance, np.ones(len(found.chatbots), np.int64))
    here = posterior.differences() if posterior.chatbots else None
    return SandwichCheck(
        prompts=found.prompts,
        chatbots=tuple(map(SandwichRow, found.chatbots, found.ability.tolist(), found.se.tolist())),
        pairs=len(differences.mean),
        apart=_apart(differences),
        apart_here=0 if here is None else _apart(here),
    )


def _apart(differences: Differences) -> int:
    return int((np.abs(differences.mean) > MARGIN * differences.se).sum())


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
                significant=bool(difference.excludes_zero),
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


def _doubts(posterior: Posterior, table: ResponseTable) -> Iterator[str]:
    """Yield warnings about the ranking."""
    if not posterior.converged:
        yield (
            f"The fit had not converged after {posterior.iterations:,} iterations: "
            "estimates and intervals may be wrong."
        )
    if posterior.judgments and not table.outcome.any():
        yield "All votes are ties: nothing distinguishes the chatbots."
    few = [
        name
        for name, votes in zip(posterior.chatbots, posterior.chatbot_judgments.tolist(), strict=True)
        if votes < LEAST_JUDGMENTS
    ]
    if few:
        yield (
            f"Fewer than {LEAST_JUDGMENTS} votes are on {listed(few)}: "
            "their intervals rest mostly on the prior. Collect more votes on them."
        )
    if posterior.scales.at_limit:
        yield scales_at_limit(posterior.scales.at_limit)
    parts: dict[int, list[str]] = {}
    for name, group in zip(posterior.chatbots, posterior.group.tolist(), strict=True):
        parts.setdefault(group, []).append(name)
    if len(parts) > 1:
        named = "; ".join(f"group {group}: {listed(parts[group])}" for group in sorted(parts))
        yield (
            f"The comparisons fall into {len(parts):,} separate parts, which are ranked separately "
            f"and cannot be compared with each other. {named}."
        )


SCALES = {
    "log_discrimination": "discriminations of prompts",
    "log_gap": "thresholds of prompts",
    "location": "locations of prompts",
    "tier": "tiers",
    "pair": "pairs",
    "side": "the side",
    "reply": "replies",
    "cell": "items",
}


def scales_at_limit(names: tuple[str, ...]) -> str:
    """Return the warning about scales that ended at the largest value that a fit allows."""
    effects = listed([SCALES.get(name, name) for name in names])
    return (
        f"The learned scale is at its limit for {effects}: the votes contradict each other less than the model can "
        "explain, as votes that were read off rankings or scores do. Abilities and intervals depend on that limit."
    )


def finite_or_none(value: float) -> float | None:
    """Return a plain float, or None for values that JSON does not have."""
    return float(value) if math.isfinite(value) else None
