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
from scheduler.tiers import TIERS


@dataclass(frozen=True, slots=True)
class AdaptiveDesign:
    """What the adaptive policy learns, and the constraints that it keeps to.

    Parameters
    ----------
    target : Target
        What is worth learning. Default: the order, and for a fifth the precision of all abilities.
    floor : float
        Share of asks that go to open pairs at random, from 0 to 1: what a greedy choice would never look at again.
    cap : float
        Largest share of all judgments that one pair may take, or four times an even share if that is more.
    best : int
        How many of the most valuable pairs share a draw.
    exposure : float
        How many times an even share of all judgments one prompt may take, at least 1.
    depth : float
        Votes that the prompts in use get on average before another prompt joins them; 0 uses all prompts. On real votes
        it shows no gain (docs/decide.md), since a chatbot's reply to a prompt is met again with every opponent.
    repeats : bool
        Whether an item may get a second vote before all prompts of its pair have one.
    balance : Balance or None
        Shares of the prompts' categories; None for no constraint.
    retirement : RetirementRule or None
        When a prompt is asked about no more; None for never.
    placement : Placement or None
        How a chatbot that joins an established board is placed; None for no placement.
    tiers : int
        Tiers of ability in which a prompt may discriminate differently (`tiers`), from 1 to 10. The board must be
        fitted with as many (`estimator`).

    Raises
    ------
    InvalidRequest
        For values outside these ranges.
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
    tiers: int = TIERS

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
