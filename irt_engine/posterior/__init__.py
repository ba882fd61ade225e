"""The posterior of a board: differences, ranks, predictions and sequential tests."""

from .anchors import Anchored
from .differences import Differences
from .moments import Comparison, PosteriorMoments, Scales
from .posterior import Difference, Posterior, difference_of
from .sequential_tests import ToldApart, discoveries, log_p_apart, log_p_equal, told_apart
from .simultaneous import SimultaneousDifferences
from .storage import read_warm_start
from .warm_start import WarmStart

__all__ = [
    "Anchored",
    "Comparison",
    "Difference",
    "Differences",
    "Posterior",
    "PosteriorMoments",
    "Scales",
    "SimultaneousDifferences",
    "ToldApart",
    "WarmStart",
    "difference_of",
    "discoveries",
    "log_p_apart",
    "log_p_equal",
    "read_warm_start",
    "told_apart",
]
