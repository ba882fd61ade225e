"""What two comparisons on a prompt share when one chatbot's reply is in both.

    EVAL_DATA_DIR=... python -m tests.benchmarks.shared_replies [--sets vicuna80_human]

A reply is one text, compared with many: a good one wins more often than its chatbot's ability says, whoever is
opposite. Shown is the correlation of the residuals (vote less its expectation over replies, averaged over a cell,
signed toward the chatbot in both) of cells that share a prompt and one chatbot: 0 if replies did not matter, and at
most a half, where all that a cell has of its own belongs to its two replies. Beside each set stand votes drawn on the
very same comparisons: without such effects, and with those that the fit has learned, which should show what the set
does. Then what leaving the effects out does to the SEs.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irt_engine import Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray
from irt_engine.posterior import Posterior
from irt_engine.posterior.differences import quantile
from irt_engine.simulate import draw_votes
from irt_engine.truth import draw_truth

from . import votes as published
from .prediction import load
from .report import say, table

SETS = ("vicuna80_human", "chateval_ncm_human", "oa_gpt4", "e2e_quality_human")
DRAWS = 1000
WITHOUT = Priors(reply_sd=0.0)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="+", default=SETS)
    asked = parser.parse_args(arguments)
    if published.folder() is None:
        say(f"SKIPPED: {published.MISSING}")
        return 0
    rows, scales = [], []
    for name in asked.sets:
        votes = load(name)
        found, without = fit(votes, "board", form="vote"), fit(votes, "board", form="vote", priors=WITHOUT)
        drawn = (correlation(redrawn(votes, without)), correlation(redrawn(votes, found)))
        rows.append((name, f"{len(votes):,}", shown(correlation(votes)), *map(shown, drawn)))
        sds = (found.scales.reply or 0.0, found.scales.cell or 0.0, without.scales.cell or 0.0)
        told = (np.abs(p.differences().mean / p.differences().se) > quantile(0.95) for p in (found, without))
        ses = (found.se.mean(), without.se.mean())
        scales.append(
            (name, *(f"{x:.2f}" for x in sds), *(f"{x:.3f}" for x in ses), *(f"{x.mean():.2f}" for x in told))
        )
    say(table(("set", "votes", "correlation [95 %]", "drawn without", "drawn as learned"), rows))
    say("")
    say(
        table(
            ("set", "SD reply", "SD cell", "without: cell", "mean SE", "without", "pairs told apart", "without"), scales
        )
    )
    return 0


def redrawn(votes: ResponseTable, found: Posterior, seed: int = 0) -> ResponseTable:
    """Votes on the same comparisons as a fit expects them: its abilities and prompts, and effects of its SDs."""
    of = found.scales
    truth = draw_truth(
        len(votes.chatbots),
        len(votes.prompts),
        seed=seed,
        form="vote",
        pair_sd=of.pair or 0.0,
        cell_sd=of.cell or 0.0,
        reply_sd=of.reply or 0.0,
    )
    truth = replace(truth, ability=found.ability, discrimination=found.discrimination, thresholds=found.thresholds)
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
    chance = fit(votes, "board", form="vote", priors=WITHOUT).vote_probabilities(votes.a, votes.b, votes.prompt)
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
