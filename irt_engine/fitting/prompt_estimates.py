"""Estimates of the prompts' parameters and their standard errors, by the delta method from normal logarithms.

A prompt of the pooled slot has the parameters of a typical prompt. The SDs over all prompts are its standard errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irt_engine.arrays import FloatArray

if TYPE_CHECKING:
    from irt_engine.fitting.design import FitDesign
    from irt_engine.fitting.state import Solution
    from irt_engine.posterior.moments import Scales


@dataclass(frozen=True, slots=True, eq=False)
class PromptParameters:
    """Store the estimates of J slots and their standard errors.

    Parameters
    ----------
    discrimination, discrimination_se : ndarray of float, shape (J,)
        Discriminations; with tiers the geometric mean over tiers.
    thresholds, thresholds_se : ndarray of float, shape (J, E)
        Thresholds.
    tier_discrimination, tier_discrimination_se : ndarray of float, shape (J, T, T)
        Discriminations between two tiers.
    reply, reply_se : ndarray of float, shape (J, M) or (0, 0)
        Reply effects.
    """

    discrimination: FloatArray
    discrimination_se: FloatArray
    thresholds: FloatArray
    thresholds_se: FloatArray
    tier_discrimination: FloatArray
    tier_discrimination_se: FloatArray
    reply: FloatArray  # (J, M), or (0, 0) without effects of replies
    reply_se: FloatArray


def prompt_parameters(made: FitDesign, found: Solution, scales: Scales) -> PromptParameters:
    """Return the estimates of the slots of a fit.

    Parameters
    ----------
    made : FitDesign
        The design.
    found : Solution
        The solution.
    scales : Scales
        SDs of the effects.

    Returns
    -------
    PromptParameters
        Estimates and standard errors by the delta method.
    """
    problem, point = made.problem, found.state.point
    prompts, phi = problem.prompts, problem.total_phi(point)
    of_slope, by_tiers = _along_tiers(prompts.size, prompts.tiers)
    log_alpha, log_tiers = phi @ of_slope, phi @ by_tiers.swapaxes(1, 2)
    log_tiers = np.moveaxis(log_tiers, 0, 1)  # (J, T, T)
    log_se = np.empty(problem.slots)
    tier_se, b_se = np.empty_like(log_tiers), np.empty((problem.slots, len(prompts.spread)))
    derivatives, of_replies = _threshold_derivatives(made, phi), np.empty((problem.slots, problem.width - prompts.size))
    for slots in problem.chunks():
        own = found.factors.slot_covariances(found.covariance, slots)[1]
        of_replies[slots] = np.diagonal(own, axis1=1, axis2=2)[:, prompts.size :]
        own = own[:, : prompts.size, : prompts.size]
        log_se[slots] = np.sqrt(own[:, 0, 0])
        if made.cells.shared >= 0 and slots.start <= made.cells.shared < slots.stop:
            own[made.cells.shared - slots.start] += np.diag(_any_prompt(made, scales))
        b_se[slots] = _sd(derivatives[slots], own)
        if prompts.tiers:
            log_se[slots] = np.sqrt(np.einsum("p,jpq,q->j", of_slope, own, of_slope))
            tier_se[slots] = np.sqrt(np.einsum("stp,jpq,stq->jst", by_tiers, own, by_tiers, optimize=True))
    if made.cells.shared >= 0 and not prompts.tiers:
        log_se[made.cells.shared] = scales.log_discrimination
    alpha, of_tiers = np.exp(log_alpha), np.exp(log_tiers)
    return PromptParameters(
        alpha,
        alpha * log_se,
        prompts.thresholds(phi),
        b_se,
        of_tiers,
        of_tiers * tier_se,
        _by_chatbot(made, point.phi[:, prompts.size :], 0.0),
        _by_chatbot(made, np.sqrt(of_replies), scales.reply or 0.0),
    )


def _by_chatbot(made: FitDesign, of_columns: FloatArray, of_others: float) -> FloatArray:
    replies = made.problem.replies
    return np.empty((0, 0)) if replies is None else replies.by_chatbot(of_columns, made.abilities, of_others)


def _along_tiers(size: int, tiers: int) -> tuple[FloatArray, FloatArray]:
    """Rows along which a log discrimination lies in phi: of the mean over tiers (P,), and of two tiers (T, T, P)."""
    mean, both = np.zeros(size), np.zeros((tiers, tiers, size))
    mean[0], both[:, :, 0] = 1.0, 1.0
    if tiers:
        mean[1 : 1 + tiers] = 1.0 / tiers
    for t in range(tiers):
        both[t, :, 1 + t] += 0.5
        both[:, t, 1 + t] += 0.5
    return mean, both


def _threshold_derivatives(made: FitDesign, phi: FloatArray) -> FloatArray:
    """(J, E, P) db_c / dphi_p."""
    prompts = made.problem.prompts
    derivatives = np.zeros((len(phi), len(prompts.spread), prompts.size))
    derivatives[:, :, prompts.first_gap :] = np.exp(phi[:, None, prompts.first_gap :]) * prompts.spread
    derivatives[:, :, prompts.location] = 1.0
    return derivatives


def _sd(along: FloatArray, covariance: FloatArray) -> FloatArray:
    """(J, E) sqrt(a' C a) for a (J, E, P) and C (J, P, P)."""
    sd: FloatArray = np.sqrt((np.matmul(along, covariance) * along).sum(axis=2))
    return sd


def _any_prompt(made: FitDesign, scales: Scales) -> FloatArray:
    """(P,) the variances of prompts that nothing is known about; the shared slot's location is its own."""
    prompts = made.problem.prompts
    variance = np.zeros(prompts.size)
    variance[0] = scales.log_discrimination**2
    variance[1 : 1 + prompts.tiers] = (scales.tier or 0.0) ** 2
    variance[prompts.location] = (scales.location or 0.0) ** 2
    variance[prompts.first_gap :] = scales.log_gap**2
    return variance
