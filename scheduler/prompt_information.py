"""Expected information of a vote on each prompt about a pair, looked up in tables that are made once per plan.

A vote on a prompt of discrimination alpha and tie half-width t has I(theta; alpha, t) = alpha^2 I(alpha theta; 1,
alpha t), because the effect of the cell is on the logit scale and does not depend on the prompt. One small table over
(alpha theta, alpha t) therefore serves all prompts. Each prompt takes one interpolation per node of log alpha.
"""

from __future__ import annotations

import math

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.information import InformationTable, vote_information
from irt_engine.posterior import Posterior
from irt_engine.quadrature import NODES, normal_nodes
from scheduler.state import CampaignState

REACH, POINTS = 6.0, 33  # of theta: every 3/8 logit
_WIDTHS = 49  # of alpha t
_PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the way up
_LOGITS, _LOGIT_POINTS = 15.0, 161  # of alpha theta; beyond, a vote tells next to nothing


def prompt_table(state: CampaignState, posterior: Posterior) -> InformationTable:
    """Return the information table of the state's prompts.

    Each prompt has its own uncertainty. A prompt without votes has the distribution of all prompts.

    Parameters
    ----------
    state : CampaignState
        The state.
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    InformationTable
        The table.
    """
    return _table(posterior, *_parameters(state, posterior))


class PairTables:
    """Provide the expected information of prompts about each pair.

    If discriminations depend on tiers, a pair has those between the tiers of its chatbots. A chatbot that is not on the
    board has those of all.

    Parameters
    ----------
    state : CampaignState
        The state.
    posterior : Posterior
        The fit of the board.
    low, high : ndarray of int, shape (N,)
        The pairs.
    """

    def __init__(self, state: CampaignState, posterior: Posterior, low: IntArray, high: IntArray) -> None:
        of_bot = dict(zip(posterior.chatbots, posterior.tier.tolist(), strict=False))
        tier = np.array([of_bot.get(name, -1) for name in state.chatbots], np.int64)
        ends = np.sort(np.stack([tier[low], tier[high]]), axis=0)
        ends[:, ends[0] < 0] = -1
        found, self._which = np.unique(ends, axis=1, return_inverse=True)
        self._tables = [_table(posterior, *_parameters(state, posterior, (s, t))) for s, t in found.T.tolist()]

    def of_pair(self, pair: int, mean: float, se: float) -> FloatArray:
        """Return the expected information of each prompt about a pair.

        Parameters
        ----------
        pair : int
            Number of the pair.
        mean, se : float
            Mean and SD of theta.

        Returns
        -------
        ndarray of float, shape (J,)
            Expected information.
        """
        return self._tables[int(self._which[pair])].of_pair(mean, se)

    def typical(self, mean: FloatArray, se: FloatArray) -> FloatArray:
        """Return the expected information of the average prompt about each pair.

        Parameters
        ----------
        mean, se : ndarray of float, shape (N,)
            Mean and SD of theta.

        Returns
        -------
        ndarray of float, shape (N,)
            Expected information.
        """
        information = np.empty_like(mean)
        for number, table in enumerate(self._tables):
            own = self._which == number
            information[own] = table.typical(mean[own], se[own])
        return information


def best_case_table(state: CampaignState, posterior: Posterior, z: float) -> InformationTable:
    """Return the largest information for discriminations from the median to z standard errors of the log above it.

    The maximum may be inside: a very steep prompt has no information about pairs away from its threshold.

    Parameters
    ----------
    state : CampaignState
        The state.
    posterior : Posterior
        The fit of the board.
    z : float
        Number of standard errors.

    Returns
    -------
    InformationTable
        The table.
    """
    discrimination, se, thresholds = _parameters(state, posterior)
    up = [np.exp(part * z * se / discrimination) for part in _PARTS]
    tables = [_table(posterior, discrimination * times, None, thresholds) for times in up]
    return InformationTable(tables[0].grid, np.max([table.values for table in tables], axis=0))


def discriminations(state: CampaignState, posterior: Posterior) -> FloatArray:
    """Return the discriminations in the state's order.

    Parameters
    ----------
    state : CampaignState
        The state.
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    ndarray of float, shape (J,)
        A prompt without votes has the typical one.
    """
    return _parameters(state, posterior)[0]


