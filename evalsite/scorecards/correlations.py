"""The correlation table: metrics and unified scores against ratings, over chatbots and over conversations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalsite.scorecards.evidence import Evidence
from evalsite.scorecards.metrics import RATINGS
from evalsite.scorecards.unified_scores import UnifiedScore
from irt_engine.errors import NotIdentified
from irt_engine.scorecard import LEAST_UNITS, Correlation, Estimate, correlate

Scores = Mapping[str, Mapping[str, Estimate | None]]
UnifiedScores = Mapping[str, Mapping[str, UnifiedScore | None]]


@dataclass(frozen=True, slots=True)
class MetricCorrelation:
    """The correlation of a metric with a rating; `unit` says what the pairs are of: chatbot or conversation."""

    metric: str
    rating: str
    unit: str
    correlation: Correlation


def correlations_of(
    metrics: Scores, unified: UnifiedScores, evidence: Mapping[str, Evidence], *, seed: int
) -> tuple[list[MetricCorrelation], list[str]]:
    """Return the correlations, and a warning for those that are refused."""
    found: list[MetricCorrelation] = []
    refused: dict[str, list[str]] = {}
    for metric, rating, unit, pairs in [*_over_chatbots(metrics, unified), *_over_conversations(evidence)]:
        try:
            one = correlate([x for x, _ in pairs], [y for _, y in pairs], seed=seed)
        except NotIdentified as problem:
            refused.setdefault(problem.code, []).append(f"{metric} with {rating} ({len(pairs)} {unit}s)")
        else:
            found.append(MetricCorrelation(metric, rating, unit, one))
    reasons = {"too_few_units": f"fewer than {LEAST_UNITS} units", "constant": "values that do not vary"}
    return found, [f"No correlation of {', '.join(names)}: {reasons[code]}." for code, names in refused.items()]


def _over_chatbots(
    metrics: Scores, unified: UnifiedScores
) -> Iterator[tuple[str, str, str, list[tuple[float, float]]]]:
    for rating in RATINGS:
        for name, scores in [*metrics.items(), *unified.items()]:
            if name == rating:
                continue
            pairs = [(scores[bot], metrics[rating][bot]) for bot in scores]
            known = [(x.value, y.value) for x, y in pairs if x is not None and y is not None]
            if known:
                yield name, rating, "chatbot", known


def _over_conversations(
    evidence: Mapping[str, Evidence],
) -> Iterator[tuple[str, str, str, list[tuple[float, float]]]]:
    """Yield what each conversation has of its own: turns, duration and the share of erroneous replies."""
    turns, durations, errors = [], [], []
    for one in evidence.values():
        ratings, shares = one.mean_ratings(), _error_rates(one)
        for conversation in one.conversations:
            rating = ratings.get(conversation.conversation_id)
            if rating is None:
                continue
            turns.append((float(len(conversation.turns)), rating))
            if conversation.duration_s is not None:
                durations.append((conversation.duration_s, rating))
            if conversation.conversation_id in shares:
                errors.append((shares[conversation.conversation_id], rating))
    named = (("median_turns", turns), ("median_duration_s", durations), ("response_error_rate", errors))
    yield from ((metric, "rating", "conversation", pairs) for metric, pairs in named if pairs)


def _error_rates(evidence: Evidence) -> dict[str, float]:
    shares: dict[str, list[float]] = {}
    for (conversation, _), share in evidence.error_shares().items():
        shares.setdefault(conversation, []).append(share)
    return {name: sum(values) / len(values) for name, values in shares.items()}
