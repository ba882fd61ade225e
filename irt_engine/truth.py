"""True parameters of simulations, drawn from the priors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import InvalidResponses
from irt_engine.models.logit_units import unit_of
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.models.thresholds import PromptModel, prompt_model

Form = Literal["net", "vote"]
# The typical log gaps of simulated prompts, by the name of their shape: tie category +-0.4, then steps of 0.9 (about
# what crowds show).
TYPICAL_LOG_GAPS = {
    "board": np.log([0.4, 0.9, 0.9]),
    "pair": np.log([0.9, 0.9, 0.8, 0.9, 0.9]),
    "board vote": np.log([0.4]),
    "pair vote": np.log([0.4]),
}


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Store the true parameters of a simulation.

    Parameters
    ----------
    ability : ndarray of float, shape (M,)
        Abilities, in logits.
    discrimination : ndarray of float, shape (J,)
        Discriminations, positive.
    thresholds : ndarray of float, shape (J, 6) or (J, 2)
        Ascending thresholds of net ratings, or of votes.
    side : float
        Advantage of the side that is shown first, in units of ability.
    pair : ndarray of float, shape (M, M), optional
        Antisymmetric pair effects; pair[a, b] is added to s_b - s_a.
    cell_sd : float
        SD of the cell effect, in logits.
    reliability : ndarray of float, shape (K,), optional
        Reliabilities of the annotators; None means anonymous votes of reliability 1.
    tier : ndarray of int, shape (M,), optional
        Tiers of the chatbots, 0..T - 1.
    tier_effect : ndarray of float, shape (J, T), optional
        Effects of the tiers on the log discriminations.
    reply : ndarray of float, shape (M, J), optional
        Effects of the replies around the abilities.
    """

    ability: FloatArray
    discrimination: FloatArray
    thresholds: FloatArray
    side: float = 0.0
    pair: FloatArray | None = None
    cell_sd: float = 0.0
    reliability: FloatArray | None = None
    tier: IntArray | None = None
    tier_effect: FloatArray | None = None
    reply: FloatArray | None = None

    @property
    def chatbots(self) -> tuple[str, ...]:
        """Return the names of the chatbots, sorted as their indices."""
        return tuple(f"bot{i:05d}" for i in range(len(self.ability)))

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the names of the prompts, sorted as their indices."""
        return tuple(f"prompt{j:07d}" for j in range(len(self.discrimination)))

    @property
    def unit(self) -> float:
        """Return the number by which abilities are divided to be in marginal logits; see `Scales.unit`."""
        of_reply = 0.0 if self.reply is None else float(np.mean(self.reply**2))
        return unit_of(math.sqrt(self.cell_sd**2 + 2.0 * of_reply))

    def theta(self, a: IntArray, b: IntArray) -> FloatArray:
        """Return the advantage of b over a, on average over prompts and without the side effect.

        Parameters
        ----------
        a, b : ndarray of int, shape (n,)
            Indices of the chatbots.

        Returns
        -------
        ndarray of float, shape (n,)
            s_b - s_a plus the pair effect.
        """
        theta: FloatArray = self.ability[b] - self.ability[a]
        return theta if self.pair is None else theta + self.pair[a, b]

    def theta_on(self, a: IntArray, b: IntArray, prompt: IntArray) -> FloatArray:
        """Return the advantage of the reply of b over the reply of a.

        Parameters
        ----------
        a, b, prompt : ndarray of int, shape (n,)
            Indices of the chatbots and prompts.

        Returns
        -------
        ndarray of float, shape (n,)
            The advantage, without the side effect.
        """
        theta = self.theta(a, b)
        return theta if self.reply is None else theta + self.reply[b, prompt] - self.reply[a, prompt]

    def slope(self, a: IntArray, b: IntArray, prompt: IntArray) -> FloatArray:
        """Return the discrimination of each prompt for a pair.

        Parameters
        ----------
        a, b, prompt : ndarray of int, shape (n,)
            Indices of the chatbots and prompts.

        Returns
        -------
        ndarray of float, shape (n,)
            Discriminations.
        """
        alpha: FloatArray = self.discrimination[prompt]
        if self.tier is None or self.tier_effect is None:
            return alpha
        of_both: FloatArray = self.tier_effect[prompt, self.tier[a]] + self.tier_effect[prompt, self.tier[b]]
        return alpha * np.exp(of_both / 2.0)


def draw_truth(
    chatbots: int,
    prompts: int,
    *,
    seed: int,
    model: Literal["pair", "board"] = "board",
    form: Form = "net",
    priors: Priors = DEFAULT_PRIORS,
    common_log_gap_sd: float | None = None,
    pair_sd: float = 0.0,
    side_sd: float = 0.0,
    cell_sd: float = 0.0,
    annotators: int = 0,
    reliability_sd: float = 0.5,
    tiers: int = 0,
    tier_sd: float = 0.25,
    reply_sd: float = 0.0,
) -> Truth:
    """Draw the parameters of a simulation from the priors.

    Effects without a given SD are absent. With model pair, abilities belong to comparisons: chatbots 2i (ability 0) and
    2i + 1 (theta_i).

    Parameters
    ----------
    chatbots, prompts : int
        Numbers of chatbots M and prompts J.
    seed : int
        Seed of the draws.
    model : {"board", "pair"}
        The model.
    form : {"net", "vote"}
        Thresholds of shape (J, 6) or (J, 2).
    priors : Priors
        SDs of abilities, discriminations, log gaps and locations.
    common_log_gap_sd : float, optional
        SD of the common log gaps; None uses typical gaps.
    pair_sd : float
        SD of the pair effects.
    side_sd : float
        SD of the side effect.
    cell_sd : float
        SD of the cell effects, which are drawn with the votes.
    annotators : int
        Number of annotators.
    reliability_sd : float
        SD of the annotators' log reliabilities.
    tiers : int
        Above 1: number of ability bands of equal size, 0 for the strongest.
    tier_sd : float
        SD of the effects of a tier on the log discriminations.
    reply_sd : float
        SD of the effects of replies.

    Returns
    -------
    Truth
        The parameters.

    Raises
    ------
    InvalidResponses
        If an SD is negative or not finite, or the model or form is unknown.
    """
    check_known("model", model, "board", "pair")
    check_known("form", form, "net", "vote")
    _check_sds(pair_sd=pair_sd, side_sd=side_sd, cell_sd=cell_sd, reliability_sd=reliability_sd, tier_sd=tier_sd)
    _check_sds(reply_sd=reply_sd)
    rng = np.random.default_rng(seed)
    shape = prompt_model(model, form)
    phi = _prompt_deviations(prompts, shape, priors, rng)
    if model == "board":
        ability = priors.ability_sd * rng.standard_normal(chatbots)
    else:
        ability = np.zeros(chatbots)
        ability[1::2] = priors.theta_sd * rng.standard_normal(chatbots // 2)
    common = TYPICAL_LOG_GAPS[shape.name]
    if common_log_gap_sd is not None:
        _check_sds(common_log_gap_sd=common_log_gap_sd)
        common = common_log_gap_sd * rng.standard_normal(shape.gaps)
    phi[:, shape.first_gap :] += common
    return Truth(
        ability,
        np.exp(phi[:, 0]),
        shape.thresholds(phi),
        side=float(side_sd * rng.standard_normal()) if side_sd else 0.0,
        pair=_pair_effects(chatbots, pair_sd, rng) if pair_sd else None,
        cell_sd=cell_sd,
        reliability=np.exp(reliability_sd * rng.standard_normal(annotators)) if annotators else None,
        tier=np.argsort(np.argsort(-ability)) * tiers // chatbots if tiers > 1 else None,
        tier_effect=tier_sd * rng.standard_normal((prompts, tiers)) if tiers > 1 else None,
        reply=reply_sd * rng.standard_normal((chatbots, prompts)) if reply_sd else None,
    )


def _prompt_deviations(prompts: int, shape: PromptModel, priors: Priors, rng: np.random.Generator) -> FloatArray:
    """Draw the parameters (J, P) of prompts around the common ones."""
    sd = np.full(shape.size, priors.log_gap_sd)
    sd[0] = priors.log_discrimination_sd
    if shape.located:
        sd[1] = priors.location_sd
    deviations: FloatArray = sd * rng.standard_normal((prompts, shape.size))
    return deviations


def check_known(what: str, word: str, *known: str) -> None:
    """Check a name.

    Parameters
    ----------
    what : str
        What is named, for the error.
    word : str
        The name.
    *known : str
        The names that exist.

    Raises
    ------
    InvalidResponses
        If the name is unknown.
    """
    if word not in known:
        raise InvalidResponses(
            f"unknown {what} {word!r}", code=f"unknown_{what}", hint=f"use {' or '.join(map(repr, known))}"
        )


def _check_sds(**sds: float) -> None:
    for name, value in sds.items():
        if not (np.isfinite(value) and value >= 0.0):
            raise InvalidResponses(f"{name} is {value}", code="bad_sd", hint="give a finite SD, 0 or more")


def _pair_effects(chatbots: int, sd: float, rng: np.random.Generator) -> FloatArray:
    """(M, M), antisymmetric: one effect N(0, sd^2) for each unordered pair."""
    upper = np.triu(sd * rng.standard_normal((chatbots, chatbots)), 1)
    effects: FloatArray = upper - upper.T
    return effects
