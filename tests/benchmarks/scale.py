"""A million votes: our board with its whole covariance beside arena-rank's Bradley-Terry with sandwich intervals.

    python -m tests.benchmarks.scale [--votes 1000000] [--chatbots 200] [--prompts 1000] [--no-growth]

Both sides start from the same columns of names and verdicts in memory and end with intervals. Each has a process of its
own, one after the other, so that neither pays for the other's memory; compiled code is warmed on both sides
(arena-rank builds its optimiser anew for every fit, so beside a whole run it is given JAX's cache on disk). The
smallest of `--repeats` runs counts. Without arena-rank (requirements/bench.in) the comparison is skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from irt_engine import EngineWarning, FitResult, ResponseTable, WarmStart, fit_with_warm_start
from irt_engine.arrays import IntArray
from irt_engine.simulate import draw_votes
from irt_engine.truth import draw_truth

from .memory import peak
from .report import Check, conclude, say, table

MOST_MEMORY, WARM_SHARE, NEW_VOTES = 1.5, 0.3, 1000

GROWTH = [(n, m) for m in (20, 200, 1000) for n in (10**4, 10**5, 10**6)]


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is to fit."""

    votes: int
    chatbots: int
    prompts: int


_WARM_UP = Size(300, 4, 10)


def drawn(size: Size, seed: int = 0) -> ResponseTable:
    """Votes on pairs and prompts at random, with a little of every effect of the board."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, size.chatbots, size.votes)
    b = (a + rng.integers(1, size.chatbots, size.votes)) % size.chatbots
    cells = np.stack([a, b, rng.integers(0, size.prompts, size.votes)], axis=1)
    truth = draw_truth(size.chatbots, size.prompts, seed=seed, form="vote", pair_sd=0.2, cell_sd=0.8)
    return draw_votes(truth, cells, seed=seed + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Votes as they lie in a file: names and verdicts."""

    a: list[str]
    b: list[str]
    prompt: list[str]
    outcome: IntArray

    def first(self, count: int) -> Columns:
        """Without the latest."""
        return Columns(self.a[:count], self.b[:count], self.prompt[:count], self.outcome[:count])


def columns_of(votes: ResponseTable) -> Columns:
    """Names instead of numbers."""
    bots, prompts = np.array(votes.chatbots, dtype=object), np.array(votes.prompts, dtype=object)
    return Columns(bots[votes.a].tolist(), bots[votes.b].tolist(), prompts[votes.prompt].tolist(), votes.outcome)


def ours(columns: Columns, form: str, start: WarmStart | None = None) -> tuple[FitResult, float, float]:
    """The result, and the seconds of preparation and of the fit."""
    began = time.perf_counter()
    votes = ResponseTable.from_votes(columns.a, columns.b, columns.prompt, columns.outcome.tolist())
    prepared = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)  # whether it settled is part of the result
        found = fit_with_warm_start(votes, "board", form=form, start=start)  # type: ignore[arg-type]
    found.posterior.interval()
    return found, prepared - began, time.perf_counter() - prepared


def theirs(columns: Columns) -> tuple[float, float]:
    """The seconds of preparation and of the fit with sandwich intervals."""
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    verdicts = np.array(["model_a", "tie", "model_b"], dtype=object)[columns.outcome + 1]
    frame = pd.DataFrame({"model_a": columns.a, "model_b": columns.b, "winner": verdicts})
    began = time.perf_counter()
    pairs = PairDataset.from_pandas(frame)
    prepared = time.perf_counter()
    result = BradleyTerry(n_competitors=len(pairs.competitors)).compute_ratings_and_cis(pairs)
    np.asarray(result["rating_lower"])  # JAX answers before it has finished
    return prepared - began, time.perf_counter() - prepared


def child(side: str, size: Size, repeats: int, form: str) -> dict[str, Any]:
    """What one side measures, in its own process."""
    columns = columns_of(drawn(size))
    if side == "theirs":
        theirs(columns)  # JAX compiles for the sizes of its arrays: only the same votes warm it
        prepare, work = min((theirs(columns) for _ in range(repeats)), key=sum)
        return {"prepare": prepare, "fit": work, "memory": _memory()}
    ours(columns_of(drawn(_WARM_UP)), form)  # numba compiles for types alone: few chatbots and prompts are enough
    _, prepare, work = min((ours(columns, form) for _ in range(repeats)), key=_seconds)
    before, *_ = ours(columns.first(size.votes - _new(size)), form)
    memory = _memory()
    found, *warm = min((ours(columns, form, before.warm_start) for _ in range(repeats)), key=_seconds)
    return {
        "prepare": prepare, "fit": work, "memory": memory, "warm_prepare": warm[0], "warm": sum(warm),
        "settled": found.posterior.converged, "rounds": found.posterior.iterations,
    }  # fmt: skip


