"""Metrics of whole conversations: ratings, errors, engagement, domains, vocabulary, and scores that unify them."""

from .correlation import LEAST_UNITS, Correlation, correlate, ranks
from .domain_runs import Run, conversation_domain, domain_runs
from .estimates import Estimate, cluster_numbers, clustered_mean, clustered_share
from .prediction import PredictionError, RatingCeiling, prediction_error, rating_ceiling, residual_limits
from .resampling import Resampled, Sample, Statistic, resample
from .statistics import (
    domain_entropy,
    entropies,
    group_rating_sd,
    median,
    ratio,
    reverse_coefficient_of_variation,
)
from .unification import MetricTable, TotalScores, confidence_bands, stack_ranking, winners_circle
from .vocabulary import rarefied_keywords

__all__ = [
    "LEAST_UNITS",
    "Correlation",
    "Estimate",
    "MetricTable",
    "PredictionError",
    "RatingCeiling",
    "Resampled",
    "Run",
    "Sample",
    "Statistic",
    "TotalScores",
    "cluster_numbers",
    "clustered_mean",
    "clustered_share",
    "confidence_bands",
    "conversation_domain",
    "correlate",
    "domain_entropy",
    "domain_runs",
    "entropies",
    "group_rating_sd",
    "median",
    "prediction_error",
    "ranks",
    "rarefied_keywords",
    "rating_ceiling",
    "ratio",
    "resample",
    "residual_limits",
    "reverse_coefficient_of_variation",
    "stack_ranking",
    "winners_circle",
]
