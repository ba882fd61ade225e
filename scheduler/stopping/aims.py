"""What a campaign wants to know, as stopping rules: each stops when it is known, and names the target to plan for.

How precise a board is hardly depends on what it says, so a target SE may be looked at as often as one likes. Who is
different does depend on it: what is said about differences here holds at all looks together (`irt_engine.looks`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields
from irt_engine.campaign_sizes import CampaignDesign, GapFound, campaign_size
from irt_engine.looks import log_p_apart, log_p_equal
from irt_engine.ranks import pair_variances
from scheduler.board_state import Over, ability_sd_of, check_over, neighbours, obstacle, standing, told_apart_of
from scheduler.errors import InvalidRequest, is_count
from scheduler.policies.pair_selection import DEFAULT_DESIGN
from scheduler.pool import Pool
from scheduler.power import difference_se
from scheduler.state import CampaignState, Decision
from scheduler.stopping.feasibility import Outlook, Reach, least_chance
from scheduler.targets import Both, LargestSE, Precision, Target, TopK

# SD of the log of an SE that was looked ahead to: this much, and more by this share of the log of its fall. Measured on
# simulated campaigns of 4 to 12 chatbots and 30 to 80 prompts: .25 with a seventh of the votes in, .15 with most.
_ROUGH, _ROUGHER = 0.15, 0.2
_LEAST_PROGRESS = 1e-12  # of a target that is all but 0, so that what is to go stays a number


_PRECISION_TOO = 0.2  # of what is learnt beside who the best are: as beside the ranking in the usual design


@dataclass(frozen=True, slots=True)
class TargetSE:
    """Every SE is at most `value`: of each ability (minus the board's mean), or of neighbours' differences.

    Evidence: target; se (the largest); progress = min(1, (target / se)^2), the share of the needed precision that is
    there, because precision grows in proportion to votes; judgments_to_go = judgments * (1 / progress - 1), rounded up.
    Before the first fit progress is 0 and the other numbers are absent. Raises InvalidRequest unless value > 0.
    """

    value: float
    over: Over = "all"
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_positive(self.value, "target SE")
        check_over(self.over)

    @classmethod
    def for_difference(cls, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> TargetSE:
        """A pair of neighbours that differ by `difference` is then told apart as boards do it, at alpha, with `power`.

        By the p that holds at any number of looks (`differences.difference_se`). It is the power for each pair by
        itself, before the correction for how many pairs the board has, which marks fewer. Raises InvalidRequest unless
        difference > 0 and 0 < alpha < power < 1.
        """
        _check_positive(difference, "difference")
        if not 0.0 < alpha < power < 1.0:
            raise InvalidRequest(
                f"alpha {alpha}, power {power}", code="bad_target", hint="give for example 0.05 and 0.8"
            )
        return cls(difference_se(difference, power=power, alpha=alpha), over="neighbours")

    @property
    def target(self) -> Target:
        """What judgments are chosen for: the largest SE."""
        return LargestSE(self.over)

    def decide(self, state: CampaignState) -> Decision:
        why = obstacle(state)
        if why or state.posterior is None:
            return Decision(False, why, {"target": self.value, "progress": 0.0})
        ability, covariance = standing(state, state.posterior)
        se = self._largest(ability, covariance)
        progress = max(min(1.0, (self.value / se) ** 2), _LEAST_PROGRESS) if se > 0 else 1.0
        togo = math.ceil(state.judgments * (1.0 / progress - 1.0))
        evidence = {"target": self.value, "se": se, "progress": progress, "judgments_to_go": float(togo)}
        if se <= self.value:
            return Decision(True, f"{self._named} {se:.3f} has reached the target {self.value:g}", evidence)
        return Decision(False, f"{self._named} {se:.3f} is above the target {self.value:g}", evidence)

    def outlook(self, state: CampaignState, reach: Reach) -> Outlook:
        now, se = (max(self._largest(reach.ability, C), 1e-12) for C in (reach.now, reach.then))
        sd = _ROUGH + _ROUGHER * max(math.log(now / se), 0.0)
        chance = float(ndtr(math.log(self.value / se) / sd))
        return Outlook(chance, f"{self._named} would be {se:.3f}, the target is {self.value:g}", {"reachable_se": se})

    @property
    def _named(self) -> str:
        return "the largest SE" if self.over == "all" else "the largest SE between neighbours"

    def _largest(self, ability: FloatArray, covariance: FloatArray) -> float:
        if self.over == "all":
            return float(np.sqrt(np.diag(covariance).max()))
        return float(np.sqrt(pair_variances(covariance, *neighbours(ability)).max()))


@dataclass(frozen=True, slots=True)
class RankingResolved:
    """All neighbours on the board are told apart, or (`top`) each of the best k from each of the others.

    probability: 1 - alpha of `looks.told_apart`; looks as there: how many there may be, None for any number.
    Evidence: undecided pairs; progress, the share of those asked about that are told apart; log_p of the least clear.
    Raises InvalidRequest unless 0 < probability < 1, and looks and top are whole numbers of at least 1.
    """

    probability: float = 0.95
    looks: int | None = None
    top: int | None = None
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_probability(self.probability)
        _check_count(self.looks, "looks")
        _check_count(self.top, "top")

    @property
    def target(self) -> Target:
        """What judgments are chosen for: the order, or who the best are."""
        if self.top is None:
            return DEFAULT_DESIGN.target
        return Both(TopK(self.top), Precision(), 1.0 - _PRECISION_TOO)

    def decide(self, state: CampaignState) -> Decision:
        why = obstacle(state)
        if not why and self.top is not None and self.top >= len(state.chatbots):
            why = f"the best {self.top} of {len(state.chatbots)} chatbots are all of them"
        if why or state.posterior is None:
            return Decision(False, why, {"probability": self.probability, "progress": 0.0})
        better, log_p = told_apart_of(state, state.posterior, 1.0 - self.probability, self.looks)
        upper, lower = self._pairs(standing(state, state.posterior)[0])
        undecided = int((~better[upper, lower]).sum())
        evidence = {
            "probability": self.probability,
            "undecided": float(undecided),
            "progress": 1.0 - undecided / len(upper),
            "log_p": float(log_p[upper, lower].max()),
        }
        if undecided:
            return Decision(False, f"{undecided} of {len(upper)} {self._named} are not told apart yet", evidence)
        return Decision(True, f"all {len(upper)} {self._named} are told apart", evidence)

    def outlook(self, state: CampaignState, reach: Reach) -> Outlook:
        enough = math.log1p(-self.probability)

        def decided(mean: FloatArray, se: FloatArray) -> BoolArray:
            apart: BoolArray = log_p_equal(mean, se, looks=self.looks, ability_sd=reach.ability_sd) <= enough
            return apart

        chance = least_chance(reach, *self._pairs(reach.ability), decided)
        return Outlook(chance, f"the least clear of the {self._named} would be told apart", {})

    @property
    def _named(self) -> str:
        return "neighbours" if self.top is None else f"pairs across the border of the best {self.top}"

    def _pairs(self, ability: FloatArray) -> tuple[IntArray, IntArray]:
        """The upper and the lower of each pair that must be told apart."""
        if self.top is None:
            return neighbours(ability)
        order = np.argsort(-ability, kind="stable")
        upper, lower = np.meshgrid(order[: self.top], order[self.top :], indexing="ij")
        return upper.ravel(), lower.ravel()


@dataclass(frozen=True, slots=True)
class SampleSize:
    """So many judgments are in: on the board, or on every pair. The size comes from a power calculation beforehand.

    A test whose size was fixed before the first vote is made once, here. Evidence: sample_size; judged (of the pair
    that has the fewest); progress; judgments_to_go (of all pairs). Raises InvalidRequest on a size that
    is no whole number of at least 1.
    """

    judgments: int
    of: Literal["board", "pair"] = "board"
    order: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_count(self.judgments, "sample size")
        if self.of not in ("board", "pair"):
            raise InvalidRequest(f"sample size of {self.of!r}", code="bad_rule", hint="use 'board' or 'pair'")

    @classmethod
    def for_gap(
        cls, design: CampaignDesign, gap: float, *, power: float = 0.8, alpha: float = 0.05, seed: int = 0
    ) -> SampleSize:
        """Enough judgments on the board to see a gap of abilities; by simulation, some seconds to a minute.

        See `campaign_sizes.campaign_size` for what it costs and raises.
        """
        return cls(campaign_size(design, GapFound(gap, alpha), power=power, seed=seed).judgments)

    @classmethod
    def for_share(cls, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> SampleSize:
        """Enough judgments on every pair to tell a share of wins of 1/2 + difference from 1/2: `power.binomial_size`.

        Raises what that raises.
        """
        from irt_engine.power import binomial_size  # late: scipy.stats takes half a second to load

        return cls(binomial_size(difference, power=power, alpha=alpha), of="pair")

    @property
    def target(self) -> Target:
        """What judgments are chosen for: as many pairs told apart as so many judgments can."""
        return DEFAULT_DESIGN.target

    def decide(self, state: CampaignState) -> Decision:
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
            return Decision(False, why, evidence)
        where = "on the board" if self.of == "board" else "on the pair with the fewest"
        if judged >= self.judgments:
            return Decision(True, f"the sample size of {self.judgments} judgments {where} is reached", evidence)
        return Decision(False, f"{judged} of {self.judgments} judgments {where} are in", evidence)

    def outlook(self, state: CampaignState, reach: Reach) -> Outlook:
        pairs = 1 if self.of == "board" else math.comb(len(state.chatbots), 2)
        most = (state.judgments + len(state.pending) + reach.judgments) / pairs
        words = f"{most:.0f} of {self.judgments} judgments would be in"
        return Outlook(1.0 if most >= self.judgments else 0.0, words, {"reachable_judgments": most})

    def _each(self, state: CampaignState) -> IntArray:
        """The judgments of the board (1,), or of every pair (N,), of which there is one at least."""
        if self.of == "board":
            return np.array([state.judgments])
        pool = Pool(state)
        return np.bincount(pool.pairs_of(state.judged), minlength=max(len(pool.low), 1))


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Every pair (or all neighbours) is told apart, or shown to differ by less than `margin`, the least that matters.

    margin in units of ability; probability: 1 - alpha of both statements; looks as in `looks.told_apart`.
    Evidence: margin; equivalent, different and undecided pairs; progress, the share that is decided.
    Raises InvalidRequest unless margin > 0, 0 < probability < 1 and looks >= 1.
    """

    margin: float
    probability: float = 0.95
    looks: int | None = None
    over: Over = "all"
    order: ClassVar[int] = 4

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        _check_positive(self.margin, "margin")
        _check_probability(self.probability)
        _check_count(self.looks, "looks")
        check_over(self.over)

    @property
    def target(self) -> Target:
        """What judgments are chosen for: the pairs that are not told apart yet."""
        return DEFAULT_DESIGN.target

    def decide(self, state: CampaignState) -> Decision:
        why = obstacle(state)
        if why or state.posterior is None:
            return Decision(False, why, {"margin": self.margin, "progress": 0.0})
        better, _ = told_apart_of(state, state.posterior, 1.0 - self.probability, self.looks)
        ability, covariance = standing(state, state.posterior)
        upper, lower = self._pairs(ability)
        different = better[upper, lower] | better[lower, upper]
        mean, se = ability[upper] - ability[lower], np.sqrt(pair_variances(covariance, upper, lower))
        equivalent = ~different & self._equivalent(mean, se, ability_sd_of(state.posterior))
        undecided = len(upper) - int(different.sum()) - int(equivalent.sum())
        evidence = {
            "margin": self.margin,
            "different": float(different.sum()),
            "equivalent": float(equivalent.sum()),
            "undecided": float(undecided),
            "progress": 1.0 - undecided / len(upper),
        }
        told = (
            f"{int(equivalent.sum())} pairs differ by less than {self.margin:g}, {int(different.sum())} are told apart"
        )
        if undecided:
            return Decision(False, f"{told}, {undecided} are neither yet", evidence)
        return Decision(True, f"{told}, none is left", evidence)

    def outlook(self, state: CampaignState, reach: Reach) -> Outlook:
        enough = math.log1p(-self.probability)

        def decided(mean: FloatArray, se: FloatArray) -> BoolArray:
            apart = log_p_equal(mean, se, looks=self.looks, ability_sd=reach.ability_sd) <= enough
            return apart | self._equivalent(mean, se, reach.ability_sd)

        chance = least_chance(reach, *self._pairs(reach.ability), decided)
        return Outlook(chance, f"the least clear pair would be told apart or shown within {self.margin:g}", {})

    def _equivalent(self, mean: FloatArray, se: FloatArray, ability_sd: float) -> BoolArray:
        log_p = log_p_apart(mean, se, self.margin, looks=self.looks, ability_sd=ability_sd)
        small: BoolArray = log_p <= math.log1p(-self.probability)
        return small

    def _pairs(self, ability: FloatArray) -> tuple[IntArray, IntArray]:
        if self.over == "neighbours":
            return neighbours(ability)
        low, high = np.triu_indices(len(ability), 1)
        return low, high


def _check_positive(value: float, name: str) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InvalidRequest(f"{name} {value}", code="bad_target", hint="give a positive number")


def _check_probability(value: float) -> None:
    if not 0.0 < value < 1.0:
        raise InvalidRequest(f"probability {value}", code="bad_target", hint="give for example 0.95")


def _check_count(value: int | None, name: str) -> None:
    if value is not None and not is_count(value, least=1):
        raise InvalidRequest(f"{name} {value}", code="bad_count", hint="give a whole number of at least 1")
