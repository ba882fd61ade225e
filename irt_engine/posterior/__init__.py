"""Posterior beliefs about a board and what follows from them: differences, ranks, predictions, sequential tests."""

from .anchors import Anchored
from .differences import Differences, SimultaneousDifferences
from .posterior import Comparison, Difference, Posterior, Scales, difference_of
from .sequential_tests import ToldApart, discoveries, log_p_apart, log_p_equal, told_apart

__all__ = [
    "Anchored",
    "Comparison",
    "Difference",
    "Differences",
    "Posterior",
    "Scales",
    "SimultaneousDifferences",
    "ToldApart",
    "difference_of",
    "discoveries",
    "log_p_apart",
    "log_p_equal",
    "told_apart",
]
