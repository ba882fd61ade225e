"""Votes to decide and to estimate: the policies against each other in the closed loop on recorded votes.

    EVAL_DATA_DIR=... python -m tests.benchmarks.decide [--full] [--runs var/bench/decide] [--seeds N] [--sets NAME ...]
                                                        [--policies NAME ...] [--processes 0] [--report]

A run is what `manage.py replay` does: one policy, one seed, one set of votes, a refit after every few, each time
compared with the fit on all votes. (a) *Decide*: votes until 80 % (90 %) of the pairs that all votes separate are
separated. (b) *Estimate*: votes until the RMSE of the abilities is .15. A run ends when it has reached all three, at
its set's budget, or when the policy has nothing left to ask.

The small form runs three sets, five seeds and the policies adaptive, random and paper, up to 4,000 votes; --full all
eight sets with their own budgets, twenty seeds and every policy. Each finished run is a line in RUNS/<set>.jsonl and is
not run again, so a call that was cut off goes on; a line names the commit that it was made from. --report only prints
what there is. Use another folder when a policy or the estimator has changed. --policies also takes `adaptive` with a
part taken out (`ablation`), by name: "adaptive, prompts at random", "adaptive, pairs at random", "adaptive, three votes
an item".
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from evalsite.exchange.file_ranking import table_of
from evalsite.exchange.vote_file import read_votes
from irt_engine import ResponseTable
from irt_engine.arrays import FloatArray
from irt_engine.errors import EngineWarning
from scheduler import ALL_POLICIES
from scheduler.estimator import estimate
from scheduler.overlap import Overlap
from scheduler.replay import replay
from scheduler.replay_measures import ReplayPoint, ReplayReference, reference_of

from . import ablation, workers
from . import votes as published
from .report import Check, conclude, say, table

MOST_OF_RANDOM, MOST_OF_PAPER, MOST_WRONG = 0.5, 0.4, 0.01
DECIDED, NEARLY_ALL, CLOSE = 0.8, 0.9, 0.15
RESAMPLES = 2000
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class VoteSet:
    """Recorded votes, how often they are fitted again, and after how many votes a run is given up."""

    name: str
    file: str
    every: int
    budget: int
    category: str | None = None

    def read(self, folder: Path) -> ResponseTable:
        """As `manage.py replay` reads them: with the order shown, without equal replies."""
        where = [("category", self.category)] if self.category else []
        path = folder / f"{self.file}.csv.gz"
        return table_of(read_votes(path, where=where, without=[("note", "same_output")]))


# Of the ten language pairs the four with the fewest votes, and English-German.
SETS = (
    VoteSet("vicuna80", "vicuna80_human", 50, 4000),
    VoteSet("e2e_quality", "e2e_quality_human", 200, 16000),
    VoteSet("oa_gpt4", "oa_gpt4", 50, 4000),
    *(
        VoteSet(f"wmt15 {pair}", "wmt15_human", 100, 8000, pair)
        for pair in ("fre-eng", "fin-eng", "eng-fre", "eng-fin")
    ),
    VoteSet("wmt15 eng-deu", "wmt15_human", 200, 16000, "eng-deu"),
)
SMALL_SETS, SMALL_POLICIES, SMALL_SEEDS = ("vicuna80", "oa_gpt4", "wmt15 fre-eng"), ("adaptive", "random", "paper"), 5
SMALL_BUDGET = 4000  # half of the time went into what random and paper do beyond
FULL_SEEDS = 20


@dataclass(frozen=True, slots=True)
class Job:
    """One run, and the folder to which it is written."""

    votes: VoteSet
    policy: str
    seed: int
    runs: Path


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run as its line has it. Votes are infinite where the run ended before it got there.

    wrong: share of the separated pairs that stood the wrong way round when 80 % were decided, or at the end.
    """

    set: str
    policy: str
    seed: int
    commit: str
    to_80: float
    to_90: float
    to_close: float
    wrong: float
    seconds: float


def one(job: Job) -> None:
    """Replay, and write one line."""
    began = time.process_time()
    responses, reference = loaded(job.votes)
    points: list[ReplayPoint] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)  # the points' coverage says what an uncertain fit is worth
        for point in replay(
            responses,
            reference,
            policy=job.policy,
            budget=job.votes.budget,
            every=job.votes.every,
            seed=job.seed,
            policies=ablation.EVERY,
            overlap=ablation.OVERLAPS.get(job.policy, Overlap()),
        ):
            points.append(point)
            if _all_reached(points):
                break
    line = {
        "set": job.votes.name,
        "policy": job.policy,
        "seed": job.seed,
        "design": _design(job.votes),
        "commit": _commit(),
        "seconds": round(time.process_time() - began, 2),
        "points": [{name: round(value, _DIGITS) for name, value in asdict(point).items()} for point in points],
    }
    workers.write_line(_file(job.runs, job.votes), json.dumps(line))


