"""`rank` from the file to the table, beside a script that does the same with arena-rank.

    python -m tests.benchmarks.rank_speed [--votes 100000 1000000] [--chatbots 200] [--prompts 1000] [--repeats 3]

Both are processes that read one CSV file, fit it, and print abilities with intervals: `manage.py rank FILE`, and
pandas with arena-rank's Bradley-Terry and sandwich intervals. They run one after the other; the smallest of
`--repeats` times counts, and the largest memory. Code is compiled before (JAX by its cache on disk). Without
arena-rank (requirements/bench.in) the comparison is skipped.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .import_votes import ROOT
from .report import Check, conclude, say
from .scale import Size, columns_of, drawn

MOST_TIME = {100_000: 1.0, 1_000_000: 2.0}
MOST_MEMORY = 1.5
_NAMES = ("model_a", "tie", "model_b")
_PEAK = """
import atexit, pathlib, sys
def told():
    held = [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    sys.stderr.write(f"\\nVmHWM {held[0].split()[1] if held else 0}\\n")
atexit.register(told)
"""
_OURS = (
    _PEAK
    + """
import runpy
sys.argv = ["manage.py", "rank", sys.argv[1]]
runpy.run_path("manage.py", run_name="__main__")
"""
)
_THEIRS = (
    _PEAK
    + """
import numpy as np, pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset
pairs = PairDataset.from_pandas(pd.read_csv(sys.argv[1]))
found = BradleyTerry(n_competitors=len(pairs.competitors)).compute_ratings_and_cis(pairs)
print(pd.DataFrame({name: np.asarray(column) for name, column in found.items() if np.ndim(column) == 1}).to_string())
"""
)


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of a process, and the GB that it held at most."""

    seconds: float
    memory: float


def write(path: Path, size: Size) -> None:
    """Write votes drawn from the model as a CSV file in the columns of arena votes."""
    columns = columns_of(drawn(size))
    with path.open("w") as file:
        file.write("model_a,model_b,winner,question_id\n")
        for a, b, prompt, outcome in zip(columns.a, columns.b, columns.prompt, columns.outcome.tolist(), strict=True):
            file.write(f"{a},{b},{_NAMES[outcome + 1]},{prompt}\n")


def python_of(script: str) -> str:
    """The interpreter: arena-rank pins NumPy, so that its environment lacks what `manage.py` needs."""
    own = ROOT / ".venv" / "bin" / "python"
    lacks = importlib.util.find_spec("whitenoise") is None
    return str(own) if script == _OURS and lacks and own.exists() else sys.executable


def timed(script: str, path: Path, folder: Path) -> Run:
    """Run a script on the file in a process of its own. Raises RuntimeError with what it said if it fails."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(folder), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    began = time.perf_counter()
    ran = subprocess.run(
        [python_of(script), "-c", script, str(path)],
        cwd=ROOT, env=os.environ | cache, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    if ran.returncode != 0:
        raise RuntimeError(f"the process failed:\n{ran.stderr}")
    return Run(seconds, float(ran.stderr.rsplit("VmHWM ", 1)[1]) / 1024**2)


def best(script: str, path: Path, folder: Path, repeats: int) -> Run:
    """The shortest time and the largest memory, after a run that warms caches."""
    timed(script, path, folder)
    runs = [timed(script, path, folder) for _ in range(repeats)]
    return Run(min(run.seconds for run in runs), max(run.memory for run in runs))


def compare(size: Size, repeats: int, folder: Path) -> list[Check]:
    """The checks at one size."""
    path = folder / f"{size.votes}.csv"
    write(path, size)
    here = best(_OURS, path, folder, repeats)
    say(f"{size.votes:,} votes, {path.stat().st_size / 1e6:.0f} MB: rank {here.seconds:.1f} s, {here.memory:.2f} GB")
    name, most = f"{size.votes:,} votes: ", MOST_TIME.get(size.votes)
    target = f"<= {most:.1f}" if most else ""
    if importlib.util.find_spec("arena_rank") is None:
        missing = f"{here.seconds:.1f} s; arena-rank is not installed (make bench)"
        return [Check(f"{name}time over arena-rank's", missing, target, None)]
    there = best(_THEIRS, path, folder, repeats)
    ratio, memory = here.seconds / there.seconds, here.memory / there.memory
    return [
        Check(
            f"{name}time over arena-rank's", f"{here.seconds:.1f} / {there.seconds:.1f} s = {ratio:.2f}",
            target, ratio <= most if most else None,
        ),
        Check(
            f"{name}memory over arena-rank's", f"{here.memory:.2f} / {there.memory:.2f} GB = {memory:.2f}",
            f"<= {MOST_MEMORY}", memory <= MOST_MEMORY,
        ),
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="rank_speed", description="`rank` from end to end.")
    parser.add_argument("--votes", type=int, nargs="+", default=list(MOST_TIME))
    parser.add_argument("--chatbots", type=int, default=200)
    parser.add_argument("--prompts", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        sizes = [Size(votes, options.chatbots, options.prompts) for votes in options.votes]
        checks = [check for size in sizes for check in compare(size, options.repeats, Path(folder))]
    return conclude("rank from the file to the table", checks)


if __name__ == "__main__":
    sys.exit(main())
