"""Careless and adversarial annotators without overlap: who is found, and whether anybody careful is.

    python -m tests.benchmarks.carelessness [--campaigns 100]

6 chatbots x 100 prompts, 900 votes of 30 annotators, no two on one item; looks after 150, 300, 600 and 900 votes. A
campaign has careful annotators alone, or three that are careless nine times in ten and one that exchanges A and B.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from irt_engine import EngineWarning
from irt_engine.agreement import carelessness
from irt_engine.agreement.carelessness import ALPHA
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import draw_truth
from scheduler.estimator import estimate

from . import votes as published
from .report import Check, conclude
from .workers import run

CHATBOTS, PROMPTS, ANNOTATORS = 6, 100, 30
CARELESS, ADVERSARY, SHARE = 3, 3, 0.9
LOOKS = (150, 300, 600, 900)
MOST_WRONG = ALPHA  # share of campaigns in which a careful annotator is flagged at any look


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign."""

    seed: int
    careful: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """Flagged at any look: careless annotators, the adversary, careful ones."""

    careless: int
    adversary: bool
    wrong: int


def one(job: Campaign) -> Outcome:
    """Simulate a campaign; a flag at one look stays."""
    truth = draw_truth(CHATBOTS, PROMPTS, seed=job.seed, form="vote", cell_sd=0.25, reply_sd=0.5)
    clean = draw_votes(truth, some_cells(CHATBOTS, PROMPTS, 0.6, seed=job.seed + 1), seed=job.seed + 2)
    share = np.where(np.arange(ANNOTATORS) < (0 if job.careful else CARELESS), SHARE, 0.0)
    votes = with_careless(clean, share, seed=job.seed + 3)
    exchanged = (votes.annotator == ADVERSARY) & (not job.careful)
    votes = replace(votes, outcome=np.where(exchanged, -votes.outcome, votes.outcome))
    place = np.random.default_rng(job.seed + 4).permutation(len(votes))
    flagged: set[int] = set()
    for look in LOOKS:
        seen = published.part(votes, place < look)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)
            found = carelessness(estimate(seen), seen)
        flagged |= set(found.annotator[found.flagged].tolist())
    bad = set() if job.careful else {*range(CARELESS), ADVERSARY}
    return Outcome(len(flagged & set(range(CARELESS)) & bad), ADVERSARY in flagged & bad, len(flagged - bad))


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, and compare with the targets."""
    parser = argparse.ArgumentParser(prog="carelessness", description="Screening without overlap.")
    parser.add_argument("--campaigns", type=int, default=100)
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    jobs = [Campaign(1000 * seed, careful) for careful in (True, False) for seed in range(options.campaigns)]
    found = run(one, jobs, "campaigns", processes=options.processes)
    careful, bad = found[: options.campaigns], found[options.campaigns :]
    wrong = sum(1 for each in careful if each.wrong)
    beside = sum(1 for each in bad if each.wrong)
    most = max(1.0, MOST_WRONG * options.campaigns)
    members = sum(each.careless for each in bad)
    checks = [
        Check("campaigns of careful annotators that flag one", f"{wrong}", f"<= {most:g}", wrong <= most),
        Check("other campaigns that flag a careful one", f"{beside}", f"<= {most:g}", beside <= most),
        Check("careless annotators found", f"{members} of {CARELESS * len(bad)}", "no target", members > 0),
        Check("adversaries found", f"{sum(each.adversary for each in bad)} of {len(bad)}", "no target", members > 0),
    ]
    return conclude("Screening without overlap", checks)


if __name__ == "__main__":
    sys.exit(main())
