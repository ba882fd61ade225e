"""The fit itself: the Gaussian q that solves

    E_q[d log p / dx] = 0,   precision = E_q[expected information] + prior precision,

the fixed point of Gaussian variational inference with the Gauss-Newton form of the curvature (Opper & Archambeau 2009),
together with the scales of its effects (`scales`). A joint mode is overconfident: hundreds of prompt parameters are set
to what suits the abilities best. Expectations are taken cell by cell over the marginal of (phi_j, theta), by a fixed
set of sigma points, so the result is deterministic. Slots with many cells are no exception: what each leaves open is
small beside its own errors, but hundreds of them lean the same way, and the common scale of the abilities is known
better than any slot. Taken at their means, 20 prompts of 990 cells each gave errors of twice to three times the SEs.

Information under q is not known before q is. A round asks the cells what they say at its mean, adds by how much they
said more under the last q than at the mean of that (the *excess*, which changes little), and has its q: of that it asks
the slope, by which the mean moves, and the next excess. Resting on what was said under the last q itself, information
and means answered each other back and forth: 20 x 200 net ratings took 18 rounds instead of 13, and a million votes
that begin where the last fit ended 13 instead of 9. What is left of it, and of the scales, is mixed (`mixing`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from .arrays import FloatArray
from .arrow import Arrow, Information, Piece, Point, Precision, Problem, factored, one_by_one, own_variances
from .curvature import Curvature, curved
from .errors import DidNotConverge
from .information import normal_nodes
from .kernels import NODES, average_slots
from .learning import learning_variances
from .mixing import Mixer
from .scales import Effects
from .threads import one_blas_thread, threads

Progress = Callable[[int, int], None]

MAX_SWEEPS = 12  # of the scales, one after the other
_SHORTER = 4  # times that a stride along a scale is halved
MOST_ROUNDS = 2000  # under all of them: a board that needs more is fitted with its scales as given, minutes earlier
_TOLERANCE = 1e-10  # posterior SDs, of means, SEs and scales alike
_SETTLED = 0.1  # posterior SDs: from here the curvature of steps stays as it is; from .03, as many rounds cost more
_LONGEST = 4  # times the rounds of a way that may be taken while the error is halved every so often
_STRIDE = 0.1  # of a log SD, the first on the way to where its score changes its sign
_WIDE = 0.3  # SD of replies' effects: narrower, they and the cells' change places while means hardly move
_CLOSE = 1e-3  # posterior SDs: a round that begins so near needs none
SLOPES = 11  # nodes of the discrimination of a prompt that was met once: its SD may be 1, twice what is usual
MOST_AVERAGED = 1_500  # different cells of such prompts; where nearly every vote is on a new one, they count as typical
MOST_CARRIED = 50_000  # cells whose excess is mixed
_SHARED_FROM = 4_000  # cells times points: fewer are asked before other threads are awake


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One round's beginning: means, the log SDs of the effects, and by how much what the cells say under q exceeds what
    they say at the mean."""

    point: Point
    log_sd: FloatArray
    excess: Information


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What the cells say under q, to first and second order."""

    log_posterior: float  # up to a constant
    gradient: Point  # of the log posterior
    d_theta: FloatArray  # (n,) of the log-likelihood, by each cell's theta
    d_phi: FloatArray  # (K, P) of the log-likelihood, by slot, or by part of a slot where there are parts
    information: Information  # expected, or observed of the edges
    sums: FloatArray  # (2, 2) of the cell effect and of pooled replies: the score by log SD, the sum of its squares
    phi_variance: FloatArray  # (J, W) of the slots' own deviations under q; (0, W) at the mean


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where the fit ended."""

    state: State
    at_mean: Information
    arrow: Arrow
    covariance: FloatArray  # (S, S) of the shaft
    rounds: int
    learned: bool  # the scales


