"""The metrics of a scorecard: their names, orientation, and which of them are unified."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of chatbots.

    `unified`: whether it counts in the unified scores, as in the paper. `missing` completes the sentence "There is no
    value, because ...".
    """

    name: str
    missing: str
    higher_is_better: bool = True
    unified: bool = True


METRICS = (
    Metric("rating", "no user rated a conversation"),
    Metric("frequent_user_rating", "no rating is by a user with two conversations with the chatbot"),
    Metric("evaluator_rating", "no rating is by the group evaluator"),
    Metric("response_error_rate", "no reply has a label", higher_is_better=False),
    Metric("median_turns", "there are no conversations"),
    Metric("median_duration_s", "no conversation has two times"),
    Metric("domain_entropy", "no conversation has a domain", unified=False),
    Metric(
        "domain_rating_sd",
        "fewer than two groups of domains have ratings",
        higher_is_better=False,
        unified=False,
    ),
    Metric("r_cov", "the domain entropy does not vary"),
    Metric("depth", "no utterance has a domain"),
    Metric("vocabulary", "no reply has a topical keyword"),
    Metric("topic_frequency", "no reply has a topical keyword"),
)
METRIC = {metric.name: metric for metric in METRICS}
RATINGS = ("rating", "frequent_user_rating", "evaluator_rating")
TOPICAL = frozenset({"domain_entropy", "domain_rating_sd", "r_cov", "depth"})
