"""rehearse: an imaginary campaign, played once in a process so that no real one waits for what it needs compiled.

Compiling takes about 35 seconds, once per machine: the machine code is kept (`irt_engine.compilation`). Where it is
kept already a rehearsal takes half a second of a process.
"""

from __future__ import annotations

import sys

from irt_engine.compilation import needs_compiling
from irt_engine.fitting.kernels import use_kernels
from irt_engine.simulate import all_cells, draw_truth, draw_votes
from scheduler.forecasting.forecast import ForecastTerms, forecast
from scheduler.forecasting.goals import AllAbilities
from scheduler.forecasting.random_baseline import random_baseline
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.replay import ReplayLoop

COMPILING = "Compiling numerical kernels, once after installation (about a minute) ..."
CHATBOTS, PROMPTS, BATCH = 6, 40, 80  # the smallest board that is fitted as the large ones are


def warm_up() -> None:
    """Two batches of votes planned and fitted, the second from the first one's posterior, as a campaign's refits are;
    and a forecast of the rest.

    Replies differ (SD .7): where they do not, a refit takes a shorter way.
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
    """Compile the kernels of this environment, and say so where that takes its time."""
    if needs_compiling():
        sys.stdout.write(f"{COMPILING}\n")
        sys.stdout.flush()
    warm_up()


if __name__ == "__main__":
    main()