def sigma_points(dimension: int, *, mirrored: bool = False, times: int = 1) -> FloatArray:
    """(count, dimension) antithetic quasi-normal points with mean 0 and identity covariance exactly.

    A Kronecker (generalised golden ratio) sequence, mapped to normals, mirrored, then whitened. `mirrored` adds the
    mirror image in the last coordinate alone (theta), without which turning every verdict round would not exactly
    negate an averaged board. `times` as many points take wider posteriors.
    """
    count = times * (dimension - 1 if mirrored else dimension + 1)  # the fewest that leave no direction without spread
    ratio = 2.0
    for _ in range(50):
        ratio = (1.0 + ratio) ** (1.0 / (dimension + 1))
    steps = ratio ** -np.arange(1.0, dimension + 1)
    half = ndtri((0.5 + np.outer(np.arange(1, count + 1), steps)) % 1.0)
    if mirrored:
        half = np.concatenate([half, half * np.r_[np.ones(dimension - 1), -1.0]])
    both = np.concatenate([half, -half])
    lower = np.linalg.cholesky(both.T @ both / len(both))
    points: FloatArray = np.linalg.solve(lower, both.T).T
    return np.ascontiguousarray(points)


class Cells:
    """Asks the cells of a problem, chunk by chunk, while open on as many threads as there are (`threads`)."""

    def __init__(self, problem: Problem, effects: Effects) -> None:
        self.problem, self.effects = problem, effects
        prompts = problem.prompts
        times = 2 if problem.replies else 1  # a reply that was met once or twice leaves its cells' theta wide
        self.points = sigma_points(1 + prompts.size - prompts.tiers, mirrored=not prompts.located, times=times)
        self.threads = threads()
        self.chunks = _balanced(problem, effects.shared, workers=2 * self.threads)
        pooled = np.diff(problem.starts)[effects.shared] if effects.shared >= 0 else 0
        self.slopes = SLOPES if pooled <= MOST_AVERAGED else 1  # with one node all are typical
        self.nodes = np.ones((5, NODES))
        self.nodes[0], self.nodes[1] = normal_nodes(NODES)
        self.pool: ThreadPoolExecutor | None = None
        self.alone: AbstractContextManager[object] | None = None

    def __enter__(self) -> Self:
        self.alone = one_blas_thread()
        self.alone.__enter__()
        if self.threads > 1 and len(self.chunks) > 1:
            self.pool = ThreadPoolExecutor(self.threads - 1)
        return self

    def __exit__(self, *failure: object) -> None:
        if self.pool is not None:
            self.pool.shutdown()
            self.pool = None
        if self.alone is not None:
            self.alone.__exit__(None, None, None)
            self.alone = None

    def information(self, point: Point, log_sd: FloatArray) -> Information:
        """The expected information at the point."""
        return self.ask(point, log_sd, None, logs=False).information

    def ask(
        self,
        point: Point,
        log_sd: FloatArray,
        q: tuple[Arrow, FloatArray] | None,
        *,
        observed: bool = False,
        logs: bool = True,
    ) -> Told:
        """Under the Gaussian `q` around the point, or at the point alone. Raises LinAlgError if q has no root.

        The log posterior is told at the point alone, not with the observed information, and with `logs` only.
        """
        problem = self.problem
        parts, starts = problem.parts, problem.asked
        theta, phi = problem.theta(point), problem.total_phi(point)
        if parts is not None:
            phi = parts.phi(phi)
        n, (K, P), S, shared = len(problem.weight), phi.shape, problem.shaft, self.effects.shared
        nodes = self._nodes(log_sd)
        of_pooled = self._pooled_nodes(log_sd) if shared >= 0 else nodes
        d_theta, d_phi, sums = np.empty(n), np.empty((K, P)), np.empty((K, 3))
        i_theta, cross, i_phi = np.empty(n), np.empty((n, P)), np.empty((K, P, P))
        none = np.zeros((0, P, S)), np.zeros((0, P, P))
        variance = np.empty((0 if q is None else problem.slots, problem.width))

        def work(slots: slice) -> bool:
            asked, own = slots if parts is None else parts.of(slots), none
            if q is not None:
                own = q[0].slot_covariances(q[1], slots)
                variance[slots] = own_variances(problem, q[1], *own)
                own = own if parts is None else parts.covariances(slots, *own)
            return average_slots(
                np.array([asked.start, asked.stop]), starts, q is not None, theta, problem.counts, problem.weight,
                problem.again,
                phi, problem.prompts.located, problem.prompts.spread, self.points, problem.col, problem.coef,
                np.zeros((S, S)) if q is None else q[1], *own, problem.own,
                of_pooled if slots.start == shared else nodes, observed, logs and q is None and not observed,
                d_theta, d_phi, i_theta, cross, i_phi, sums,
            )  # fmt: skip

        points = 1 if q is None else len(self.points)
        if not self.every(work, shared=n * points >= _SHARED_FROM):
            raise np.linalg.LinAlgError("a cell's covariance is not positive")
        by_slot, information = problem.gathered(d_phi, Information(i_theta, cross, i_phi))
        prior = self.effects.precision(log_sd)
        z = problem.on_shaft(d_theta)
        z[problem.common] += by_slot[:, problem.prompts.first_gap :].sum(axis=0)
        if problem.replies:
            by_slot = np.concatenate([by_slot, problem.replies.gathered(d_theta)], axis=1)
        gradient = Point(z - prior.z * point.z, by_slot - prior.phi * point.phi)
        total = sums.sum(axis=0)
        pooled = np.zeros(2)
        if shared >= 0:
            of_shared = slice(shared, shared + 1)
            pooled = sums[of_shared if parts is None else parts.of(of_shared), 1:].sum(axis=0)
        return Told(
            float(total[0] - 0.5 * (prior.z @ point.z**2) - 0.5 * (prior.phi * point.phi**2).sum()),
            gradient,
            d_theta,
            d_phi,
            information,
            self.effects.shared_out(log_sd, total[1:] - pooled, pooled),
            variance,
        )

    def every(self, work: Callable[[slice], bool], *, shared: bool) -> bool:
        """Whether the work on all chunks of slots went well; it may be `shared` with other threads."""
        return self.each(work, self.chunks) if shared else one_by_one(work, self.chunks)

    def each(self, work: Callable[[Piece], bool], pieces: Sequence[Piece]) -> bool:
        """Whether all pieces of work went well. Other threads share it; this one takes its part, so that it need not be
        woken."""
        if self.pool is None or len(pieces) == 1:
            return one_by_one(work, pieces)
        todo = iter(pieces)

        def go_on() -> bool:
            return all(work(piece) for piece in todo)

        others = [self.pool.submit(go_on) for _ in range(self.threads - 1)]
        return all([go_on(), *(other.result() for other in others)])

    def arrow(self, information: Information, prior: Precision) -> Arrow:
        """A precision, factored. Raises LinAlgError where a slot's block is not positive definite."""
        return factored(self.problem, information, prior, self.each)

    def _nodes(self, log_sd: FloatArray) -> FloatArray:
        """(5, NODES) of the cell effect, as the kernels take them."""
        sd, nodes = self.effects.cell_sd(log_sd), self.nodes.copy()
        nodes[2], nodes[3] = np.exp(-sd * nodes[0]), sd
        return nodes

    def _pooled_nodes(self, log_sd: FloatArray) -> FloatArray:
        """(5, NODES slopes) of the cell effect and of the discrimination of a prompt that was met once.

        One vote hardly tells its prompt's discrimination, but that it may be any makes great differences surer than
        votes show them to be, and small ones less: taken as typical, differences of 3 came out a tenth too small. What
        tiers of quality add to it is left out.
        """
        sd, (value, share) = self.effects.pooled_sd(log_sd), normal_nodes(self.slopes)
        nodes = np.tile(self.nodes, self.slopes)
        nodes[1] *= np.repeat(share, NODES)
        nodes[4] = np.repeat(np.exp(self.effects.slope_sd(log_sd) * value), NODES)
        nodes[2], nodes[3] = np.exp(-sd * nodes[0]), sd
        return nodes


