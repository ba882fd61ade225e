"""What it saves to plan for what a campaign waits for: judgments until it stops at a target SE.

    python -m tests.benchmarks.aims [--seeds 20] [--processes 0]

Simulated campaigns (8 chatbots on 60 prompts, parameters from the estimator's priors, a refit after every 20 judgments)
run until the largest SE has reached the target, three times from each seed: planned for the aim, as campaigns are by
default; for the ranking; and at random. Counted are the judgments, and the 95 % intervals of all differences at the
stop that cover. The first seed is 100: the target's sharpness was chosen on seeds below 45.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from irt_engine import EngineWarning, Posterior
from irt_engine.arrays import FloatArray
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import Truth, draw_truth
from scheduler import DEFAULT_DESIGN, AdaptiveDesign, TargetSE
from scheduler.estimator import CAMPAIGN_PRIORS
from scheduler.replay import ReplayLoop

from . import workers
from .report import Check, conclude, say, table

CHATBOTS, PROMPTS, BATCH, FIRST_SEED = 8, 60, 20, 100
AIMS = {"every SE <= .35": TargetSE(0.35), "neighbours' SE <= .45": TargetSE(0.45, over="neighbours")}
WAYS = ("the aim", "the ranking", "at random")
COVERED = 0.93  # of 95 % intervals, as wanted at every stop
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Job:
    """One campaign: an aim and a way by name."""

    aim: str
    way: str
    seed: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """judgments at the stop (or at the end of all items), and the share of the differences whose interval covers."""

    judgments: int
    covered: float


def campaign(job: Job) -> Stopped:
    """Run it to its stop."""
    aim = AIMS[job.aim]
    of_truth, of_votes, of_plans = (int(x) for x in np.random.default_rng(job.seed).integers(2**31, size=3))
    truth = draw_truth(
        CHATBOTS, PROMPTS, seed=of_truth, form="vote", priors=CAMPAIGN_PRIORS,
        pair_sd=CAMPAIGN_PRIORS.pair_sd, cell_sd=CAMPAIGN_PRIORS.cell_sd,
        reply_sd=CAMPAIGN_PRIORS.reply_sd,
    )  # fmt: skip
    votes = draw_votes(truth, all_cells(CHATBOTS, PROMPTS), seed=of_votes)
    loop = ReplayLoop(votes, "random" if job.way == "at random" else "adaptive", of_plans, _design(job.way, aim))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        while not aim.decide(loop.state()).stop and loop.collect(BATCH):
            loop.refit()
    assert loop.posterior is not None
    return Stopped(len(loop.used), coverage(loop.posterior, truth))


def _design(way: str, aim: TargetSE) -> AdaptiveDesign:
    return replace(DEFAULT_DESIGN, target=aim.target) if way == "the aim" else DEFAULT_DESIGN


def coverage(posterior: Posterior, truth: Truth) -> float:
    """Share of all differences of abilities inside their 95 % intervals."""
    pairs = posterior.differences()
    number = {name: m for m, name in enumerate(truth.chatbots)}
    own = np.array([number[name] for name in posterior.chatbots])
    low, high = np.triu_indices(len(own), 1)
    true = (truth.ability[own[high]] - truth.ability[own[low]]) / truth.unit
    return float(np.mean(np.abs(pairs.mean - true) <= ndtri(0.975) * pairs.se))


def ratio(own: FloatArray, other: FloatArray) -> tuple[float, float, float]:
    """Geometric mean over seeds (S,) of own over other, with its 95 % bootstrap interval."""
    log = np.log(own / other)
    drawn = log[np.random.default_rng(0).integers(len(log), size=(RESAMPLES, len(log)))].mean(axis=1)
    low, high = np.exp(np.quantile(drawn, [0.025, 0.975]))
    return float(np.exp(log.mean())), float(low), float(high)


def report(found: dict[tuple[str, str], Sequence[Stopped]]) -> int:
    """A row for each aim and way, and the checks; the exit status."""
    rows, checks = [], []
    for name in AIMS:
        judgments = {way: np.array([one.judgments for one in found[name, way]], np.float64) for way in WAYS}
        for way in WAYS:
            covered = float(np.mean([one.covered for one in found[name, way]]))
            beside = ratio(judgments[way], judgments["at random"])
            rows.append((name, way, f"{np.median(judgments[way]):.0f}", _text(beside), f"{covered:.1%}"))
            if way == "the aim":
                checks.append(Check(f"{name}: judgments, of random's", _text(beside), "< 1", beside[2] < 1.0))
                enough = covered >= COVERED
                checks.append(Check(f"{name}: intervals that cover", f"{covered:.1%}", f">= {COVERED:.0%}", enough))
        beside = ratio(judgments["the aim"], judgments["the ranking"])
        checks.append(Check(f"{name}: judgments, of the ranking's", _text(beside), "< 1", beside[2] < 1.0))
    say(table(("until", "planned for", "median judgments", "of random's", "95 % intervals cover"), rows))
    return conclude(f"Planning for the aim: {CHATBOTS} chatbots on {PROMPTS} prompts", checks)


def _text(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.2f} [{value[1]:.2f}, {value[2]:.2f}]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser(prog="aims", description="What planning for the aim saves.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=0, help="0: one a core")
    options = parser.parse_args(arguments)
    if options.seeds < 2:
        parser.error("--seeds must be 2 or more: one has no interval")
    jobs = [Job(aim, way, FIRST_SEED + k) for k in range(options.seeds) for aim in AIMS for way in WAYS]
    done = workers.run(campaign, jobs, "campaigns", processes=options.processes)
    found: dict[tuple[str, str], list[Stopped]] = {(aim, way): [] for aim in AIMS for way in WAYS}
    for job, one in zip(jobs, done, strict=True):
        found[job.aim, job.way].append(one)
    return report({key: tuple(value) for key, value in found.items()})


if __name__ == "__main__":
    sys.exit(main())
