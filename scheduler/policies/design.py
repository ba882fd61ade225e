"""The design of the adaptive policy: what it learns, and the constraints that it keeps to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from irt_engine.arrays import check_fields
from irt_engine.fitting.everyday import MOST_TIERS
from scheduler.errors import InvalidRequest, is_count
from scheduler.policies.exposure import Balance
from scheduler.policies.item_sampling import ItemSampler
from scheduler.policies.placement import Placement
from scheduler.policies.retirement import RetirementRule
from scheduler.pool import Pool
from scheduler.state import CampaignState
from scheduler.targets import CombinedTarget, PrecisionTarget, RankingTarget, Target


@dataclass(frozen=True, slots=True)
class AdaptiveDesign:
    """What an adaptive campaign wants, and what keeps its choice honest.

    target      what is worth learning; by default who is above whom, and for a fifth how large all abilities are
    floor       share of asks that go to open pairs at random: what a greedy choice alone would never look at again
    cap         largest share of all judgments that one pair may take (or four times an even share, if that is more)
    best        how many of the most valuable pairs share a draw
    exposure    how many times an even share of all judgments one prompt may take, even over the prompts in use
    depth       how many votes the prompts in use get on average before another joins them (0: all are in use). On real
                votes no gain is shown (docs/decide.md): a chatbot's reply to a prompt is met again with every opponent
    repeats     whether an item may get a second vote before all prompts of its pair have one, where that is expected to
                tell more
    balance     shares of the prompts' categories; None: whatever the values say
    retirement  when a prompt is asked about no more; None: never
    placement     how a chatbot that joins a standing board is placed; None: as any other
    tiers       of quality, in each of which a prompt may discriminate otherwise: who fits the board by this design fits
                it so (`estimator`), and pairs' prompts are valued by the tiers of the fit; 1: alike in all
    Raises InvalidRequest unless 0 <= floor <= 1, 0 < cap <= 1, best >= 1, exposure >= 1, depth >= 0, 1 <= tiers <= 10.
    """

    target: Target = field(default_factory=lambda: CombinedTarget(RankingTarget(), PrecisionTarget(), 0.8))
    floor: float = 0.3
    cap: float = 0.1
    best: int = 5
    exposure: float = 4.0
    depth: float = 0.0
    repeats: bool = False
    balance: Balance | None = None
    retirement: RetirementRule | None = None
    placement: Placement | None = field(default_factory=Placement)
    tiers: int = 1

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        shares = math.isfinite(self.floor + self.cap) and 0.0 <= self.floor <= 1.0 and 0.0 < self.cap <= 1.0
        if not shares or not is_count(self.best, least=1):
            raise InvalidRequest(
                f"floor {self.floor}, cap {self.cap}, best {self.best}",
                code="bad_design",
                hint="floor is a share from 0 to 1, cap a share above 0, best at least 1",
            )
        if not self.exposure >= 1.0:
            raise InvalidRequest(
                f"an exposure of {self.exposure} even shares leaves prompts for too few judgments",
                code="contradictory_caps",
                hint="at least 1, where all prompts are asked about equally often",
            )
        if not (math.isfinite(self.depth) and self.depth >= 0.0):
            raise InvalidRequest(
                f"a depth of {self.depth} votes", code="bad_design", hint="depth is a number of votes, or 0 for none"
            )
        if not 1 <= self.tiers <= MOST_TIERS:
            raise InvalidRequest(
                f"{self.tiers} tiers", code="bad_design", hint=f"1, where prompts discriminate alike, to {MOST_TIERS}"
            )


DEFAULT_DESIGN = AdaptiveDesign()

PolicyFactory = Callable[[CampaignState, Pool, AdaptiveDesign], ItemSampler]
"""Makes a policy ready for one plan."""