def _balanced(problem: Problem, shared: int, workers: int) -> list[slice]:
    """Consecutive slots, about as many cells in each part, none with more dense numbers than a chunk may have.

    The shared slot, which is the last, is by itself: its cells have an effect of another SD.
    """
    edges = {0, problem.slots} | ({shared} if shared >= 0 else set())
    edges |= {part.start for part in problem.chunks()}
    wanted = np.linspace(0, problem.starts[-1], workers + 1)[1:-1]
    edges |= {int(j) for j in np.searchsorted(problem.starts, wanted)}
    order = sorted(edges)
    return [slice(a, b) for a, b in itertools.pairwise(order)]


def solve(cells: Cells, start: Point, steps: int = 0, progress: Progress | None = None) -> Found:
    """From a point near the mode to the fixed point, scales learned on the way. Raises DidNotConverge.

    Where means and scales do not settle together, the scales move by themselves, each time to the end of the means.
    """
    first = State(start, cells.effects.start(), no_excess(cells.problem))
    try:
        found = settle(cells, first, cells.effects.learned, steps, progress)
    except DidNotConverge:
        if not cells.effects.learned:
            raise
        found = _settle_apart(cells, first, steps, progress)
    return _at_the_mean(cells, found)


def no_excess(problem: Problem) -> Information:
    """As if cells said no more under q than at the mean."""
    n, J, P = len(problem.weight), problem.slots, problem.prompts.size
    return Information(np.zeros(n), np.zeros((n, P)), np.zeros((J, P, P)))