def _new(size: Size) -> int:
    """Votes that arrive between the cold fit and the warm one."""
    return min(NEW_VOTES, size.votes // 10)


def _seconds(run: tuple[FitResult, float, float]) -> float:
    return run[1] + run[2]


def _memory() -> float:
    """The most that this process ever held, in GB; its input columns included."""
    return peak() / 1024**3


def in_a_process(side: str, size: Size, repeats: int, form: str) -> dict[str, Any]:
    """`child` in a fresh interpreter. Raises RuntimeError with what it said if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        words = [side, str(size.votes), str(size.chatbots), str(size.prompts), str(repeats), form, str(result)]
        cache = {"JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        ran = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.scale", "--child", *words],
            env=os.environ | cache, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        if ran.returncode != 0:
            raise RuntimeError(f"the process that measures {side} failed:\n{ran.stderr}")
        measured: dict[str, Any] = json.loads(result.read_text())
        return measured


def compare(size: Size, repeats: int, form: str) -> list[Check]:
    """The targets, at one size."""
    here = in_a_process("ours", size, repeats, form)
    cold = here["prepare"] + here["fit"]
    say(
        f"ours: cold {cold:.2f} s ({here['prepare']:.2f} s from_votes), warm {here['warm']:.2f} s "
        f"({here['warm_prepare']:.2f} s from_votes), {here['rounds']} rounds"
    )
    checks = [Check("the fit settled", "yes" if here["settled"] else "no", "yes", bool(here["settled"]))]
    if importlib.util.find_spec("arena_rank") is None:
        missing = "arena-rank is not installed (make bench)"
        checks += [Check("cold fit", missing, "", None), Check("warm refit", missing, "", None)]
    else:
        there = in_a_process("theirs", size, repeats, form)
        total = there["prepare"] + there["fit"]
        say(f"arena-rank: {total:.2f} s ({there['prepare']:.2f} s preparation)")
        warm = here["warm"]
        checks += [
            Check("cold fit, of arena-rank's time", f"{cold:.2f} / {total:.2f} s", "<= 1", cold <= total),
            Check(
                f"warm refit after {_new(size):,} votes, of arena-rank's time",
                f"{warm:.2f} / {total:.2f} s = {warm / total:.2f}", f"<= {WARM_SHARE}", warm <= WARM_SHARE * total,
            ),
        ]  # fmt: skip
    memory = here["memory"]
    return [*checks, Check("peak memory", f"{memory:.2f} GB", f"<= {MOST_MEMORY} GB", memory <= MOST_MEMORY)]


def growth(sizes: Sequence[tuple[int, int]], prompts: int, form: str) -> None:
    """A table without targets. A size that cannot be fitted is shown with its reason, not left out."""
    rows = []
    for votes, chatbots in sizes:
        here = in_a_process("ours", Size(votes, chatbots, prompts), 1, form)
        rows.append((
            f"{votes:,}", f"{chatbots:,}", f"{here['prepare']:.2f}", f"{here['fit']:.2f}", f"{here['warm']:.2f}",
            f"{here['memory']:.2f}", "yes" if here["settled"] else "no",
        ))  # fmt: skip
        say(f"  {votes:,} votes, {chatbots:,} chatbots: done")
    say(table(("votes", "chatbots", "preparation s", "cold fit s", "warm s", "GB", "settled"), rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="scale", description="Time and memory of the board on many votes.")
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--chatbots", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--form", choices=["net", "vote"], default="vote")
    parser.add_argument("--no-growth", action="store_true", help="leave out the table over votes and chatbots")
    parser.add_argument("--child", nargs=7, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        side, votes, chatbots, prompts, repeats, form, result = options.child
        measured = child(side, Size(int(votes), int(chatbots), int(prompts)), int(repeats), form)
        Path(result).write_text(json.dumps(measured))
        return 0
    size = Size(options.votes, options.chatbots, options.prompts)
    checks = compare(size, options.repeats, options.form)
    if not options.no_growth:
        growth(GROWTH, options.prompts, options.form)
    title = f"Scale: {size.votes:,} votes, {size.chatbots:,} chatbots, {size.prompts:,} prompts, form {options.form}"
    return conclude(title, checks)


if __name__ == "__main__":
    sys.exit(main())
