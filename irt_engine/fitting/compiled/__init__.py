"""Compiled kernels of the everyday fit: the loops of the reference over cells, sigma points and nodes.

Lanes are the cells of a block at the points: lane q m + i is cell i of m at point q. Inner loops run over cells that
are adjacent in memory.

Slices, broadcasts and np.dot are avoided, because numba takes seconds to compile them. `whole_covariances` is a few
large matrix products, for which numpy needs no compilation.
"""

from irt_engine.fitting.reference_elimination import whole_covariances

from .elimination import (
    add_replies,
    add_shared,
    add_transposed,
    cross_blocks,
    eliminate,
    inverse_factors,
    own_variances,
    pull_shared,
    slot_covariances,
    sum_slots,
    theta_information,
    theta_of,
)
from .expected_terms import expected_terms

__all__ = [
    "CHUNK",
    "add_replies",
    "add_shared",
    "add_transposed",
    "cross_blocks",
    "eliminate",
    "expected_terms",
    "inverse_factors",
    "own_variances",
    "pull_shared",
    "slot_covariances",
    "sum_slots",
    "theta_information",
    "theta_of",
    "whole_covariances",
]

CHUNK = 1 << 16  # numbers in cross blocks that are processed together, few enough for the nearer caches
