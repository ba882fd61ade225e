"""SampleSize: stop when as many judgments are in as a power calculation asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from irt_engine.arrays import IntArray, check_fields
from irt_engine.power.campaign_goals import CampaignDesign, GapFound
from irt_engine.power.campaign_sizes import campaign_size
from scheduler.board_state import obstacle
from scheduler.errors import InvalidRequest
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.pool import Pool
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.feasibility import AttainablePrecision, Feasibility
from scheduler.stopping.validation import check_count
from scheduler.targets import Target


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Stop when a number of judgments is in, on the board or on every pair.

    A test whose size was fixed before the first vote is made once, at this point. Evidence: `sample_size`; `judged`, of
    the pair with the fewest; `progress`; `judgments_to_go`, of all pairs.

    Parameters
    ----------
    judgments : int
        The size, from a power calculation.
    of : {"board", "pair"}
        Where it is counted.

    Raises
    ------
    InvalidRequest
        For a size that is no whole number of at least 1.
    """

    judgments: int
    of: Literal["board", "pair"] = "board"
    order: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        check_count(self.judgments, "sample size")
        if self.of not in ("board", "pair"):
            raise InvalidRequest(f"sample size of {self.of!r}", code="bad_rule", hint="use 'board' or 'pair'")

    @classmethod
    def for_gap(
        cls, design: CampaignDesign, gap: float, *, power: float = 0.8, alpha: float = 0.05, seed: int = 0
    ) -> SampleSize:
        """Return the size at which a gap of abilities is found, by simulation. It takes seconds to a minute.

        Parameters
        ----------
        design : CampaignDesign
            The campaign.
        gap : float
            Difference of abilities, in logits.
        power, alpha : float
            Power and level of the test.
        seed : int
            Seed of the simulation.

        Returns
        -------
        SampleSize
            The rule.
        """
        return cls(campaign_size(design, GapFound(gap, alpha), power=power, seed=seed).judgments)

    @classmethod
    def for_share(cls, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
        """Return the size per pair for a binomial test of a share of wins.

        Parameters
        ----------
        difference : float
            Difference of the share from 1/2.
        power, alpha : float
            Power and level of the test.

        Returns
        -------
        SampleSize
            The rule.
        """
        from irt_engine.power import binomial_size  # late: scipy.stats takes half a second to load

        return cls(binomial_size(difference, power=power, alpha=alpha), of="pair")

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen: the order."""
        return DEFAULT_DESIGN.target

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the sample size is reached; see `StoppingRule.decide`."""
        why, each = obstacle(state), self._each(state)
        judged = int(each.min())
        progress = min(1.0, judged / self.judgments)
        togo = np.maximum(self.judgments - each, 0).sum()
        evidence = {
            "sample_size": float(self.judgments),
            "judged": float(judged),
            "progress": progress,
            "judgments_to_go": float(togo),
        }
        if why:
            return StoppingDecision(False, why, evidence)
        kind = "sample_size" if self.of == "board" else "sample_size_of_pairs"
        if judged >= self.judgments:
            return StoppingDecision(True, Reason(f"{kind}_reached", {"judgments": self.judgments}), evidence)
        missed = Reason(f"{kind}_missed", {"judged": judged, "judgments": self.judgments})
        return StoppingDecision(False, missed, evidence)

    def feasibility(self, state: CampaignState, attainable: AttainablePrecision) -> Feasibility:
        """Return whether enough judgments may still be asked; see `GoalRule.feasibility`."""
        pairs = 1 if self.of == "board" else math.comb(len(state.chatbots), 2)
        most = (state.judgments + len(state.pending) + attainable.judgments) / pairs
        reason = Reason("sample_size_feasible", {"judged": most, "judgments": self.judgments})
        return Feasibility(1.0 if most >= self.judgments else 0.0, reason, {"reachable_judgments": most})

    def _each(self, state: CampaignState) -> IntArray:
        """The judgments of the board (1,), or of every pair (N,), of which there is one at least."""
        if self.of == "board":
            return np.array([state.judgments])
        pool = Pool(state)
        return np.bincount(pool.pairs_of(state.judged), minlength=max(len(pool.low), 1))
