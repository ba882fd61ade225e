"""One iteration of means and variances, and how iterations follow each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.models.parameters import Information, Point

from .anderson_acceleration import AndersonAccelerator
from .expectations import CellEvaluator, Expectations
from .observed_information import Curvature, curvature_at
from .schur_complement import FactoredPrecision
from .state import FitState
from .variance_estimation import estimation_variances

TOLERANCE = 1e-10  # posterior SDs, of means, SEs and scales alike
_SETTLED = 0.1  # posterior SDs: from here the curvature of steps stays as it is; from .03, as many rounds cost more
_LONGEST = 4  # times the rounds of a way that may be taken while the error is halved every so often
_CLOSE = 1e-3  # posterior SDs: a round that begins so near needs none
MOST_CARRIED = 50_000  # cells whose excess is mixed


@dataclass(frozen=True, slots=True)
class IterationPlan:
    """Describe how iterations approach the fixed point. The fixed point does not depend on it.

    Parameters
    ----------
    rounds : int
        Number of iterations.
    curved : bool
        Divide steps by the observed information, and move the log SDs together with the means.
    mixed_below, share : float
        Arguments of `AndersonAccelerator`.
    farthest : float
        Largest change of a log SD in an iteration.
    reach : float
        Largest step of a parameter, in posterior SDs.
    bent_below : float
        Size of a step in SDs below which the observed information is taken under q.
    leap : float
        Largest distance of a mixed log SD from where the iteration itself ended.
    tolerance : float
        Size of a step in SDs at which the iterations end.
    """

    rounds: int
    curved: bool  # steps divide by the observed information, and scales move together with the means
    mixed_below: float  # as in AndersonAccelerator
    share: float
    farthest: float  # that a log SD moves in a round
    reach: float = 1.0  # SDs that a parameter may move in a round: farther away the step is not to be believed
    bent_below: float = 0.0  # SDs of a step: there curvature is taken under q
    leap: float = np.inf  # of a log SD by mixing, beyond where the round itself ended
    tolerance: float = TOLERANCE

    def goes_on(self, count: int, halved: int) -> bool:
        """Return whether another iteration follows.

        Parameters
        ----------
        count : int
            Iterations so far.
        halved : int
            The iteration in which the error was last halved.

        Returns
        -------
        bool
            True to continue.
        """
        return count < self.rounds or (count < _LONGEST * self.rounds and count - halved <= self.rounds // 2)


QUICK = IterationPlan(
    rounds=40, curved=True, mixed_below=3.0, share=1.0, farthest=0.2, reach=4.0
)  # shorter, some never settle
# The SD of tiers that are alike is hardly determined: mixed from far out, it leads the other scales astray.
TIERED = replace(QUICK, mixed_below=0.03, farthest=0.4, leap=0.2)
TOGETHER = IterationPlan(  # with effects of replies
    rounds=120, curved=True, mixed_below=0.1, share=1.0, farthest=0.2, reach=10.0, bent_below=0.03
)
NEARBY = replace(TOGETHER, mixed_below=0.3, bent_below=3.0)  # from an earlier fit, with wide effects of replies
# Farther out than this one's, a straight line leads from one side to the other.
PATIENT = replace(TOGETHER, mixed_below=0.02, bent_below=0.0)
CAREFUL = IterationPlan(
    rounds=150, curved=False, mixed_below=0.1, share=0.7, farthest=0.7
)  # few or contradictory votes


@dataclass(frozen=True, slots=True, eq=False)
class Iteration:
    """Store the result of an iteration.

    Parameters
    ----------
    at_mean : Information
        Expected information at the mean.
    factors : FactoredPrecision
        Precision of q.
    covariance : ndarray of float, shape (S, S)
        Covariance of the shared parameters under q.
    after : FitState
        The end of the iteration.
    error : float
        Largest step, in posterior SDs.
    log_sd_spread : ndarray of float, shape (L,)
        Posterior SDs of the log SDs.
    """

    at_mean: Information
    factors: FactoredPrecision
    covariance: FloatArray
    after: FitState
    error: float
    log_sd_spread: FloatArray


CurvatureRule = Callable[[float, Expectations, FactoredPrecision, FloatArray], Curvature | None]


class _Iterations:
    """What rounds remember of each other."""

    def __init__(self, cells: CellEvaluator, learn: bool, way: IterationPlan) -> None:
        self.cells, self.learn, self.way = cells, learn, way
        self.mixer: AndersonAccelerator | None = None
        self.curvature: Curvature | None = None
        self.before: FloatArray | None = None  # log variances
        self.held: FitState | None = None  # the last state that a round could be taken from

    def take(self, state: FitState) -> Iteration:
        """A round from `state`. Raises LinAlgError."""

        def bend(
            far: float, expectations: Expectations, factors: FactoredPrecision, covariance: FloatArray
        ) -> Curvature | None:
            if self.way.curved and far > (_SETTLED if self.curvature else _CLOSE):
                q = (factors, covariance) if far < self.way.bent_below else None
                self.curvature = None  # not held beside the next one: of a million cells it takes 48 MB
                self.curvature = curvature_at(self.cells, state, factors.information, q, expectations, learn=self.learn)
                if self.mixer:
                    self.mixer.forget()
            return self.curvature

        taken = _round(self.cells, state, bend, self.way, learn=self.learn)
        self.held = state
        narrowed = self._narrowed(np.log(np.diag(taken.covariance)), taken)
        return replace(taken, error=max(taken.error, narrowed, _most(taken.after.log_sd - state.log_sd)))

    def _narrowed(self, log_variance: FloatArray, taken: Iteration) -> float:
        """By how much log SDs of the shaft have changed since the last round. What began at the end has had none: then
        by how much the next would change them."""
        before, self.before = self.before, log_variance
        if before is None:
            if taken.error > TOLERANCE:
                return 1.0
            cells, after = self.cells, taken.after
            factors = cells.factor(taken.at_mean.plus(after.excess), cells.effects.precision(after.log_sd))
            before = np.log(np.diag(factors.covariance()))
        return 0.5 * _most(log_variance - before)

    def mix(self, state: FitState, taken: Iteration) -> FitState:
        """Where the next round begins."""
        self.mixer = self.mixer or self._mixer(taken)
        mixed = _shaped(self.mixer.next(_flat(state), _flat(taken.after), taken.error), taken.after)
        # A straight line through a few rounds may lead a scale anywhere, and its exponential beyond all numbers.
        ended, leap = taken.after.log_sd, self.way.leap
        return replace(mixed, log_sd=self.cells.effects.within(np.clip(mixed.log_sd, ended - leap, ended + leap)))

    def _mixer(self, taken: Iteration) -> AndersonAccelerator:
        way, carried = self.way, sum(part.size for part in _carried(taken.after))
        return AndersonAccelerator(_unit(taken), carried=carried, mixed_below=way.mixed_below, share=way.share)

    def back(self) -> FitState | None:
        """Where to go on after a round that broke down; None where nothing safer is known."""
        safe = self.mixer.back() if self.mixer else None
        if safe is None:
            return None
        assert self.held is not None  # noqa: S101 - what was mixed came of it
        return _shaped(safe, self.held)


def _round(cells: CellEvaluator, state: FitState, bend: CurvatureRule, way: IterationPlan, *, learn: bool) -> Iteration:
    """One round of means and scales. The step divides by q's own precision, or by the curvature that `bend` gives for
    how far, in posterior SDs, that step would go; nothing moves farther than its way allows. Raises LinAlgError."""
    effects, farthest, prior = cells.effects, way.farthest if learn else 0.0, cells.effects.precision(state.log_sd)
    at_mean = cells.information(state.point, state.log_sd)
    factors = cells.factor(at_mean.plus(state.excess), prior)
    covariance = factors.covariance()
    expectations = cells.evaluate(state.point, state.log_sd, (factors, covariance))
    z_sd, phi_sd = np.sqrt(np.diag(covariance)), np.sqrt(expectations.phi_variance)
    variance = Point(z_sd**2, expectations.phi_variance)
    if cells.problem.replies and effects.learned:
        variance = estimation_variances(cells, at_mean, prior, variance)
    score, slope = effects.scores(state.log_sd, state.point, variance.z, variance.phi, expectations.sums)
    step, move = factors.step(expectations.gradient), score / slope
    far = max(_most(step.z / z_sd), _most(step.phi / phi_sd), _most(move) if farthest else 0.0)
    curvature = bend(far, expectations, factors, covariance)
    if curvature:
        step = curvature.factors.step(expectations.gradient)
    if curvature and curvature.scales:
        move = curvature.scale_step(effects, state.log_sd, expectations.gradient, score)
    log_sd = effects.moved(state.log_sd, move, farthest)
    if curvature:
        step = curvature.follow(step, log_sd - state.log_sd)
    length = max(_most(step.z / z_sd), _most(step.phi / phi_sd))
    point = state.point.moved(step, min(1.0, way.reach / max(length, 1e-300)))
    after = FitState(point, log_sd, expectations.information.minus(at_mean))
    return Iteration(at_mean, factors, covariance, after, length, slope**-0.5)


def _straight(far: float, expectations: Expectations, factors: FactoredPrecision, covariance: FloatArray) -> None:
    """No curvature but q's own."""


