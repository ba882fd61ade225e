"""Significance tests of differences between chatbots, corrections for multiple tests, and proportions."""

from .paired_tests import (
    Adjusted,
    Significance,
    SimultaneousContrasts,
    binomial,
    chi_square,
    cochran_q,
    holm,
    mcnemar,
    simultaneous,
)
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