def _parameters(
    state: CampaignState, posterior: Posterior, tiers: tuple[int, int] = (-1, -1)
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Discrimination (J,), its SE (J,) and thresholds (J, E) in the state's order, between two tiers if they are given.

    A prompt without votes is no steeper in one tier than in another, as far as anybody knows.
    """
    number = {name: j for j, name in enumerate(posterior.prompts)}
    rows: IntArray = np.array([number.get(name, -1) for name in state.prompts], np.int64)
    known, scales = rows >= 0, posterior.scales
    of_known, se_of_known = posterior.discrimination, posterior.discrimination_se
    spread = scales.log_discrimination
    if tiers[0] >= 0:
        of_known, se_of_known = (
            x[:, *tiers] for x in (posterior.tier_discrimination, posterior.tier_discrimination_se)
        )
        spread = math.hypot(spread, (scales.tier or 0.0) * (1.0 if tiers[0] == tiers[1] else math.sqrt(0.5)))
    slope = float(np.exp(np.log(posterior.discrimination).mean()))
    discrimination = np.where(known, of_known[rows], slope)
    se = np.where(known, se_of_known[rows], spread * slope)
    thresholds = np.where(known[:, None], posterior.thresholds[rows], np.median(posterior.thresholds, axis=0))
    return discrimination, se, thresholds


def _table(
    posterior: Posterior, discrimination: FloatArray, se: FloatArray | None, thresholds: FloatArray
) -> InformationTable:
    if posterior.form == "vote":
        return vote_table(discrimination, se, thresholds[:, 1], posterior.scales.fresh)
    return InformationTable.of(discrimination, thresholds, discrimination_se=se, reach=REACH, points=POINTS)


def vote_table(
    discrimination: FloatArray, discrimination_se: FloatArray | None, half_width: FloatArray, cell_sd: float
) -> InformationTable:
    """Return the information table of prompts with symmetric ties, within a percent.

    Parameters
    ----------
    discrimination : ndarray of float, shape (J,)
        Discriminations.
    discrimination_se : ndarray of float, shape (J,), or None
        Standard errors; None for known ones.
    half_width : ndarray of float, shape (J,)
        Half-widths of ties, in units of ability.
    cell_sd : float
        SD of the cell effect, in logits.

    Returns
    -------
    InformationTable
        The table.
    """
    se = np.zeros_like(discrimination) if discrimination_se is None else discrimination_se
    nodes, weights = normal_nodes(NODES if discrimination_se is not None else 1)
    slopes = discrimination * np.exp(nodes[:, None] * se / discrimination)
    widths = np.linspace(0.0, max(float((slopes * half_width).max(initial=0.0)), 1e-6), _WIDTHS)
    logits = np.linspace(-_LOGITS, _LOGITS, _LOGIT_POINTS)
    edges = np.stack([-widths, widths], axis=1)
    unit = vote_information(logits[:, None], np.ones(_WIDTHS), edges, cell_sd)
    grid = np.linspace(-REACH, REACH, POINTS)
    values = np.zeros((POINTS, len(discrimination)))
    for weight, alpha in zip(weights, slopes, strict=True):
        logit = grid[:, None] * alpha
        at = np.clip(logit, -_LOGITS, _LOGITS)
        beyond = np.exp(np.abs(at) - np.abs(logit))  # what is told falls off as the chance of a surprise does
        row = (at + _LOGITS) / (logits[1] - logits[0])
        column = np.broadcast_to(alpha * half_width / widths[1], at.shape)
        values += weight * alpha**2 * beyond * _between(unit, row, column)
    return InformationTable(grid, values)


def _between(table: FloatArray, row: FloatArray, column: FloatArray) -> FloatArray:
    """The table at fractional rows and columns, bilinear."""
    i = np.minimum(row.astype(np.int64), table.shape[0] - 2)
    j = np.minimum(column.astype(np.int64), table.shape[1] - 2)
    r, c = row - i, column - j
    upper = (1.0 - c) * table[i, j] + c * table[i, j + 1]
    lower = (1.0 - c) * table[i + 1, j] + c * table[i + 1, j + 1]
    value: FloatArray = (1.0 - r) * upper + r * lower
    return value