@cache
def loaded(votes: VoteSet) -> tuple[ResponseTable, ReplayReference]:
    folder = published.folder()
    if folder is None:
        raise FileNotFoundError(published.MISSING)
    responses = votes.read(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return responses, reference_of(estimate(responses))


@cache
def _commit() -> str:
    """The commit of the code that runs, `-dirty` where files have been changed since."""
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"], capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "unknown"


def _all_reached(points: Sequence[ReplayPoint]) -> bool:
    return any(p.decided >= NEARLY_ALL for p in points) and any(p.rmse <= CLOSE for p in points)


def _design(votes: VoteSet) -> str:
    """What the lines of a set must have in common."""
    return f"{votes.budget} by {votes.every}"


def _file(runs: Path, votes: VoteSet) -> Path:
    return runs / f"{votes.name.replace(' ', '_')}.jsonl"


def finished(runs: Path, votes: VoteSet) -> list[Run]:
    """The set's runs that have a line; one that was cut off in the middle is left out."""
    file = _file(runs, votes)
    found: dict[tuple[str, int], Run] = {}
    for line in workers.whole_lines(file):
        if line["design"] != _design(votes):
            raise SystemExit(f"{file} holds runs of {line['design']} votes; give another --runs")
        found[line["policy"], line["seed"]] = _run(line)
    return list(found.values())


def _run(line: Mapping[str, object]) -> Run:
    points = [ReplayPoint(**point) for point in line["points"]]  # type: ignore[attr-defined]
    decided = next((p for p in points if p.decided >= DECIDED), None)
    return Run(
        **{name: line[name] for name in ("set", "policy", "seed", "commit", "seconds")},  # type: ignore[arg-type]
        to_80=_first(points, lambda p: p.decided >= DECIDED),
        to_90=_first(points, lambda p: p.decided >= NEARLY_ALL),
        to_close=_first(points, lambda p: p.rmse <= CLOSE),
        wrong=(decided or points[-1]).wrong,
    )


def _first(points: Iterable[ReplayPoint], reached: Callable[[ReplayPoint], bool]) -> float:
    return next((float(point.votes) for point in points if reached(point)), math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """A policy on a set: one number per seed. Its budget stands in for what was not reached where it is compared."""

    votes: VoteSet
    policy: str
    to_80: FloatArray
    to_90: FloatArray
    to_close: FloatArray
    wrong: float

    @classmethod
    def of(cls, votes: VoteSet, policy: str, runs: Sequence[Run]) -> Measured:
        """From the runs of this policy among those of a set."""
        own = sorted((run for run in runs if run.policy == policy), key=lambda run: run.seed)
        to_80, to_90, to_close = (
            np.array([getattr(run, name) for run in own]) for name in ("to_80", "to_90", "to_close")
        )
        return cls(votes, policy, to_80, to_90, to_close, float(np.mean([run.wrong for run in own])))

    def row(self) -> list[str]:
        """A row of the table."""
        cells = [_with_interval(values) for values in (self.to_80, self.to_90, self.to_close)]
        return [self.votes.name, self.policy, str(len(self.to_80)), *cells, f"{self.wrong:.2%}"]


def _with_interval(votes: FloatArray) -> str:
    low, high = np.quantile(_medians(votes), [0.025, 0.975], method="nearest")
    return f"{_count(float(np.median(votes)))} [{_count(low)}, {_count(high)}]"


def _count(votes: float) -> str:
    return f"{votes:,.0f}" if math.isfinite(votes) else "-"


def _medians(votes: FloatArray) -> FloatArray:
    """(RESAMPLES,) medians of seeds drawn with replacement; equal seeds give equal ones."""
    rng = np.random.default_rng(len(votes))
    medians: FloatArray = np.median(votes[rng.integers(len(votes), size=(RESAMPLES, len(votes)))], axis=1)
    return medians


@dataclass(frozen=True, slots=True)
class Ratio:
    """Geometric mean over sets of the medians' ratio, adaptive over another policy, with its 95 % bootstrap interval.

    Where the other's median lies beyond its budget the budget is taken: then the ratio is at most this.
    """

    middle: float
    low: float
    high: float
    at_most: bool

    @classmethod
    def of(cls, pairs: Sequence[tuple[FloatArray, FloatArray, int]]) -> Ratio:
        """From votes of adaptive, votes of the other and the budget, for each set."""
        logs, resampled = [], []
        for own, other, budget in pairs:
            logs.append(_log_ratio(np.median(own, keepdims=True), np.median(other, keepdims=True), budget))
            resampled.append(_log_ratio(_medians(own), np.random.default_rng(1).permutation(_medians(other)), budget))
        low, high = np.exp(np.quantile(np.mean(resampled, axis=0), [0.025, 0.975], method="nearest"))
        at_most = any(math.isinf(np.median(other)) for _, other, _ in pairs)
        return cls(float(np.exp(np.mean(logs))), float(low), float(high), at_most)

    def __str__(self) -> str:
        return f"{'<= ' if self.at_most else ''}{self.middle:.2f} [{self.low:.2f}, {self.high:.2f}]"


def _log_ratio(own: FloatArray, other: FloatArray, budget: int) -> FloatArray:
    log: FloatArray = np.log(own) - np.log(np.minimum(other, budget))
    return log


def checks_of(measured: Mapping[tuple[str, str], Measured]) -> list[Check]:
    """The targets, as far as there are runs: (a) over all sets that both policies have, (b) on every set."""
    adaptive = {name: m for (name, policy), m in measured.items() if policy == "adaptive"}
    found = [
        Check(f"{m.votes.name}: wrong when decided", f"{m.wrong:.2%}", f"<= {MOST_WRONG:.0%}", m.wrong <= MOST_WRONG)
        for m in adaptive.values()
    ]
    for policy in sorted({policy for _, policy in measured} - {"adaptive"}):
        both = [(m, measured[name, policy]) for name, m in adaptive.items() if (name, policy) in measured]
        if both:
            ratio = Ratio.of([(m.to_80, other.to_80, m.votes.budget) for m, other in both])
            most = {"random": MOST_OF_RANDOM, "paper": MOST_OF_PAPER}.get(policy, 1.0)
            name = f"(a) votes to decide 80 %, of {policy}'s, over {len(both)} set{'s' * (len(both) > 1)}"
            found.append(Check(name, str(ratio), f"<= {most:.0%}", ratio.middle <= most))
    for name, m in adaptive.items():
        if (name, "random") in measured:
            ratio = Ratio.of([(m.to_close, measured[name, "random"].to_close, m.votes.budget)])
            found.append(
                Check(f"(b) {name}: votes to estimate, of random's", str(ratio), "<= 100%", ratio.middle <= 1.0)
            )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, print, judge."""
    options = _options(arguments)
    if published.folder() is None and not options.report:
        return conclude("Votes to decide", [Check("published votes", published.MISSING, "", None)])
    most = math.inf if options.full else SMALL_BUDGET
    chosen = [replace(votes, budget=int(min(votes.budget, most))) for votes in SETS if votes.name in options.sets]
    if not options.report:
        options.runs.mkdir(parents=True, exist_ok=True)
        for votes in chosen:
            done = {(run.policy, run.seed) for run in finished(options.runs, votes)}
            wanted = [(policy, seed) for seed in range(options.seeds) for policy in options.policies]
            missing = [Job(votes, *run, options.runs) for run in wanted if run not in done]
            workers.run(one, missing, votes.name, processes=options.processes)
    return report({votes: finished(options.runs, votes) for votes in chosen})


def report(found: Mapping[VoteSet, Sequence[Run]]) -> int:
    """Print the table and the checks of all runs; the exit status."""
    measured = {
        (votes.name, policy): Measured.of(votes, policy, runs)
        for votes, runs in found.items()
        for policy in sorted({run.policy for run in runs}, key=lambda name: (name != "adaptive", name))
    }
    head = ("set", "policy", "seeds", "80 % decided", "90 % decided", f"RMSE <= {CLOSE}", "wrong")
    say(table(head, [m.row() for m in measured.values()]))
    commits = sorted({run.commit for runs in found.values() for run in runs})
    say("\nVotes are medians over seeds with 95 % bootstrap intervals; - lies beyond the budget of the set.")
    say(f"Commit {', '.join(commits) or 'none'}")
    return conclude("Votes to decide and to estimate", checks_of(measured))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="decide", description="Votes to decide and to estimate, policy by policy.")
    parser.add_argument("--full", action="store_true", help=f"all sets and policies, {FULL_SEEDS} seeds")
    parser.add_argument("--runs", type=Path, default=Path("var/bench/decide"), help="folder of the finished runs")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--sets", nargs="+", choices=[votes.name for votes in SETS], metavar="NAME")
    parser.add_argument("--policies", nargs="+", choices=sorted(ablation.EVERY), metavar="NAME")
    parser.add_argument("--processes", type=int, default=0, help="0: one a core")
    parser.add_argument("--report", action="store_true", help="run nothing, print what there is")
    options = parser.parse_args(arguments)
    options.seeds = options.seeds or (FULL_SEEDS if options.full else SMALL_SEEDS)
    options.sets = options.sets or ([votes.name for votes in SETS] if options.full or options.report else SMALL_SETS)
    options.policies = options.policies or (sorted(ALL_POLICIES) if options.full else SMALL_POLICIES)
    return options


if __name__ == "__main__":
    sys.exit(main())
