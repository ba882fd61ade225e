"""Posterior of a solved fit: names, units and standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.fitting.comparison_names import comparisons_of
from irt_engine.fitting.design import FitDesign
from irt_engine.fitting.prompt_estimates import prompt_parameters
from irt_engine.fitting.state import Solution
from irt_engine.models.comparison_graph import centred, groups_of
from irt_engine.posterior.moments import Scales
from irt_engine.posterior.posterior import Posterior
from irt_engine.responses.table import ResponseTable


def posterior_of(made: FitDesign, found: Solution, seed: int) -> Posterior:
    """Return the posterior of a solved fit.

    Parameters
    ----------
    made : FitDesign
        The problem and the names of its parts.
    found : Solution
        The solution.
    seed : int
        The seed to record.

    Returns
    -------
    Posterior
        The posterior in the units of the fit.
    """
    z, covariance = found.state.point.z, found.covariance
    theta, theta_se = _thetas(made, z, covariance)
    scales = _scales(made, found)
    return Posterior(
        model=made.model,
        comparisons=comparisons_of(made.table, made.comparisons),
        theta=theta,
        theta_se=theta_se,
        judgments=len(made.table),
        cells=made.cells.total,
        converged=True,
        iterations=found.rounds,
        seed=seed,
        form=made.form,
        side=float(z[made.side]) if made.side >= 0 else 0.0,
        side_se=float(np.sqrt(covariance[made.side, made.side])) if made.side >= 0 else 0.0,
        scales=scales,
        ties=int((made.table.outcome == 0).sum()),
        **_style(made, z, covariance),
        **_abilities(made, z, covariance),
        **_prompts(made, found, scales),
    )


def _style(made: FitDesign, z: FloatArray, covariance: FloatArray) -> dict[str, Any]:
    """Return the fields about style."""
    if made.style is None:
        return {}
    se = np.sqrt(np.diag(covariance)[made.style])
    return {"style_names": made.style_names, "style": z[made.style], "style_se": se}


def _abilities(made: FitDesign, z: FloatArray, covariance: FloatArray) -> dict[str, Any]:
    """Return the fields about chatbots; they are empty for model pair."""
    K, table = made.abilities, made.table
    if not made.board:
        none = {"chatbots": (), "ability": np.empty(0), "covariance": np.empty((0, 0))}
        none |= {"group": np.empty(0, np.int64), "chatbot_judgments": np.empty(0, np.int64)}
        return none | {"theta_covariance": covariance[:K, :K], "tier": np.empty(0, np.int64)}
    group = groups_of(len(table.chatbots), made.comparisons.low, made.comparisons.high)
    ability, of_ability = centred(z[:K], covariance[:K, :K], group)
    return {
        "chatbots": table.chatbots,
        "ability": ability,
        "covariance": of_ability,
        "group": group,
        "chatbot_judgments": judgments_by_chatbot(table),
        "tier": np.empty(0, np.int64) if made.tiers is None else made.tiers,
    }


def _prompts(made: FitDesign, found: Solution, scales: Scales) -> dict[str, Any]:
    """Return the fields about prompts; prompts of the pooled slot have equal values."""
    slots, slot = prompt_parameters(made, found, scales), made.cells.prompt_slot
    return {
        "prompts": made.table.prompts,
        "discrimination": slots.discrimination[slot],
        "discrimination_se": slots.discrimination_se[slot],
        "thresholds": slots.thresholds[slot],
        "thresholds_se": slots.thresholds_se[slot],
        "tier_discrimination": slots.tier_discrimination[slot],
        "tier_discrimination_se": slots.tier_discrimination_se[slot],
        "reply": slots.reply[slot] if slots.reply.size else slots.reply,
        "reply_se": slots.reply_se[slot] if slots.reply.size else slots.reply_se,
    }


def _scales(made: FitDesign, found: Solution) -> Scales:
    sd = dict(zip((g.name for g in made.effects.groups), np.exp(found.state.log_sd).tolist(), strict=False))
    return Scales(
        log_discrimination=sd["log_discrimination"],
        log_gap=sd["log_gap"],
        location=sd.get("location"),
        pair=sd.get("pair"),
        side=sd.get("side"),
        tier=sd.get("tier"),
        reply=sd.get("reply"),
        cell=made.effects.cell_sd(found.state.log_sd) if made.effects.cell else None,
        learned=found.learned,
        at_limit=made.effects.at_largest(found.state.log_sd) if found.learned else (),
    )


def _thetas(made: FitDesign, z: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return theta and its standard error, (C,) each, in the orientation of the file."""
    K = made.abilities
    if not made.board:
        return z[:K], np.sqrt(np.diag(covariance)[:K])
    C = len(made.comparisons.low)
    col = [made.comparisons.low, made.comparisons.high]
    coef = [-1.0, 1.0]
    if made.pair is not None:
        col, coef = [*col, made.pair.start + np.arange(C)], [*coef, 1.0]
    variance = np.zeros(C)
    mean = np.zeros(C)
    for k, a in zip(col, coef, strict=True):
        mean += a * z[k]
        for m, b in zip(col, coef, strict=True):
            variance += a * b * covariance[k, m]
    return np.where(made.comparisons.flip, -mean, mean), np.sqrt(variance)


def judgments_by_chatbot(table: ResponseTable) -> IntArray:
    """Return the number of judgments about each chatbot.

    Parameters
    ----------
    table : ResponseTable
        The votes.

    Returns
    -------
    ndarray of int, shape (M,)
        Each judgment counts for both chatbots.
    """
    M = len(table.chatbots)
    return np.bincount(table.a, minlength=M) + np.bincount(table.b, minlength=M)
