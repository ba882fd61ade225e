"""Posteriors made by hand, so that what is asked of them does not depend on how a fit finds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from irt_engine import Comparison, Posterior
from irt_engine.models.comparison_graph import centred
from irt_engine.posterior.moments import Scales


def made_up(
    ability: Any, covariance: Any, *, group: Any = None, comparisons: tuple[Comparison, ...] = (), **change: Any
) -> Posterior:
    """A board with these abilities, two prompts of form vote, and whatever else is named."""
    ability = np.asarray(ability, np.float64)
    chatbots = len(ability)
    fields: dict[str, Any] = {
        "model": "board",
        "chatbots": tuple(f"bot{i}" for i in range(chatbots)),
        "ability": ability,
        "covariance": covariance,
        "group": np.ones(chatbots) if group is None else group,
        "chatbot_judgments": np.zeros(chatbots),
        "comparisons": comparisons,
        "theta": np.zeros(len(comparisons)),
        "theta_se": np.ones(len(comparisons)),
        "prompts": ("p0", "p1"),
        "discrimination": [1.0, 1.6],
        "discrimination_se": [0.2, 0.3],
        "thresholds": [[-0.4, 0.4], [-0.2, 0.2]],
        "judgments": 40,
        "cells": 40,
        "converged": True,
        "iterations": 7,
        "seed": 0,
        "form": "vote",
        "side": 0.0,
        "side_se": 0.0,
        "scales": Scales(log_discrimination=0.4, log_gap=0.3),
    }
    return Posterior(**(fields | change))


def random_board(chatbots: int, seed: int, *, gap: float = 0.3, group: Any = None) -> Posterior:
    """Abilities `gap` apart on average, a covariance without structure, centred in each group as a fit leaves them."""
    rng = np.random.default_rng(seed)
    root = 0.2 * rng.standard_normal((chatbots, chatbots + 3)) / np.sqrt(chatbots)
    group = np.ones(chatbots, np.int64) if group is None else np.asarray(group)
    ability, covariance = centred(gap * rng.standard_normal(chatbots), root @ root.T + 0.02 * np.eye(chatbots), group)
    return made_up(ability, covariance, group=group)


def exchangeable(chatbots: int, se: float, ability: Any = None) -> Posterior:
    """Independent errors of equal size about their mean: what Tukey's studentised range is the answer to."""
    ability = np.zeros(chatbots) if ability is None else np.asarray(ability, np.float64)
    return made_up(ability - ability.mean(), se**2 * (np.eye(chatbots) - 1.0 / chatbots))


boards = st.builds(random_board, st.integers(1, 7), st.integers(0, 10_000), gap=st.sampled_from([0.0, 0.05, 0.3, 3.0]))