def solve_from(cells: Cells, state: State, progress: Progress | None = None) -> Found | None:
    """From where an earlier fit ended; None where that leads nowhere."""
    way = NEARBY if cells.effects.reply_sd(state.log_sd) > _WIDE else None
    try:
        return _at_the_mean(cells, settle(cells, state, cells.effects.learned, 0, progress, way))
    except (DidNotConverge, np.linalg.LinAlgError):
        return None


def _at_the_mean(cells: Cells, found: Found) -> Found:
    """The same means and scales, with the covariance that the information at the mean gives.

    Averaged over q, the information is too large (it grows faster than linearly with a discrimination) and leaves out
    how the skewness of the votes widens the posterior. At the mean both are absent, and nearly cancel: against 8,000
    draws by NUTS, SEs under q are 4 % too small, at the mean within 0.5 % on the whole.
    """
    arrow = cells.arrow(found.at_mean, cells.effects.precision(found.state.log_sd))
    return replace(found, arrow=arrow, covariance=arrow.covariance())


def _settle_apart(cells: Cells, state: State, steps: int, progress: Progress | None) -> Found:
    """Each scale in turn to where its score vanishes, and then together from there.

    Few votes that all lean one way may leave a scale nearly open: its score comes close to zero, turns, and vanishes
    only far beyond. Mixed rounds get caught there, and a search between two signs does not.
    """
    apart = _Apart(cells, steps, progress)
    for _ in range(MAX_SWEEPS):
        before = state.log_sd
        for index in cells.effects.learnable:
            state = apart.along(state, index)
        try:
            return apart.settled(state, learn=True)
        except DidNotConverge:
            if _most(state.log_sd - before) < _TOLERANCE * 10.0:
                found = apart.settled(state)
                if _most(apart.moves(found)) < _TOLERANCE * 100.0:  # and not a place where a score jumps
                    return replace(found, learned=True)
    raise _no_average(f"the scales did not settle in {MAX_SWEEPS} sweeps")


