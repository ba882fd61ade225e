"""What every prompt tells about a pair, looked up: made once a plan, so it must be quick for many prompts.

Votes on a prompt of discrimination alpha and tie half-width t have I(theta; alpha, t) = alpha^2 I(alpha theta; 1,
alpha t): the effect of the cell is on the logit scale and does not depend on the prompt. One small table over (alpha
theta, alpha t) therefore serves all prompts, and what is left per prompt is an interpolation per node of log alpha.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.information import InformationTable, normal_nodes, vote_information
from irt_engine.posterior import Posterior

from .state import CampaignState

REACH, POINTS = 6.0, 33  # of theta: every 3/8 logit
_WIDTHS = 49  # of alpha t
_LOGITS, _LOGIT_POINTS = 15.0, 161  # of alpha theta; beyond, a vote tells next to nothing


def prompt_table(state: CampaignState, posterior: Posterior) -> InformationTable:
    """Prompts in the state's order, under their own uncertainty. One without votes is drawn from the typical ones:

    its discrimination has the SD of all, so it is worth a look.
    """
    number = {name: j for j, name in enumerate(posterior.prompts)}
    rows: IntArray = np.array([number.get(name, -1) for name in state.prompts], np.int64)
    known = rows >= 0
    slope = float(np.exp(np.log(posterior.discrimination).mean()))
    discrimination = np.where(known, posterior.discrimination[rows], slope)
    se = np.where(known, posterior.discrimination_se[rows], posterior.scales.log_discrimination * slope)
    thresholds = np.where(known[:, None], posterior.thresholds[rows], np.median(posterior.thresholds, axis=0))
    if posterior.form == "vote":
        return vote_table(discrimination, se, thresholds[:, 1], posterior.scales.cell or 0.0)
    return InformationTable.of(discrimination, thresholds, discrimination_se=se, reach=REACH, points=POINTS)


def vote_table(
    discrimination: FloatArray, discrimination_se: FloatArray, half_width: FloatArray, cell_sd: float
) -> InformationTable:
    """`InformationTable.of` for prompts (J,) whose votes tie about 0 +- half_width (J,); within a percent of it."""
    nodes, weights = normal_nodes()
    slopes = discrimination * np.exp(nodes[:, None] * discrimination_se / discrimination)
    widths = np.linspace(0.0, max(float((slopes * half_width).max(initial=0.0)), 1e-6), _WIDTHS)
    logits = np.linspace(-_LOGITS, _LOGITS, _LOGIT_POINTS)
    edges = np.stack([-widths, widths], axis=1)
    unit = vote_information(logits[:, None], np.ones(_WIDTHS), edges, cell_sd)
    grid = np.linspace(-REACH, REACH, POINTS)
    values = np.zeros((POINTS, len(discrimination)))
    for weight, alpha in zip(weights, slopes, strict=True):
        at = np.clip(grid[:, None] * alpha, -_LOGITS, _LOGITS)
        row = (at + _LOGITS) / (logits[1] - logits[0])
        column = np.broadcast_to(alpha * half_width / widths[1], at.shape)
        values += weight * alpha**2 * _between(unit, row, column)
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
