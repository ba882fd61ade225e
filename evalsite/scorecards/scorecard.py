"""A scorecard: metrics of every chatbot, scores that unify them, and their correlations with ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, TurnLabel
from evalsite.scorecards.correlations import MetricCorrelation, correlations_of
from evalsite.scorecards.estimation import equal_sizes, metrics_of
from evalsite.scorecards.evidence import Classify, Evidence, Runs, evidence_by_chatbot
from evalsite.scorecards.metrics import METRICS, TOPICAL
from evalsite.scorecards.unified_scores import ScoreCells, UnifiedScore, unified_scores
from irt_engine.scorecard import Estimate

REPLICATES = 1_000


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The chatbots in alphabetical order, and by name what is known about each; None where there is no value."""

    chatbots: tuple[str, ...]
    metrics: Mapping[str, Mapping[str, Estimate | None]]
    unified: Mapping[str, Mapping[str, UnifiedScore | None]]
    correlations: tuple[MetricCorrelation, ...]
    warnings: tuple[str, ...]
    cells: Mapping[str, ScoreCells] = field(default_factory=dict)

    def with_warnings(self, more: Sequence[str]) -> Scorecard:
        """Return the scorecard with warnings in front of its own."""
        return replace(self, warnings=(*more, *self.warnings))


def scorecard_of(
    conversations: Sequence[ScoredConversation],
    ratings: Sequence[ConversationRating] = (),
    labels: Sequence[TurnLabel] = (),
    *,
    classify: Classify | None = None,
    runs: Runs | None = None,
    weights: Mapping[str, float] | None = None,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Scorecard:
    """Return the scorecard of conversations.

    Parameters
    ----------
    conversations
        Conversations of all chatbots.
    ratings
        Ratings of whole conversations, of the one criterion that is the rating.
    labels
        Labels of replies.
    classify
        Function of (previous, utterance) pairs that returns their domains; None leaves out what depends on domains.
    weights
        Weights of metrics in the unified scores, 1 by default.
    replicates, seed
        Number of bootstrap replicates, and the seed of the random generators.
    """
    evidence = evidence_by_chatbot(conversations, ratings, labels, classify, runs)
    sizes = equal_sizes(list(evidence.values()))
    found = {
        chatbot: metrics_of(one, sizes, replicates=replicates, seed=seed + number)
        for number, (chatbot, one) in enumerate(evidence.items())
    }
    metrics = {metric.name: {bot: one.estimates[metric.name] for bot, one in found.items()} for metric in METRICS}
    unified, unified_warnings, cells = unified_scores(found, weights or {})
    correlations, correlation_warnings = correlations_of(metrics, unified, evidence, seed=seed)
    warnings = [
        *_missing(metrics, with_topics=classify is not None or runs is not None),
        *_weighting(evidence),
        *_partial_times(evidence),
    ]
    warnings += [*unified_warnings, *correlation_warnings]
    return Scorecard(tuple(evidence), metrics, unified, tuple(correlations), tuple(warnings), cells)


def _missing(metrics: Mapping[str, Mapping[str, Estimate | None]], *, with_topics: bool) -> Iterator[str]:
    for metric in METRICS:
        values = metrics[metric.name]
        without = [chatbot for chatbot, one in values.items() if one is None]
        reason = metric.missing if with_topics or metric.name not in TOPICAL else "topics were not classified"
        if without and len(without) == len(values):
            yield f"{metric.name}: there is no value, because {reason}."
        elif without:
            yield f"{metric.name}: there is no value for {', '.join(without)}, because {reason}."


def _weighting(evidence: Mapping[str, Evidence]) -> Iterator[str]:
    partly = [
        chatbot
        for chatbot, one in evidence.items()
        if any(conversation.assignment_probability is not None for conversation in one.conversations)
        and one.ratings
        and one.rating_weights(one.ratings) is None
    ]
    if partly:
        yield (
            f"The ratings of {', '.join(partly)} are not weighted, because some of their conversations have no "
            "assignment_probability."
        )


def _partial_times(evidence: Mapping[str, Evidence]) -> Iterator[str]:
    every = [conversation for one in evidence.values() for conversation in one.conversations]
    without = sum(conversation.duration_s is None for conversation in every)
    if 0 < without < len(every):
        yield f"median_duration_s: {without:,} of {len(every):,} conversations have no times and are left out."
