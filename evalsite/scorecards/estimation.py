"""The metrics of each chatbot with intervals and bootstrap replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.scorecards.conversations import ConversationRating, RaterGroup
from evalsite.scorecards.evidence import Evidence, cluster_indices, keyword_counts, rating_groups
from evalsite.scorecards.metrics import METRICS
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.scorecard import (
    Estimate,
    Resampled,
    Sample,
    clustered_mean,
    clustered_share,
    domain_entropy,
    group_rating_sd,
    median,
    rarefied_keywords,
    ratio,
    resample,
    reverse_coefficient_of_variation,
)


@dataclass(frozen=True, slots=True)
class EqualSizes:
    """The sizes to which chatbots are brought for a fair comparison: those of the chatbot that has the fewest."""

    conversations: int
    replies: int


@dataclass(frozen=True, slots=True)
class Metrics:
    """Estimates of one chatbot (None where there is none) with replicates (B,), by metric."""

    estimates: Mapping[str, Estimate | None]
    replicates: Mapping[str, FloatArray]


def equal_sizes(evidence: Sequence[Evidence]) -> EqualSizes:
    with_domain = [sum(domain is not None for domain in one.domains()) for one in evidence]
    replies = [sum(conversation.reply_count for conversation in one.conversations) for one in evidence]
    return EqualSizes(min((count for count in with_domain if count > 1), default=1), min(replies, default=1))


def metrics_of(evidence: Evidence, sizes: EqualSizes, *, replicates: int, seed: int) -> Metrics:
    """Return the metrics of one chatbot; means and shares with analytic intervals, others with bootstrap intervals."""
    numbers: dict[str, int] = {}
    samples = _rating_samples(evidence, numbers) | _engagement_samples(evidence, numbers)
    samples |= _domain_samples(evidence, sizes, numbers) | _vocabulary_samples(evidence, sizes, numbers)
    found = resample(samples, replicates=replicates, seed=seed)
    missing = Resampled(None, np.full(replicates, np.nan))
    all_found = {metric.name: found.get(metric.name, missing) for metric in METRICS}
    estimates = {name: one.estimate for name, one in all_found.items()} | _analytic(evidence)
    return Metrics(estimates, {name: one.replicates for name, one in all_found.items()})


def _rated(evidence: Evidence) -> dict[str, list[ConversationRating]]:
    return {
        "rating": evidence.rated(RaterGroup.USER),
        "frequent_user_rating": evidence.rated(RaterGroup.USER, frequent=True),
        "evaluator_rating": evidence.rated(RaterGroup.EVALUATOR),
    }


def _analytic(evidence: Evidence) -> dict[str, Estimate | None]:
    found: dict[str, Estimate | None] = {}
    for name, ratings in _rated(evidence).items():
        values, raters = [one.value for one in ratings], [evidence.rater(one) for one in ratings]
        found[name] = clustered_mean(values, raters, evidence.rating_weights(ratings)) if ratings else None
    errors = evidence.error_shares()
    found["response_error_rate"] = (
        clustered_share(list(errors.values()), [evidence.cluster(conversation) for conversation, _ in errors])
        if errors
        else None
    )
    return found


def _rating_samples(evidence: Evidence, numbers: dict[str, int]) -> dict[str, Sample]:
    samples = {}
    for name, ratings in _rated(evidence).items():
        weights = evidence.rating_weights(ratings)
        weights = np.ones(len(ratings)) if weights is None else weights
        values = np.array([one.value for one in ratings])
        clusters = cluster_indices([evidence.rater(one) for one in ratings], numbers)
        samples[name] = Sample(ratio(weights * values, weights), clusters)
    errors = evidence.error_shares()
    clusters = cluster_indices([evidence.cluster(conversation) for conversation, _ in errors], numbers)
    samples["response_error_rate"] = Sample(ratio(list(errors.values()), np.ones(len(errors))), clusters)
    return samples


def _engagement_samples(evidence: Evidence, numbers: dict[str, int]) -> dict[str, Sample]:
    clusters = cluster_indices([evidence.cluster(one.conversation_id) for one in evidence.conversations], numbers)
    turns = [len(one.turns) for one in evidence.conversations]
    durations = [one.duration_s for one in evidence.conversations]
    known = np.array([one is not None for one in durations], bool)
    return {
        "median_turns": Sample(median(turns), clusters, "percentile"),
        "median_duration_s": Sample(
            median([one for one in durations if one is not None]), clusters[known], "percentile"
        ),
    }


def _domain_samples(evidence: Evidence, sizes: EqualSizes, numbers: dict[str, int]) -> dict[str, Sample]:
    if evidence.runs is None:
        return {}
    clusters = cluster_indices([evidence.cluster(one.conversation_id) for one in evidence.conversations], numbers)
    domains = evidence.domains()
    known = np.array([one is not None for one in domains], bool)
    numbered = np.array([one for one in domains if one is not None], np.int64)
    lengths = [sum(run.length for run in runs) for runs in evidence.runs]
    counts = [len(runs) for runs in evidence.runs]
    samples = {
        "domain_entropy": Sample(domain_entropy(numbered), clusters[known]),
        "r_cov": Sample(reverse_coefficient_of_variation(numbered, size=sizes.conversations), clusters[known]),
        "depth": Sample(ratio(lengths, counts), clusters),
    }
    return samples | {"domain_rating_sd": _group_sample(evidence, domains, clusters)}


def _group_sample(evidence: Evidence, domains: Sequence[int | None], clusters: IntArray) -> Sample:
    """Return the sample of rated conversations in a group of domains."""
    means = evidence.mean_ratings()
    rated = [means.get(one.conversation_id) for one in evidence.conversations]
    rows = [
        (row, rating, group)
        for row, (rating, group) in enumerate(zip(rated, rating_groups(domains), strict=True))
        if rating is not None and group is not None
    ]
    kept = np.array([row for row, _, _ in rows], np.int64)
    groups = np.array([group for _, _, group in rows], np.int64)
    return Sample(group_rating_sd([rating for _, rating, _ in rows], groups), clusters[kept], least=0.0)


def _vocabulary_samples(evidence: Evidence, sizes: EqualSizes, numbers: dict[str, int]) -> dict[str, Sample]:
    clusters = cluster_indices([evidence.cluster(one.conversation_id) for one in evidence.conversations], numbers)
    keywords, replies = keyword_counts(evidence)
    if keywords.shape[1] == 0:
        return {}
    statistic = rarefied_keywords(keywords, replies, size=sizes.replies)
    return {"keywords": Sample(statistic, clusters, names=("vocabulary", "topic_frequency"))}
