"""Measures of a replay: how far a posterior of a part of the votes is from a reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from irt_engine import Posterior
from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.models.comparison_graph import centred
from irt_engine.posterior.differences import SAME
from irt_engine.truth import Truth
from scheduler.errors import InvalidRequest

_Z = float(ndtri(0.975))


@dataclass(frozen=True, slots=True, eq=False)
class ReplayReference:
    """What a replay is compared with.

    Parameters
    ----------
    chatbots : tuple of str
        Names.
    ability : (M,) float array
        Abilities minus their mean.
    separated : (P,) bool array
        Whether each pair a < b is separated.
    sign : (P,) float array
        Sign of s_b - s_a.
    judgments : int
        Judgments behind it; 0 for known parameters.
    """

    chatbots: tuple[str, ...]
    ability: FloatArray
    separated: BoolArray
    sign: FloatArray
    judgments: int


@dataclass(frozen=True, slots=True)
class ReplayPoint:
    """How far a replay is after a number of votes.

    Parameters
    ----------
    votes : int
        Votes so far.
    tau : float
        Kendall's tau-a of the abilities against the reference's.
    rmse : float
        Root mean squared error of the centred abilities.
    decided, wrong : float
        Shares of the reference's separated pairs that are separated the same way, and the other way.
    mean_se : float
        Mean SE of the abilities.
    coverage : float
        Share of the reference's abilities inside the 95 % intervals.
    """

    votes: int
    tau: float
    rmse: float
    decided: float
    wrong: float
    mean_se: float
    coverage: float


def reference_of(posterior: Posterior) -> ReplayReference:
    """Return the reference of a fit on all votes.

    Parameters
    ----------
    posterior : Posterior
        The fit.

    Returns
    -------
    ReplayReference
        The reference.

    Raises
    ------
    InvalidRequest
        If the chatbots are not all connected.
    """
    if posterior.group.max() > 1:
        raise InvalidRequest(
            f"the comparison graph of all votes has {posterior.group.max()} separate parts",
            code="separate_groups",
            hint="select the rows of one part",
        )
    ability, covariance = scaled(posterior)
    z = _standardised(ability, covariance)
    return ReplayReference(posterior.chatbots, ability, np.abs(z) > _Z, _sign(z), posterior.judgments)


def reference_of_truth(truth: Truth) -> ReplayReference:
    """Return the reference of known parameters, in which every pair of unequal abilities is separated.

    Parameters
    ----------
    truth : Truth
        The parameters.

    Returns
    -------
    ReplayReference
        The reference.
    """
    scale = np.exp(np.log(truth.discrimination).mean()) / truth.unit
    ability = (truth.ability - truth.ability.mean()) * scale
    low, high = np.triu_indices(len(ability), 1)
    difference = ability[high] - ability[low]
    return ReplayReference(truth.chatbots, ability, difference != 0.0, np.sign(difference), 0)


def scaled(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return abilities on the scale with geometric mean discrimination 1.

    Parameters
    ----------
    posterior : Posterior
        The fit.

    Returns
    -------
    tuple of ndarray of float, shapes (M,) and (M, M)
        Centred abilities and their covariance.
    """
    scale = float(np.exp(np.log(posterior.discrimination).mean())) / posterior.scales.unit
    whole = np.ones(len(posterior.chatbots), np.int64)
    ability, covariance = centred(posterior.ability, posterior.covariance, whole)
    return scale * ability, scale**2 * covariance


def point_of(posterior: Posterior, reference: ReplayReference) -> ReplayPoint:
    """Return the distance between a fit of some votes and the reference.

    Parameters
    ----------
    posterior : Posterior
        The fit.
    reference : ReplayReference
        The reference.

    Returns
    -------
    ReplayPoint
        The distance.
    """
    ability, covariance = scaled(posterior)
    se = np.sqrt(np.diag(covariance))
    low, high = np.triu_indices(len(ability), 1)
    z = _standardised(ability, covariance)
    clear = reference.separated & (np.abs(z) > _Z) & (posterior.group[low] == posterior.group[high])
    separated = max(int(reference.separated.sum()), 1)
    right = _sign(z) == reference.sign
    away = np.abs(ability - reference.ability)
    return ReplayPoint(
        votes=posterior.judgments,
        tau=float(np.mean(_sign(z) * reference.sign)),
        rmse=float(np.sqrt(np.mean(away**2))),
        decided=float((clear & right).sum() / separated),
        wrong=float((clear & ~right).sum() / separated),
        mean_se=float(se.mean()),
        coverage=float(np.mean(away <= _Z * se)),
    )


def _sign(z: FloatArray) -> FloatArray:
    """(P,) of differences over their SEs: 0 where two chatbots differ by rounding alone."""
    sign: FloatArray = np.where(np.abs(z) > SAME, np.sign(z), 0.0)
    return sign


def _standardised(ability: FloatArray, covariance: FloatArray) -> FloatArray:
    """(P,) differences over their SEs, a < b."""
    low, high = np.triu_indices(len(ability), 1)
    v = np.diag(covariance)
    variance = np.maximum(v[low] + v[high] - 2.0 * covariance[low, high], 1e-300)
    z: FloatArray = (ability[high] - ability[low]) / np.sqrt(variance)
    return z
