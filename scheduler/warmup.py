"""Warm up a process: play a small campaign once, so that all kernels are compiled before a real campaign needs them.

Kernels are compiled once per machine, and the machine code is kept (`irt_engine`). Where it is kept already, a warm-up
takes half a second.
"""

from __future__ import annotations

import sys

import scheduler.forecasting.kernels  # noqa: F401  loaded, so that `needs_compiling` looks at all kernels
from irt_engine.compilation import needs_compiling
from irt_engine.fitting.kernels import use_kernels
from irt_engine.simulate import all_cells, draw_votes
from irt_engine.truth import draw_truth
from scheduler.forecasting.forecast import ForecastTerms, forecast
from scheduler.forecasting.goals import AllAbilities
from scheduler.forecasting.random_baseline import random_baseline
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.replay import ReplayLoop

COMPILING = "Compiling numerical kernels, once after installation (about half a minute) ..."
CHATBOTS, PROMPTS, BATCH = 6, 40, 80  # the smallest board that is fitted as the large ones are


def warm_up() -> None:
    """Plan and fit two batches of simulated votes, the second from the first one's posterior, and forecast the rest.

    Replies have effects of SD .7: without them a fit takes a shorter way and leaves kernels uncompiled.
    """
    votes = draw_votes(draw_truth(CHATBOTS, PROMPTS, reply_sd=0.7, seed=1), all_cells(CHATBOTS, PROMPTS), seed=2)
    loop = ReplayLoop(votes, "adaptive", 3, DEFAULT_DESIGN)
    with use_kernels("compiled"):
        for _ in range(2):
            loop.collect(BATCH)
            loop.refit()
        random_baseline(loop.state())
        forecast(loop.state(), ForecastTerms(AllAbilities(0.05)))


def main() -> None:
    """Compile the kernels of this environment; print a line first if that takes long."""
    if needs_compiling():
        sys.stdout.write(f"{COMPILING}\n")
        sys.stdout.flush()
    warm_up()


if __name__ == "__main__":
    main()