class _Apart:
    """Scales that move by themselves, each time to the end of the means."""

    def __init__(self, cells: Cells, rounds: int, progress: Progress | None) -> None:
        self.cells, self.rounds, self.progress = cells, rounds, progress

    def settled(self, state: State, *, learn: bool = False) -> Found:
        """The end of the means, and of the scales with them or not. Raises DidNotConverge."""
        if self.rounds > MOST_ROUNDS:
            raise _no_average(f"the scales did not settle in {MOST_ROUNDS} rounds")
        found = _settled(self.cells, state, learn, self.rounds, self.progress)
        self.rounds = found.rounds
        if isinstance(found, Unsettled):
            raise _no_average(f"the average did not settle at these scales (error {found.error:.1e} SD)")
        return found

    def moves(self, found: Found) -> FloatArray:
        """How far each log SD would go from there."""
        after = _round(self.cells, found.state, _straight, CAREFUL, learn=True).after
        return after.log_sd - found.state.log_sd

    def along(self, state: State, index: int) -> State:
        """The state where one scale's score vanishes, or where the scale is at its limit, in the direction in which it
        leads. Raises DidNotConverge."""
        ends: dict[float, tuple[float, State]] = {}

        def move(log_sd: float) -> float:
            nonlocal state
            if log_sd not in ends:  # an end that is asked for again must not change its sign by a rounding error
                there = state.log_sd.copy()
                there[index] = log_sd
                found = self.settled(replace(state, log_sd=there))
                ends[log_sd] = float(self.moves(found)[index]), found.state
            far, state = ends[log_sd]
            return far

        at = float(state.log_sd[index])
        here = move(at)
        reach = float(np.sign(here)) * max(_STRIDE, abs(here))
        shorter = 0
        while abs(here) > _TOLERANCE:
            ahead = float(np.clip(at + reach, *self.cells.effects.limits(index)))
            try:
                there = move(ahead)
            except DidNotConverge:  # the means may have no end so far away, and the score vanish before
                shorter += 1
                if shorter > _SHORTER:
                    raise
                reach = 0.5 * (ahead - at)
                continue
            if here * there <= 0.0:
                move(_root(move, at, ahead))
                break
            at, here, reach = ahead, there, 2.0 * reach
        return state


def _root(move: Callable[[float], float], low: float, high: float) -> float:
    """Where a scale no longer moves, between two that move toward each other. Raises DidNotConverge."""
    try:
        return float(brentq(move, low, high, xtol=_TOLERANCE))
    except (ValueError, RuntimeError) as error:
        raise _no_average(f"no scale was found at which its score vanishes ({error})") from error


