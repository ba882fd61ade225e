"""The comparison graph: connected parts, and abilities centred in each."""

from __future__ import annotations

import numpy as np

from irt_engine.models.comparison_graph import centred, groups_of


def test_abilities_are_centred_in_each_group_and_so_is_their_covariance() -> None:
    rng = np.random.default_rng(1)
    root = rng.standard_normal((6, 6))
    group = np.array([1, 2, 1, 3, 2, 1])
    ability, covariance = centred(rng.standard_normal(6), root @ root.T, group)
    for g in (1, 2):
        assert abs(ability[group == g].sum()) < 1e-12
        assert np.allclose(covariance[group == g].sum(axis=0), 0.0, atol=1e-12)
    assert ability[3] == 0.0
    assert np.isclose(covariance[3, 3], (root @ root.T)[3, 3])


def test_groups_are_numbered_from_the_largest() -> None:
    low, high = np.array([0, 2, 3, 5]), np.array([1, 3, 4, 6])
    assert groups_of(8, low, high).tolist() == [2, 2, 1, 1, 1, 3, 3, 4]
