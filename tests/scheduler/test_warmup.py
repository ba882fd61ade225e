"""warm_up: after it, nothing that a campaign's refits and plans need is left to be compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Entry points are compiled, or fetched from what was compiled before, one signature at a time: each shows in the list.
PROGRAM = """
import sys
import warnings
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from scheduler.forecasting.random_baseline import random_baseline
from scheduler.forecasting.forecast import FORECASTABLE_POLICIES, ForecastTerms, forecast
from scheduler.forecasting.goals import Separated
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.warmup import warm_up
from scheduler.replay import ReplayLoop

def compiled():
    rooms = [module for name, module in sys.modules.items() if name.startswith(("irt_engine", "scheduler"))]
    found = {f for room in rooms for f in vars(room).values() if hasattr(f, "signatures")}
    return {(f.py_func.__module__, f.__name__, signature) for f in found for signature in f.signatures}

from irt_engine.compilation import needs_compiling

assert not compiled()
with warnings.catch_warnings(action="error"):
    warm_up()
assert not needs_compiling()
ready = compiled()
for chatbots, prompts, batch, reply_sd in ((12, 60, 150, 1.0), (5, 250, 240, 0.0), (3, 5, 6, 0.3)):
    votes = draw_votes(draw_truth(chatbots, prompts, reply_sd=reply_sd, seed=4), all_cells(chatbots, prompts), seed=5)
    loop = ReplayLoop(votes, "adaptive", 6, DEFAULT_DESIGN)
    for _ in range(2):
        loop.collect(batch)
        loop.refit()
    random_baseline(loop.state())
    for policy in FORECASTABLE_POLICIES:
        forecast(loop.state(), ForecastTerms(Separated(0.5), policy=policy))
print(len(ready), sorted(name for _, name, _ in compiled() - ready))
"""


def test_after_a_rehearsal_campaigns_of_other_sizes_find_everything_compiled() -> None:
    """The rehearsal itself ends without a warning: nobody would see it in a worker's thread."""
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    ready, _, left = found.stdout.strip().partition(" ")
    assert int(ready) > 0
    assert left == "[]"


def test_fresh_environment_needs_compiling(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import scheduler.warmup, irt_engine.compilation as c; print(c.needs_compiling())"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "True"
