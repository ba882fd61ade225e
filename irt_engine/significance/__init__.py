"""Significance tests of differences between chatbots, corrections for multiple tests, and proportions."""

from .multiple_comparisons import Adjusted, SimultaneousContrasts, holm, simultaneous
from .paired_tests import Significance, binomial, chi_square, cochran_q, mcnemar
from .proportions import Share, chance_below, share

__all__ = [
    "Adjusted",
    "Share",
    "Significance",
    "SimultaneousContrasts",
    "binomial",
    "chance_below",
    "chi_square",
    "cochran_q",
    "holm",
    "mcnemar",
    "share",
    "simultaneous",
]
