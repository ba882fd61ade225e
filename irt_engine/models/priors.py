"""Default priors and their reasons. All are normal; SDs are in units of ability unless they say log or logit.

With `learn`, the SDs of prompts, pairs, cells and the side effect are the starts of their estimates and the centres of
weak priors (`effects`). Without it they are fixed. Abilities and common gaps always have their wide priors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from irt_engine.arrays import check_fields
from irt_engine.errors import InvalidResponses
from irt_engine.models.logit_units import unit_of


@dataclass(frozen=True, slots=True)
class Priors:
    """Store prior standard deviations.

    Parameters
    ----------
    theta_sd : float
        Of theta (model pair), in logits.
    ability_sd : float
        Of abilities, in logits.
    log_discrimination_sd : float
        Of log discriminations.
    location_sd : float
        Of the prompts' locations (model pair), in units of ability.
    log_gap_sd : float
        Of the prompts' log gaps between thresholds.
    common_log_gap_sd : float
        Of the common log gaps.
    side_sd : float
        Of the side effect, in units of ability.
    pair_sd : float
        Of pair effects, in units of ability; 0 removes them.
    reply_sd : float
        Of reply effects, in units of ability; 0 removes them.
    cell_sd : float
        Of the cell effect (form vote), in logits.
    tier_sd : float
        Of the effects of a tier on log discriminations.
    shared_width : float
        SD of the priors of the log SDs of cell and reply effects.
    style_sd : float
        Of the effects of style, in units of ability per standardised difference.
    learn : bool
        Whether the SDs of the effects are estimated.

    Raises
    ------
    InvalidResponses
        If an SD is not positive and finite.
    """

    # A comparison of a person with a poor chatbot lies near 3 in the published analyses: 2 lets it stand there with
    # little shrinkage, and still keeps an all-wins comparison finite.
    theta_sd: float = 2.0
    # theta = s_B - s_A, so the two scales agree when the ability's SD is theta_sd / sqrt(2).
    ability_sd: float = 1.5
    # Two thirds of the prompts within a factor e^0.5 = 1.65 of the typical discrimination. Wider, a joint mode
    # lets single prompts run away with the scale.
    log_discrimination_sd: float = 0.5
    # Where a prompt's tie category lies (model pair only; 0 under board by symmetry).
    location_sd: float = 0.5
    # How far a prompt's own log gaps may leave the common ones: about a third wider or narrower.
    log_gap_sd: float = 0.35
    # The common log gaps: weak, exp(+-1.5) covers a factor of 20 in both directions; learned from all cells. It is
    # what keeps the gap of a category that nobody used finite.
    common_log_gap_sd: float = 1.5
    # Advantage of the side shown first: rarely above half a logit.
    side_sd: float = 0.5
    # How far a pair may leave the difference of its abilities (model board): published boards show 0 to 0.4. 0 leaves
    # the effect out.
    pair_sd: float = 0.25
    # How far one chatbot's reply to one prompt may be better or worse than its replies usually are (model board): what
    # two comparisons that share a reply have in common on published votes are SDs of 0.6 to 1.6. 0 leaves it out.
    reply_sd: float = 0.7
    # What the votes of a cell share beyond ability and prompt, on the logit scale (form vote): the correlations of
    # .16 to .5 that were measured within cells are SDs of 0.8 to 1.8.
    cell_sd: float = 0.8
    # How much sharper or blunter a prompt may be in one tier of quality than in another (log; only where a fit is given
    # tiers): half of what prompts differ by.
    tier_sd: float = 0.25
    # How far the learned SDs of replies and of cells may be from the given ones (log, an SD): far, where the votes tell
    # them apart; see the priors of campaigns, whose votes do not.
    shared_width: float = 1.0
    # What one root mean square of a difference of style is worth: published effects are 0 to 0.3, and votes determine
    # them well, so this is wide.
    style_sd: float = 1.0
    learn: bool = True

    @property
    def fresh(self) -> float:
        """Return the prior SD of all effects that a vote on two new replies has; see `Scales.fresh`."""
        return math.sqrt(self.cell_sd**2 + 2.0 * self.reply_sd**2)

    @property
    def unit(self) -> float:
        """Return the unit of a board in marginal logits before its first fit; see `Scales.unit`."""
        return unit_of(self.fresh)

    def __post_init__(self) -> None:
        check_fields(self)
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "learn":
                continue
            if not (math.isfinite(value) and (value > 0 or (field.name in ("pair_sd", "reply_sd") and value == 0))):
                raise InvalidResponses(
                    f"prior {field.name} is {value}", code="bad_prior", hint="give a positive, finite SD"
                )


DEFAULT_PRIORS = Priors()
