"""What two comparisons on a prompt share when one chatbot's reply is in both.

    EVAL_DATA_DIR=... python -m tests.benchmarks.shared_replies [--sets vicuna80_human]

The board takes a pair's cell effects as independent of other pairs' on the same prompt. But a reply is one text,
compared with many: a good one wins more often than its chatbot's ability says, whoever is opposite. Shown is the
correlation of the residuals (vote less its expectation, averaged over a cell, signed toward the chatbot in both) of
cells that share a prompt and one chatbot; 0 if the assumption holds, and at most a half, where all that a cell has of
its own belongs to its two replies. Residuals of a fit to the same votes: it takes up a part, so this errs low. Beside
each set stand votes drawn without such an effect on the very same comparisons.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from irt_engine import ResponseTable, fit
from irt_engine.arrays import FloatArray
from irt_engine.simulate import draw_truth, draw_votes

from . import votes as published
from .prediction import load
from .report import say, table

SETS = ("vicuna80_human", "chateval_ncm_human", "oa_gpt4", "e2e_quality_human")
DRAWS = 1000


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args(arguments)
    if published.folder() is None:
        say(f"SKIPPED: {published.MISSING}")
        return 0
    rows = []
    for name in asked.sets:
        votes = load(name)
        rows.append((name, f"{len(votes):,}", shown(correlation(votes)), shown(correlation(redrawn(votes)))))
    say(table(("set", "votes", "correlation [95 %]", "drawn without"), rows))
    return 0


def redrawn(votes: ResponseTable, seed: int = 0) -> ResponseTable:
    """Votes on the same comparisons whose cell effects are independent."""
    truth = draw_truth(len(votes.chatbots), len(votes.prompts), seed=seed, form="vote", pair_sd=0.2, cell_sd=0.9)
    return draw_votes(truth, np.stack([votes.a, votes.b, votes.prompt], axis=1), seed=seed + 1)


def correlation(votes: ResponseTable, seed: int = 0) -> tuple[float, float, float]:
    """The estimate and the ends of its 95 % interval, by bootstrap over prompts."""
    sums, counts, squares = by_prompt(votes)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(sums), (DRAWS, len(sums)))
    ends = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), [0.025, 0.975]) / squares
    return float(sums.sum() / counts.sum() / squares), float(ends[0]), float(ends[1])


def by_prompt(votes: ResponseTable) -> tuple[FloatArray, FloatArray, float]:
    """Of each prompt the sum of products of residuals that share a reply, and how many; and the mean square of all."""
    chance = fit(votes, "board", form="vote").vote_probabilities(votes.a, votes.b, votes.prompt)
    residual = votes.outcome - (chance[:, 2] - chance[:, 0])
    toward_higher = np.where(votes.a < votes.b, residual, -residual)
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    keys, cell = np.unique(np.stack([votes.prompt, low, high], axis=1), axis=0, return_inverse=True)
    mean = np.bincount(cell.ravel(), toward_higher) / np.bincount(cell.ravel())
    met: dict[tuple[int, int], list[float]] = defaultdict(list)
    for (prompt, a, b), value in zip(keys.tolist(), mean.tolist(), strict=True):
        met[prompt, a].append(-value)
        met[prompt, b].append(value)
    sums, counts = np.zeros(len(votes.prompts)), np.zeros(len(votes.prompts))
    for (prompt, _), values in met.items():
        sums[prompt] += 0.5 * (sum(values) ** 2 - sum(value**2 for value in values))
        counts[prompt] += 0.5 * len(values) * (len(values) - 1)
    return sums, counts, float(np.mean(mean**2))


def shown(found: tuple[float, float, float]) -> str:
    return f"{found[0]:.2f} [{found[1]:.2f}, {found[2]:.2f}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
