"""States for the scheduler's tests: before the first fit, and in the middle of a campaign."""

from __future__ import annotations

from typing import Any

import numpy as np

from irt_engine import Posterior, fit
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth
from scheduler import CampaignState

TRUTH = draw_truth(5, 8, seed=1)
CELLS = some_cells(5, 8, 0.5, seed=2)
POSTERIOR: Posterior = fit(draw_votes(TRUTH, CELLS, seed=3))


def fresh(**change: Any) -> CampaignState:
    """Nothing judged yet."""
    return CampaignState(**({"chatbots": TRUTH.chatbots, "prompts": TRUTH.prompts} | change))


def midway(**change: Any) -> CampaignState:
    """Half of the items judged."""
    return fresh(**({"posterior": POSTERIOR, "judged": CELLS, "judgments": len(CELLS)} | change))


def items(asks: Any) -> list[tuple[int, int, int]]:
    """(a, b, prompt) of every ask."""
    return [(ask.a, ask.b, ask.prompt) for ask in asks]


def every_item() -> np.ndarray:
    """All (a, b, prompt) of the cast."""
    return some_cells(5, 8, 1.0, seed=0)