def _most(values: FloatArray) -> float:
    return float(np.abs(values).max()) if values.size else 0.0


def _flat(state: FitState) -> FloatArray:
    """What is mixed of a state, as a vector: means and scales, and what is carried."""
    return np.concatenate([state.point.z, state.point.phi.ravel(), state.log_sd, *_carried(state)])


def _carried(state: FitState) -> list[FloatArray]:
    """The excess, of cells only where they are few: many leave little open. Of 50,000 votes a fit then takes 46 rounds
    instead of 45, and of a million 17 either way."""
    excess = state.excess
    of_cells = [excess.i_theta, excess.cross.ravel()] if len(excess.i_theta) <= MOST_CARRIED else []
    return [excess.i_phi.ravel(), *of_cells]


def _shaped(flat: FloatArray, like: FitState) -> FitState:
    """The state of a vector; what that does not hold is another's."""
    point, excess = like.point, like.excess
    sizes = [point.z.size, point.phi.size, like.log_sd.size, *(part.size for part in _carried(like))]
    z, phi, log_sd, i_phi, *of_cells = np.split(flat, np.cumsum(sizes)[:-1])
    i_theta, cross = of_cells or (excess.i_theta, excess.cross)
    expectations = Information(i_theta, cross.reshape(excess.cross.shape), i_phi.reshape(excess.i_phi.shape))
    return FitState(Point(z, phi.reshape(point.phi.shape)), log_sd, expectations)


def _unit(taken: Iteration) -> FloatArray:
    """What counts as equally far in means and scales: posterior SDs."""
    W = np.arange(taken.factors.problem.width)
    own = np.sqrt(taken.factors.inverse[:, W, W])
    return np.concatenate([np.sqrt(np.diag(taken.covariance)), own.ravel(), taken.log_sd_spread])
