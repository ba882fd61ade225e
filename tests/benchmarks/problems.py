"""The simulated problems that benchmarks share; every one is made anew from fixed seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from irt_engine import Priors, ResponseTable
from irt_engine.fitting.everyday import Form, Model
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import Truth, draw_truth
from scheduler.estimator import CAMPAIGN_PRIORS

KNOWN_SCALES = Priors(learn=False, pair_sd=0.2, reply_sd=0.0)
OF_CAMPAIGNS = replace(CAMPAIGN_PRIORS, learn=False)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is fitted, and how."""

    name: str
    table: ResponseTable
    model: Model
    priors: Priors
    form: Form = "net"


def paper_size(seed: int = 2020) -> Problem:
    """20 comparisons on 200 prompts, 4,000 net ratings, model pair, known scales (Sedoc & Ungar 2020)."""
    truth = draw_truth(40, 200, seed=seed, model="pair", priors=KNOWN_SCALES)
    cells = np.array([(2 * c, 2 * c + 1, j) for c in range(20) for j in range(200)])
    return Problem("pair-20x200", draw_votes(truth, cells, seed=seed + 1, form="net"), "pair", KNOWN_SCALES)


def board_size(seed: int = 2021) -> Problem:
    """12 chatbots on 40 prompts, a third of the cells seen, pairs with effects of their own, known scales."""
    drawn = draw_truth(12, 40, seed=seed, priors=KNOWN_SCALES)
    low, high = np.triu_indices(12, 1)
    own = KNOWN_SCALES.pair_sd * np.random.default_rng(seed + 1).standard_normal(len(low))
    theta = drawn.ability[high] - drawn.ability[low] + own
    apart = Truth(np.stack([np.zeros_like(theta), theta], axis=1).ravel(), drawn.discrimination, drawn.thresholds)
    cells = some_cells(12, 40, 1 / 3, seed=seed + 2)
    pair = np.searchsorted(low * 12 + high, cells[:, 0] * 12 + cells[:, 1])
    votes = draw_votes(apart, np.stack([2 * pair, 2 * pair + 1, cells[:, 2]], axis=1), seed=seed + 3, form="net")
    table = ResponseTable(
        chatbots=drawn.chatbots,
        prompts=drawn.prompts,
        labels=(),
        a=low[votes.a // 2],
        b=high[votes.a // 2],
        prompt=votes.prompt,
        outcome=votes.outcome,
        annotator=votes.annotator,
        a_first=votes.a_first,
        label=votes.label,
    )
    return Problem("board-12x40", table, "board", KNOWN_SCALES)


def campaign_size(seed: int = 2022) -> Problem:
    """As campaigns are fitted, but with known scales: 10 chatbots on 30 prompts, single votes in a third of the cells,
    effects of replies, pairs and cells."""
    of = OF_CAMPAIGNS
    truth = draw_truth(
        10, 30, seed=seed, form="vote", priors=of, pair_sd=of.pair_sd, cell_sd=of.cell_sd, reply_sd=of.reply_sd
    )
    votes = draw_votes(truth, some_cells(10, 30, 1 / 3, seed=seed + 1), seed=seed + 2)
    return Problem("campaign-10x30", votes, "board", of, "vote")
