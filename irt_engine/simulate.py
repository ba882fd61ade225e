"""Draw votes from known parameters: for tests, for power, and for the closed loop. Every draw has its own seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import FloatArray, IntArray
from .errors import InvalidResponses
from .grm import category_probabilities
from .priors import DEFAULT_PRIORS, Priors
from .prompts import FREE, MIRRORED
from .responses import ResponseTable

# The typical log gaps of simulated prompts: tie category +-0.4, then steps of 0.9 (about what crowds show).
TYPICAL_LOG_GAPS = {"board": np.log([0.4, 0.9, 0.9]), "pair": np.log([0.9, 0.9, 0.8, 0.9, 0.9])}


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Known parameters: ability (M,), discrimination (J,), thresholds (J, 6); side = advantage of the first shown."""

    ability: FloatArray
    discrimination: FloatArray
    thresholds: FloatArray
    side: float = 0.0

    @property
    def chatbots(self) -> tuple[str, ...]:
        """Names that sort as their indices do."""
        return tuple(f"bot{i:05d}" for i in range(len(self.ability)))

    @property
    def prompts(self) -> tuple[str, ...]:
        """Names that sort as their indices do."""
        return tuple(f"prompt{j:07d}" for j in range(len(self.discrimination)))


def draw_truth(
    chatbots: int,
    prompts: int,
    *,
    seed: int,
    model: Literal["pair", "board"] = "board",
    priors: Priors = DEFAULT_PRIORS,
) -> Truth:
    """Parameters from the priors. Under `pair`, abilities are of comparisons: chatbots 2i (0) and 2i + 1 (theta_i)."""
    rng = np.random.default_rng(seed)
    shape = MIRRORED if model == "board" else FREE
    sd = np.full(shape.size, priors.log_gap_sd)
    sd[0] = priors.log_discrimination_sd
    if shape.located:
        sd[1] = priors.location_sd
    phi = sd * rng.standard_normal((prompts, shape.size))
    phi[:, shape.first_gap :] += TYPICAL_LOG_GAPS[model]
    if model == "board":
        ability = priors.ability_sd * rng.standard_normal(chatbots)
    else:
        ability = np.zeros(chatbots)
        ability[1::2] = priors.theta_sd * rng.standard_normal(chatbots // 2)
    return Truth(ability, np.exp(phi[:, 0]), shape.thresholds(phi))


def all_cells(chatbots: int, prompts: int) -> IntArray:
    """(n, 3) every (a, b, prompt) with a < b."""
    a, b = np.triu_indices(chatbots, 1)
    J = np.arange(prompts)
    return np.stack([np.repeat(a, prompts), np.repeat(b, prompts), np.tile(J, len(a))], axis=1)


def some_cells(chatbots: int, prompts: int, share: float, *, seed: int) -> IntArray:
    """A random share of `all_cells`, without replacement. Raises InvalidResponses unless 0 < share <= 1."""
    if not 0.0 < share <= 1.0:
        raise InvalidResponses(f"share {share} is outside (0, 1]", code="bad_share", hint="give a share of the cells")
    cells = all_cells(chatbots, prompts)
    count = max(1, round(share * len(cells)))
    return cells[np.sort(np.random.default_rng(seed).choice(len(cells), count, replace=False))]


def draw_votes(
    truth: Truth, cells: IntArray, *, seed: int, votes: int = 1, form: Literal["net", "vote"] = "vote"
) -> ResponseTable:
    """Votes on cells (n, 3) of (a, b, prompt).

    `net`: three votes a cell whose net rating is one draw of the graded model (the model is then exactly true).
    `vote`: `votes` independent votes a cell, each the sign of such a draw.
    The order shown is drawn for every vote when the truth has a side effect, and is unknown otherwise.
    """
    rng = np.random.default_rng(seed)
    repeated = np.repeat(cells, 1 if form == "net" else votes, axis=0)
    first = rng.integers(0, 2, len(repeated)) if truth.side else np.full(len(repeated), -1)
    push = np.where(first == -1, 0.0, np.where(first == 1, -1.0, 1.0)) * truth.side
    a, b, j = repeated.T
    p = category_probabilities(truth.ability[b] - truth.ability[a] + push, truth.discrimination[j], truth.thresholds[j])
    u = (p.cumsum(axis=1) < rng.random(len(p))[:, None]).sum(axis=1).clip(0, 6) - 3
    outcome = np.sign(u)
    if form == "net":
        repeated, first = np.repeat(repeated, 3, axis=0), np.repeat(first, 3)
        outcome = (np.sign(u)[:, None] * (np.arange(3) < np.abs(u)[:, None])).ravel()
    return _table(truth, repeated, outcome, first)


def _table(truth: Truth, cells: IntArray, outcome: IntArray, first: IntArray) -> ResponseTable:
    n = len(cells)
    return ResponseTable(
        chatbots=truth.chatbots,
        prompts=truth.prompts,
        labels=(),
        a=cells[:, 0],
        b=cells[:, 1],
        prompt=cells[:, 2],
        outcome=outcome,
        annotator=np.full(n, -1),
        a_first=first,
        label=np.zeros(n, np.int64),
    )
