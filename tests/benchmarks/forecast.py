"""Forecasts against campaigns: whether four of five end inside the range that was forecast before their first vote.

    python -m tests.benchmarks.forecast [--campaigns 40] [--runs var/bench/forecast.jsonl] [--only NAME] [--no-speed]

One forecast is made for a design, and campaigns are drawn from the same priors and run to their stop (`simulated`). The
share of them whose judgments lie inside the 80 % range is to be 80 +- 7 %, give or take twice the Monte Carlo error of
so many campaigns: 200 of them (CAMPAIGNS=200 or --campaigns 200) decide, 40 only tell whether something is badly
wrong. The two speeds are compared by their medians. Every finished campaign is a line in the file of runs, and is not
run again; delete the file when the estimator or a policy has changed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scheduler.campaign_simulation import run
from scheduler.forecasting.forecast import Forecast, ForecastTerms, forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
from tests.benchmarks import workers
from tests.benchmarks.report import Check, conclude, say, table

NOMINAL, TOLERANCE = 0.80, 0.07
CLOSE = 1.5  # of the medians of the two speeds, either way: beyond, something is broken
MOST_SECONDS = 1.0  # for 20 chatbots on 200 prompts
GROWTH = ((5, 50), (10, 100), (20, 200), (40, 400), (80, 800))


@dataclass(frozen=True, slots=True)
class Setting:
    """A design, and the terms on which it is run."""

    name: str
    chatbots: int
    prompts: int
    goal: ForecastGoal
    policy: str
    batch: int = 25

    @property
    def terms(self) -> ForecastTerms:
        return ForecastTerms(self.goal, policy=self.policy, batch=self.batch)


SETTINGS = (
    Setting("SE .25 of 6x150, adaptive", 6, 150, AllAbilities(0.25), "adaptive"),
    Setting("SE .25 of 6x150, random", 6, 150, AllAbilities(0.25), "random"),
    Setting("neighbours .35 of 5x150, adaptive", 5, 150, Neighbours(0.35), "adaptive"),
    Setting("80 % separated of 6x150, adaptive, by tens", 6, 150, Separated(0.8), "adaptive", batch=10),
)


@dataclass(frozen=True, slots=True)
class Job:
    """One campaign of a setting, and where its line goes."""

    setting: Setting
    seed: int
    runs: Path


def campaign(job: Job) -> int:
    """Run it to its stop and write its line; returns its judgments."""
    state = unjudged_state(job.setting.chatbots, job.setting.prompts)
    began = time.process_time()
    found = run(state, job.setting.terms, seed=job.seed)
    line = {
        "setting": job.setting.name,
        "seed": job.seed,
        "judgments": found.judgments,
        "reached": found.reached,
        "measure": round(found.measure, 5),
        "seconds": round(time.process_time() - began, 2),
    }
    workers.write_line(job.runs, json.dumps(line))
    return found.judgments


def finished(runs: Path) -> dict[tuple[str, int], int]:
    """Judgments of the campaigns that have been run, by setting and seed."""
    return {(line["setting"], line["seed"]): line["judgments"] for line in workers.whole_lines(runs)}


def campaigns(setting: Setting, count: int, runs: Path, processes: int) -> list[int]:
    """Judgments of the setting's first `count` campaigns; those without a line are run."""
    runs.parent.mkdir(parents=True, exist_ok=True)
    missing = [Job(setting, seed, runs) for seed in range(count) if (setting.name, seed) not in finished(runs)]
    workers.run(campaign, missing, setting.name, processes=processes)
    done = finished(runs)
    return [done[setting.name, seed] for seed in range(count)]


def compare(setting: Setting, judgments: Sequence[int]) -> tuple[list[str], list[Check]]:
    """A row of the table, and the checks."""
    predicted = forecast(unjudged_state(setting.chatbots, setting.prompts), setting.terms)
    share, error = coverage(predicted, judgments)
    ratio = predicted.judgments.middle / float(np.median(judgments))
    row = [
        setting.name,
        f"{predicted.judgments.low:,.0f} {predicted.judgments.middle:,.0f} {predicted.judgments.high:,.0f}",
        " ".join(f"{value:,.0f}" for value in np.quantile(judgments, [0.1, 0.5, 0.9])),
        f"{share:.1%} +- {error:.1%}",
        f"{ratio:.2f}",
    ]
    slack = TOLERANCE if len(judgments) >= 200 else TOLERANCE + 2.0 * error
    return row, [
        Check(
            f"{setting.name}: {len(judgments)} campaigns in their 80 % range",
            f"{share:.1%}",
            f"80 +- {slack:.0%}",
            abs(share - NOMINAL) <= slack,
        ),
        Check(
            f"{setting.name}: median of the forecast / of campaigns",
            f"{ratio:.2f}",
            f"{1 / CLOSE:.2f} to {CLOSE}",
            1.0 / CLOSE <= ratio <= CLOSE,
        ),
    ]


def coverage(predicted: Forecast, judgments: Sequence[int]) -> tuple[float, float]:
    """Share of campaigns inside the range, and its Monte Carlo SE (that of the nominal share, never 0)."""
    n = np.array(judgments)
    inside = (predicted.judgments.low <= n) & (n <= predicted.judgments.high)
    return float(inside.mean()), math.sqrt(NOMINAL * (1.0 - NOMINAL) / len(n))


def seconds(chatbots: int, prompts: int, policy: str, repeats: int = 3) -> float:
    """The fastest of a few forecasts, in seconds of processor time."""
    state, terms = unjudged_state(chatbots, prompts), ForecastTerms(AllAbilities(0.15), policy=policy)
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        forecast(state, terms)
        taken.append(time.process_time() - began)
    return min(taken)


def speed() -> list[Check]:
    """A table of growth, and the check at 20 chatbots on 200 prompts."""
    rows, checks = [], []
    for size in GROWTH:
        taken = [seconds(*size, policy, repeats=3 if size[0] <= 20 else 1) for policy in ("adaptive", "random")]
        rows.append([f"{size[0]}x{size[1]}", *(f"{value:.2f}" for value in taken)])
        if size == (20, 200):
            checks = [
                Check("forecast for 20x200", f"{max(taken):.2f} s", f"<= {MOST_SECONDS} s", max(taken) <= MOST_SECONDS)
            ]
    say("\n" + table(("forecast in seconds", "adaptive", "random"), rows))
    return checks


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, print, judge."""
    parser = argparse.ArgumentParser(prog="forecast", description="Forecasts against simulated campaigns.")
    parser.add_argument("--campaigns", type=int, default=int(os.environ.get("CAMPAIGNS", "40")))
    parser.add_argument("--runs", type=Path, default=Path("var/bench/forecast.jsonl"))
    parser.add_argument("--only", choices=[setting.name for setting in SETTINGS])
    parser.add_argument("--processes", type=int, default=0, help="0: one a core")
    parser.add_argument("--no-speed", action="store_true", help="leave out how long a forecast takes")
    options = parser.parse_args(arguments)
    rows, checks = [], []
    for setting in SETTINGS:
        if options.only in (None, setting.name):
            judgments = campaigns(setting, options.campaigns, options.runs, options.processes)
            row, found = compare(setting, judgments)
            rows.append(row)
            checks += found
    head = ("setting", "forecast 10 50 90 %", "campaigns 10 50 90 %", "in the range", "medians")
    say(table(head, rows))
    checks += [] if options.no_speed else speed()
    return conclude(f"Forecasts against {options.campaigns} campaigns each", checks)


if __name__ == "__main__":
    sys.exit(main())
