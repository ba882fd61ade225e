"""The state of a board as stopping rules read it: the state's chatbots alone, in the state's order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from irt_engine import Posterior
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior.sequential_tests import told_apart
from scheduler.errors import InvalidRequest
from scheduler.reasons import Reason
from scheduler.state import CampaignState

Over = Literal["all", "neighbours"]


def obstacle(state: CampaignState) -> Reason | None:
    """Return why the board as a whole cannot be assessed.

    Parameters
    ----------
    state : CampaignState
        The state.

    Returns
    -------
    Reason or None
        None if it can be assessed.
    """
    posterior = state.posterior
    if len(state.chatbots) < 2:
        return Reason("too_few_chatbots")
    if posterior is None:
        return Reason("no_fit")
    missing = sorted(set(state.chatbots) - set(posterior.chatbots))
    if missing:
        return Reason("chatbot_without_votes", {"chatbot": missing[0]})
    parts = len(set(posterior.group[_rows(state, posterior)].tolist()))
    if parts > 1:
        return Reason("separate_groups", {"parts": parts})
    return None if posterior.converged else Reason("fit_not_converged")


def _rows(state: CampaignState, posterior: Posterior) -> IntArray:
    """(M,) where the state's chatbots stand in the posterior."""
    place = {name: i for i, name in enumerate(posterior.chatbots)}
    return np.array([place[name] for name in state.chatbots], np.int64)


def board_estimates(state: CampaignState, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return the abilities in the state's order.

    Parameters
    ----------
    state : CampaignState
        The state with M chatbots.
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    tuple of ndarray of float, shapes (M,) and (M, M)
        Abilities and covariance.
    """
    rows = _rows(state, posterior)
    return posterior.ability[rows], posterior.covariance[np.ix_(rows, rows)]


def check_over(over: str) -> None:
    """Check the range of a criterion.

    Parameters
    ----------
    over : {"all", "neighbours"}
        The pairs that the criterion covers.

    Raises
    ------
    InvalidRequest
        If the value is anything else.
    """
    if over not in ("all", "neighbours"):
        raise InvalidRequest(f"over {over!r}", code="bad_rule", hint="use 'all' or 'neighbours'")


def neighbours(ability: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the pairs of neighbours in the order of abilities.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities.

    Returns
    -------
    tuple of ndarray of int, shape (M - 1,)
        Upper and lower chatbot of each pair.
    """
    order = np.argsort(-ability, kind="stable")
    return order[:-1], order[1:]


def ability_sd_of(posterior: Posterior) -> float:
    """Return the prior SD of the abilities of boards.

    Parameters
    ----------
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    float
        SD in the board's unit.
    """
    return DEFAULT_PRIORS.ability_sd / posterior.scales.unit


def separated_pairs(
    state: CampaignState, posterior: Posterior, alpha: float, looks: int | None
) -> tuple[BoolArray, FloatArray]:
    """Return the pairs that sequential tests distinguish, in the state's order.

    Parameters
    ----------
    state : CampaignState
        The state with M chatbots.
    posterior : Posterior
        The fit of the board.
    alpha : float
        Level of the sequential tests.
    looks : int or None
        Number of times that the board may be tested; None for any number.

    Returns
    -------
    tuple of ndarray, shape (M, M)
        Whether row is above column, and log p of equality.
    """
    told = told_apart(posterior, looks=looks, alpha=alpha, ability_sd=ability_sd_of(posterior))
    rows = _rows(state, posterior)
    log_p = np.zeros_like(posterior.covariance)
    log_p[told.a, told.b] = log_p[told.b, told.a] = told.log_p
    return told.better[np.ix_(rows, rows)], log_p[np.ix_(rows, rows)]
