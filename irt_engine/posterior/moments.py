"""Moments of an approximate posterior: means, covariances and standard errors of a fit's parameters.

Notation: M chatbots, C comparisons, J prompts, E thresholds (6 for net ratings, 2 for single votes) and T tiers.
Abilities, thetas, thresholds and reply effects are in logits; a discrimination is a slope without a unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, frozen
from irt_engine.errors import EngineError, NotIdentified
from irt_engine.posterior.differences import quantile

FLOAT_ARRAYS = (
    "ability",
    "covariance",
    "theta",
    "theta_se",
    "discrimination",
    "discrimination_se",
    "thresholds",
    "theta_covariance",
    "thresholds_se",
    "tier_discrimination",
    "tier_discrimination_se",
    "reply",
    "reply_se",
    "style",
    "style_se",
)
INTEGER_ARRAYS = ("group", "chatbot_judgments", "tier")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Store a pair of chatbots that was compared.

    Parameters
    ----------
    a, b : str
        The chatbots, in the order of the input file.
    by : str or None
        The label that keeps repeated experiments on the same pair apart.
    judgments : int
        The number of judgments.
    """

    a: str
    b: str
    by: str | None
    judgments: int


@dataclass(frozen=True, slots=True)
class Scales:
    """Store the standard deviations of the effects, estimated or given; None for effects outside the model.

    Parameters
    ----------
    log_discrimination, log_gap : float
        Of the prompts' log discriminations, and of the log gaps between their thresholds.
    location : float, optional
        Of the prompts' locations, in units of ability.
    pair : float, optional
        Of theta around the difference of the abilities, in units of ability.
    side : float, optional
        Of the advantage of the side that is shown first, in units of ability.
    cell : float, optional
        Of the effect that the votes of a cell have in common, in logits.
    learned : bool
        Whether the fit estimated the standard deviations.
    tier : float, optional
        Of a prompt's log discrimination in one tier around its own.
    reply : float, optional
        Of the effect of one chatbot's reply to one prompt, in units of ability.
    unit : float
        The unit of ability in conditional logits: 1 after a fit; `Posterior.marginal` changes it.
    at_limit : tuple of str
        Names of the standard deviations that ended at the largest value that a fit allows: ``"log_discrimination"``,
        ``"reply"``, ``"cell"`` and the like. The votes contradict each other less than the model can explain.
    """

    log_discrimination: float
    log_gap: float
    location: float | None = None
    pair: float | None = None
    side: float | None = None
    cell: float | None = None
    learned: bool = False
    tier: float | None = None
    reply: float | None = None
    unit: float = 1.0
    at_limit: tuple[str, ...] = ()

    @property
    def fresh(self) -> float:
        """Return the SD of all that the votes of a new cell have in common, in logits at discrimination 1.

        It consists of the cell effect and of the effects of two replies without earlier votes.
        """
        return math.sqrt((self.cell or 0.0) ** 2 + 2.0 * (self.unit * (self.reply or 0.0)) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorMoments:
    """Store the frozen result of a fit. All numbers are finite.

    Parameters
    ----------
    model : str
        ``"board"`` or ``"pair"``.
    chatbots : tuple of str
        The M chatbots; empty for model pair.
    ability : ndarray of float, shape (M,)
        Abilities minus the mean of the group. A chatbot without a connected opponent stands at 0 with the variance
        of the prior.
    covariance : ndarray of float, shape (M, M)
        Covariance of `ability`.
    group : ndarray of int, shape (M,)
        Connected component of the comparison graph; 1 is the largest.
    chatbot_judgments : ndarray of int, shape (M,)
        Judgments about each chatbot.
    comparisons : tuple of Comparison
        The C comparisons.
    theta, theta_se : ndarray of float, shape (C,)
        Advantage of b over a in each comparison, and its standard error. Model board: s_b - s_a plus the pair effect.
    prompts : tuple of str
        The J prompts.
    discrimination, discrimination_se : ndarray of float, shape (J,)
        Discriminations and their standard errors; with tiers the geometric mean over the tiers.
    thresholds : ndarray of float, shape (J, E)
        Thresholds in the orientation of the comparison: of u >= -2..3 (form net, E = 6), or of "not worse" and
        "better" (form vote, E = 2).
    judgments, cells : int
        Number of judgments, and of comparisons on a prompt.
    converged : bool
        False only for a full fit whose chains disagree; the everyday fit converges or raises.
    iterations : int
        Iterations of all stages of the fit.
    seed : int
        Seed of the fit.
    form : str
        ``"net"`` (net ratings of cells) or ``"vote"`` (single votes).
    side, side_se : float
        Advantage of the side that is shown first; 0 if no order is known.
    scales : Scales
        Standard deviations of the effects.
    ties : int, optional
        Number of ties among the judgments; None if unknown.
    theta_covariance : ndarray of float, shape (C, C)
        Covariance of theta for model pair; empty for model board.
    thresholds_se : ndarray of float, shape (J, E)
        Standard errors of the thresholds; may be empty.
    tier : ndarray of int, shape (M,)
        Tier of each chatbot; empty without tiers, as are the next two.
    tier_discrimination, tier_discrimination_se : ndarray of float, shape (J, T, T)
        Discrimination of each prompt between chatbots of two tiers, and its standard error.
    reply, reply_se : ndarray of float, shape (J, M)
        Effect of each reply around the chatbot's ability, and its standard error. Unseen replies have effect 0 and
        the SD `scales.reply`. Empty without reply effects.
    style_names : tuple of str, length k
        Covariates of style in the fit.
    style, style_se : ndarray of float, shape (k,)
        What one root mean square of the difference of a covariate adds to theta, and its standard error. Abilities
        are those at equal style, and so are predictions.

    Raises
    ------
    EngineError
        If a number is not finite (``not_finite``).
    """

    model: str
    chatbots: tuple[str, ...]
    ability: FloatArray
    covariance: FloatArray
    group: IntArray
    chatbot_judgments: IntArray
    comparisons: tuple[Comparison, ...]
    theta: FloatArray
    theta_se: FloatArray
    prompts: tuple[str, ...]
    discrimination: FloatArray
    discrimination_se: FloatArray
    thresholds: FloatArray
    judgments: int
    cells: int
    converged: bool
    iterations: int
    seed: int
    form: str
    side: float
    side_se: float
    scales: Scales
    ties: int | None = None
    theta_covariance: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    thresholds_se: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    tier: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    tier_discrimination: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    tier_discrimination_se: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    reply: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    reply_se: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    style_names: tuple[str, ...] = ()
    style: FloatArray = field(default_factory=lambda: np.empty(0))
    style_se: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in FLOAT_ARRAYS:
            array = frozen(getattr(self, name), np.float64)
            if not np.isfinite(array).all():
                raise EngineError(
                    f"{name} is not finite", code="not_finite", hint="report this with the votes that led to it"
                )
            object.__setattr__(self, name, array)
        for name in INTEGER_ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))

    @property
    def se(self) -> FloatArray:
        """Return the standard errors (M,) of the abilities minus the mean of their group."""
        se: FloatArray = np.sqrt(np.diag(self.covariance))
        return se

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return central intervals of the abilities, each at `level` by itself.

        Parameters
        ----------
        level : float
            Probability of each interval, between 0 and 1.

        Returns
        -------
        ndarray of float, shape (M, 2)
            Lower and upper bounds.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``).
        """
        half = quantile(level) * self.se
        return np.stack([self.ability - half, self.ability + half], axis=1)

    def index(self, name: str) -> int:
        """Return the index of a chatbot.

        Parameters
        ----------
        name : str
            A chatbot.

        Returns
        -------
        int
            Its place in `chatbots`.

        Raises
        ------
        NotIdentified
            If the chatbot is not on the board (``unknown_chatbot``).
        """
        try:
            return self.chatbots.index(name)
        except ValueError:
            raise NotIdentified(
                f"{name!r} is not on this board", code="unknown_chatbot", hint="see Posterior.chatbots"
            ) from None
