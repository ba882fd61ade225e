"""Style control on votes of a judge that likes long replies: the effect of length, and what it does to the ranking.

    EVAL_DATA_DIR=... python -m tests.benchmarks.style [--prompts 805]

AlpacaEval (Dubois and others 2024): 58 chatbots against one baseline on 805 prompts, judged by a language model whose
preference is rounded to a vote. The covariate is the length of the replies in characters. Without EVAL_DATA_DIR the
check is skipped.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau, spearmanr

from irt_engine import EngineWarning, ResponseTable
from irt_engine.responses.style import StyleDifferences, style_differences
from scheduler.estimator import estimate

from . import votes as published
from .report import Check, conclude, say, table

FILE = "alpacaeval_weighted_alpaca_eval_gpt4_turbo.npz"
BASELINE = "gpt4_1106_preview"
SHOWN = 8


def load(prompts: int) -> tuple[ResponseTable, StyleDifferences] | None:
    """The votes on some prompts and the lengths of their replies; None without the file."""
    where = published.folder()
    if where is None or not (where / FILE).exists():
        return None
    with np.load(where / FILE) as data:
        preference, models, names = data["pref"][:, :prompts], data["models"], data["prompts"][:prompts]
        lengths = data["len_baseline"][:, :prompts], data["len_model"][:, :prompts]
    model, prompt = np.nonzero(np.isfinite(preference) & (models != BASELINE)[:, None])
    outcome = np.sign(preference[model, prompt] - 0.5).astype(np.int64)
    votes = ResponseTable.from_votes(
        [BASELINE] * len(model), models[model].tolist(), names[prompt].tolist(), outcome.tolist()
    )
    return votes, style_differences({"length": (lengths[0][model, prompt], lengths[1][model, prompt])})


def measure(votes: ResponseTable, style: StyleDifferences) -> list[Check]:
    """The checks, and a table of the chatbots that move farthest."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        plain, equal = estimate(votes), estimate(votes, style=style)
    seconds, limits = time.perf_counter() - began, ", ".join(plain.scales.at_limit) or "none"
    say(f"{len(votes):,} votes, two fits in {seconds:.0f} s; scales at their limit: {limits}")
    effect, se = float(equal.style[0]), float(equal.style_se[0])
    low, high = effect - 1.96 * se, effect + 1.96 * se
    ranks = plain.rank_bounds()[:, 0], equal.rank_bounds()[:, 0]
    farthest = np.argsort(-np.abs(ranks[0] - ranks[1]), kind="stable")[:SHOWN]
    rows = [(plain.chatbots[m], str(ranks[0][m]), str(ranks[1][m])) for m in farthest]
    say(table(("chatbot", "rank as judged", "at equal length"), rows))
    rho = float(spearmanr(plain.ability, equal.ability).statistic)
    tau = float(kendalltau(plain.ability, equal.ability).statistic)
    return [
        Check("effect of length, in logits", f"{effect:.2f} [{low:.2f}, {high:.2f}]", "> 0", low > 0.0),
        Check("rank correlation with and without (Spearman)", f"{rho:.3f}", "reported", True),
        Check("rank correlation with and without (Kendall)", f"{tau:.3f}", "reported", True),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="style", description="Style control on AlpacaEval.")
    parser.add_argument("--prompts", type=int, default=805)
    options = parser.parse_args(arguments)
    found = load(options.prompts)
    if found is None:
        return conclude("Style control", [Check("effect of length", f"{published.MISSING}: {FILE}", "> 0", None)])
    return conclude("Style control", measure(*found))


if __name__ == "__main__":
    sys.exit(main())
