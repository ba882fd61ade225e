"""Kernels of the everyday fit in numpy, as `kernel_protocol.Kernels` describes them."""

from .reference import expected_terms
from .reference_elimination import (
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
    whole_covariances,
)

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

CHUNK = (
    1 << 19
)  # numbers in cross blocks that are worked on together: calls of numpy take their time, however small arrays are