@dataclass(frozen=True, slots=True)
class Way:
    """How rounds go toward the fixed point, which is the same whichever way leads there."""

    rounds: int
    curved: bool  # steps divide by the observed information, and scales move together with the means
    mixed_below: float  # as in Mixer
    share: float
    farthest: float  # that a log SD moves in a round
    reach: float = 1.0  # SDs that a parameter may move in a round: farther away the step is not to be believed
    bent_below: float = 0.0  # SDs of a step: there curvature is taken under q

    def goes_on(self, count: int, halved: int) -> bool:
        """Whether another round is taken after so many, the error having been halved at that one last."""
        return count < self.rounds or (count < _LONGEST * self.rounds and count - halved <= self.rounds // 2)


QUICK = Way(rounds=40, curved=True, mixed_below=3.0, share=1.0, farthest=0.2, reach=4.0)  # shorter, some never settle
TOGETHER = Way(  # with effects of replies
    rounds=120, curved=True, mixed_below=0.1, share=1.0, farthest=0.2, reach=10.0, bent_below=0.03
)
NEARBY = replace(TOGETHER, mixed_below=0.3, bent_below=3.0)  # from an earlier fit, with wide effects of replies
# Farther out than this one's, a straight line leads from one side to the other.
PATIENT = replace(TOGETHER, mixed_below=0.02, bent_below=0.0)
CAREFUL = Way(rounds=150, curved=False, mixed_below=0.1, share=0.7, farthest=0.7)  # few or contradictory votes


def settle(
    cells: Cells, state: State, learn: bool, steps: int, progress: Progress | None, way: Way | None = None
) -> Found:
    """The fixed point from one state, its scales moving too if `learn`. Raises DidNotConverge."""
    found = _settled(cells, state, learn, steps, progress, way)
    if isinstance(found, Unsettled):
        raise _no_average(f"the average did not settle in {found.rounds} rounds (error {found.error:.1e} SD)")
    return found


@dataclass(frozen=True, slots=True)
class Unsettled:
    """No fixed point was found: after so many rounds the last one still moved by so many posterior SDs."""

    rounds: int
    error: float


def _settled(
    cells: Cells, state: State, learn: bool, steps: int, progress: Progress | None, way: Way | None = None
) -> Found | Unsettled:
    """One way after the other, each from the same state."""
    ways = [way or TOGETHER, PATIENT] if cells.problem.replies else [way or QUICK]
    found: Found | Unsettled = Unsettled(steps, np.inf)
    for next_way in [*ways, CAREFUL]:
        found = _go(cells, state, learn, steps, progress, next_way)
        if isinstance(found, Found):
            break
        steps = found.rounds
    return found


def _go(cells: Cells, state: State, learn: bool, steps: int, progress: Progress | None, way: Way) -> Found | Unsettled:
    """One way, for its rounds, and for up to `_LONGEST` times as many while the error is halved every so often."""
    rounds = _Rounds(cells, learn, way)
    error = least = np.inf
    count = halved = 0  # when it last was
    while way.goes_on(count, halved):
        count += 1
        try:
            taken = rounds.take(state)
        except np.linalg.LinAlgError:
            safe = rounds.back()
            if safe is None:
                break
            state = safe
            continue
        error = taken.error
        if not np.isfinite(error):
            break
        if error < _TOLERANCE:
            return Found(state, taken.at_mean, taken.arrow, taken.covariance, steps + count, learned=learn)
        if error < 0.5 * least:
            least, halved = error, count
        if progress is not None:
            progress(10 + round(90.0 * max(0.0, np.log(error) / np.log(_TOLERANCE))), 100)
        state = rounds.mix(state, taken)
    return Unsettled(steps + count, error)


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A round: what the cells say at the mean, q, where it led, how far that is in posterior SDs, and the log SDs' own
    SDs."""

    at_mean: Information
    arrow: Arrow
    covariance: FloatArray
    after: State
    error: float
    log_sd_spread: FloatArray


Bend = Callable[[float, Told, Arrow, FloatArray], Curvature | None]


class _Rounds:
    """What rounds remember of each other."""

    def __init__(self, cells: Cells, learn: bool, way: Way) -> None:
        self.cells, self.learn, self.way = cells, learn, way
        self.mixer: Mixer | None = None
        self.curvature: Curvature | None = None
        self.before: FloatArray | None = None  # log variances
        self.held: State | None = None  # the last state that a round could be taken from

    def take(self, state: State) -> Taken:
        """A round from `state`. Raises LinAlgError."""

        def bend(far: float, told: Told, arrow: Arrow, covariance: FloatArray) -> Curvature | None:
            if self.way.curved and far > (_SETTLED if self.curvature else _CLOSE):
                q = (arrow, covariance) if far < self.way.bent_below else None
                self.curvature = curved(self.cells, state, arrow.information, q, told, learn=self.learn)
            return self.curvature

        taken = _round(self.cells, state, bend, self.way, learn=self.learn)
        self.held = state
        narrowed = self._narrowed(np.log(np.diag(taken.covariance)), taken)
        return replace(taken, error=max(taken.error, narrowed, _most(taken.after.log_sd - state.log_sd)))

    def _narrowed(self, log_variance: FloatArray, taken: Taken) -> float:
        """By how much log SDs of the shaft have changed since the last round. What began at the end has had none: then
        by how much the next would change them."""
        before, self.before = self.before, log_variance
        if before is None:
            if taken.error > _TOLERANCE:
                return 1.0
            cells, after = self.cells, taken.after
            arrow = cells.arrow(taken.at_mean.plus(after.excess), cells.effects.precision(after.log_sd))
            before = np.log(np.diag(arrow.covariance()))
        return 0.5 * _most(log_variance - before)

    def mix(self, state: State, taken: Taken) -> State:
        """Where the next round begins."""
        self.mixer = self.mixer or self._mixer(taken)
        mixed = _shaped(self.mixer.next(_flat(state), _flat(taken.after), taken.error), taken.after)
        # A straight line through a few rounds may lead a scale anywhere, and its exponential beyond all numbers.
        return replace(mixed, log_sd=self.cells.effects.within(mixed.log_sd))

    def _mixer(self, taken: Taken) -> Mixer:
        way, carried = self.way, sum(part.size for part in _carried(taken.after))
        return Mixer(_unit(taken), carried=carried, mixed_below=way.mixed_below, share=way.share)

    def back(self) -> State | None:
        """Where to go on after a round that broke down; None where nothing safer is known."""
        safe = self.mixer.back() if self.mixer else None
        if safe is None:
            return None
        assert self.held is not None  # noqa: S101 - what was mixed came of it
        return _shaped(safe, self.held)


def _no_average(what: str) -> DidNotConverge:
    return DidNotConverge(what, code="no_average", hint="use tighter priors; report the votes if it persists")


def _round(cells: Cells, state: State, bend: Bend, way: Way, *, learn: bool) -> Taken:
    """One round of means and scales. The step divides by q's own precision, or by the curvature that `bend` gives for
    how far, in posterior SDs, that step would go; nothing moves farther than its way allows. Raises LinAlgError."""
    effects, farthest, prior = cells.effects, way.farthest if learn else 0.0, cells.effects.precision(state.log_sd)
    at_mean = cells.information(state.point, state.log_sd)
    arrow = cells.arrow(at_mean.plus(state.excess), prior)
    covariance = arrow.covariance()
    told = cells.ask(state.point, state.log_sd, (arrow, covariance))
    z_sd, phi_sd = np.sqrt(np.diag(covariance)), np.sqrt(told.phi_variance)
    variance = Point(z_sd**2, told.phi_variance)
    if cells.problem.replies and effects.learned:
        variance = learning_variances(cells, at_mean, prior, variance)
    score, slope = effects.scores(state.log_sd, state.point, variance.z, variance.phi, told.sums)
    step, move = arrow.step(told.gradient), score / slope
    far = max(_most(step.z / z_sd), _most(step.phi / phi_sd), _most(move) if farthest else 0.0)
    curvature = bend(far, told, arrow, covariance)
    if curvature:
        step = curvature.arrow.step(told.gradient)
    if curvature and curvature.scales:
        move = curvature.scale_step(effects, state.log_sd, told.gradient, score)
    log_sd = effects.moved(state.log_sd, move, farthest)
    if curvature:
        step = curvature.follow(step, log_sd - state.log_sd)
    length = max(_most(step.z / z_sd), _most(step.phi / phi_sd))
    point = state.point.moved(step, min(1.0, way.reach / max(length, 1e-300)))
    after = State(point, log_sd, told.information.minus(at_mean))
    return Taken(at_mean, arrow, covariance, after, length, slope**-0.5)


def _straight(far: float, told: Told, arrow: Arrow, covariance: FloatArray) -> None:
    """No curvature but q's own."""


def _most(values: FloatArray) -> float:
    return float(np.abs(values).max()) if values.size else 0.0


def _flat(state: State) -> FloatArray:
    """What is mixed of a state, as a vector: means and scales, and what is carried."""
    return np.concatenate([state.point.z, state.point.phi.ravel(), state.log_sd, *_carried(state)])


def _carried(state: State) -> list[FloatArray]:
    """The excess, of cells only where they are few: many leave little open. Of 50,000 votes a fit then takes 46 rounds
    instead of 45, and of a million 17 either way."""
    excess = state.excess
    of_cells = [excess.i_theta, excess.cross.ravel()] if len(excess.i_theta) <= MOST_CARRIED else []
    return [excess.i_phi.ravel(), *of_cells]


def _shaped(flat: FloatArray, like: State) -> State:
    """The state of a vector; what that does not hold is another's."""
    point, excess = like.point, like.excess
    sizes = [point.z.size, point.phi.size, like.log_sd.size, *(part.size for part in _carried(like))]
    z, phi, log_sd, i_phi, *of_cells = np.split(flat, np.cumsum(sizes)[:-1])
    i_theta, cross = of_cells or (excess.i_theta, excess.cross)
    told = Information(i_theta, cross.reshape(excess.cross.shape), i_phi.reshape(excess.i_phi.shape))
    return State(Point(z, phi.reshape(point.phi.shape)), log_sd, told)


def _unit(taken: Taken) -> FloatArray:
    """What counts as equally far in means and scales: posterior SDs."""
    W = np.arange(taken.arrow.problem.width)
    own = np.sqrt(taken.arrow.inverse[:, W, W])
    return np.concatenate([np.sqrt(np.diag(taken.covariance)), own.ravel(), taken.log_sd_spread])
