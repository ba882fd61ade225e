"""Scales: the SDs of the normal effects, given or estimated from the data (empirical Bayes).

For a group of effects x_1..x_n ~ N(0, s^2) with posterior means m and variances v, the derivative of the log marginal
likelihood by log s is sum m^2 / s^2 - gamma. Here gamma = n - sum v / s^2 is the number of well-determined effects
(MacKay 1992, Neural Computation 4, 415-447). Its root is iterated together with the fit. The prior of log s is normal
around the given SD. An SD without information keeps its given value, and the SD of an absent effect shrinks to about
its standard error.

The SDs of reply and cell effects are estimated only from replies and cells with two or more votes. A single vote does
not distinguish such an effect from its own noise, and the score would depend on the quality of the approximated
variances. At the true SD the expected score of any subset is 0 if the votes did not choose the subset. This is violated
if first votes decide whether second ones follow.

The SD of log discriminations is estimated from the n - 1 deviations from their own mean, because a common shift only
changes the unit. Its limit is half of that of other groups: an SD of 1 is a factor of 7 in both directions, and beyond
it the means hardly converge.

Scales cannot be estimated at a joint mode, where discriminations and abilities diverge to 0 and infinity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.models.parameters import Point, Precision

TIGHT = 0.5  # of the prior of a log SD: a factor of 1.6 either way is common, one of 4 takes many votes
LOOSE = 1.0
MOST = 4.0  # times the given SD: beyond it verdicts without any doubt would lead a scale to infinity
MOST_SLOPES = 2.0  # the same of log discriminations
LEAST = 0.01  # an SD that small is an effect that is not there
_AT = 1e-6  # of a log SD, below its limit: it is at the limit
_PINNED = 1e6  # precision of what a definition fixes


@dataclass(frozen=True, slots=True)
class Group:
    """Describe a group of effects with a common standard deviation.

    Parameters
    ----------
    name : str
        Name of the group.
    sd : float
        Given SD: the start of its estimation, and the centre of its prior.
    learned : bool
        Whether the SD is estimated.
    width : float
        SD of the prior of the log SD.
    z : slice, optional
        Place of the effects among the shared parameters.
    phi : slice, optional
        Columns of the effects among the slots' parameters.
    most : float
        Largest SD, as a multiple of the given one.
    """

    name: str
    sd: float  # given; where learning begins, and the middle of its prior
    learned: bool
    width: float = TIGHT  # of the prior of the log SD
    z: slice | None = None
    phi: slice | None = None
    most: float = MOST  # times the given SD


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Describe all groups of effects of a problem.

    The pooled slot has the parameters of a typical prompt. Its votes are averaged over the effects that each of its
    prompts may have.

    Parameters
    ----------
    groups : tuple of Group
        The groups, L or L - 1 of them.
    cell : Group, optional
        The cell effect, which is integrated out.
    shared_size : int
        Number of shared parameters S.
    shape : (int, int)
        Shape (J, W) of the slots' parameters.
    shared : int
        Index of the pooled slot, or -1.
    replies : ndarray of bool, shape (J, R), optional
        Which reply effects exist.
    again : ndarray of bool, shape (J, R), optional
        Replies with two or more judgments, from which the SD is estimated.
    """

    groups: tuple[Group, ...]
    cell: Group | None  # the cell effect of votes: integrated out, so it has no place in z or phi
    shared_size: int
    shape: tuple[int, int]  # of phi
    shared: int
    replies: BoolArray | None = None  # (J, R) which of the group `reply` are there; None without such a group
    again: BoolArray | None = None  # (J, R) from which of them their SD is learned: those that were judged again

    @property
    def learned(self) -> bool:
        """Return whether any SD is estimated."""
        return any(group.learned for group in self._every())

    def as_given(self) -> Effects:
        """Return the same effects with fixed SDs.

        Returns
        -------
        Effects
            The effects with `learned` False everywhere.
        """
        fixed = tuple(replace(group, learned=False) for group in self.groups)
        return replace(self, groups=fixed, cell=replace(self.cell, learned=False) if self.cell else None)

    def _every(self) -> list[Group]:
        return [*self.groups, *([self.cell] if self.cell else [])]

    def start(self) -> FloatArray:
        """Return the given log SDs.

        Returns
        -------
        ndarray of float, shape (L,)
            One per group; the cell effect's is last.
        """
        return np.log([max(group.sd, LEAST) for group in self._every()])

    def restored(self, log_sd: FloatArray) -> FloatArray:
        """Return the log SDs in which a fit starts after an earlier one.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            Log SDs of the earlier fit.

        Returns
        -------
        ndarray of float, shape (L,)
            Those of the earlier fit where they are estimated, and the given ones elsewhere.
        """
        start = self.start()
        start[self.learnable] = log_sd[self.learnable]
        return self.within(start)

    def start_without_replies(self) -> FloatArray:
        """Return the log SDs for the joint mode, with almost no reply effects.

        Attributes
        ----------
        joint mode would overfit the reply effects, far from their expectation.

        Returns
        -------
        ndarray of float, shape (L,)
            The log SDs.
        """
        log_sd = self.start()
        if self.replies is not None:
            log_sd[self._of_replies] = np.log(LEAST)
        return log_sd

    def precision(self, log_sd: FloatArray) -> Precision:
        """Return the prior precision.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        Precision
            Diagonal precisions of all effects.
        """
        z, phi = np.ones(self.shared_size), np.ones(self.shape)
        for group, value in zip(self.groups, np.exp(-2.0 * log_sd), strict=False):
            if group.z is not None:
                z[group.z] = value
            if group.phi is not None:
                phi[:, group.phi] = value
        if self.shared >= 0:
            # All but the location, which pooled prompts may have in common, is typical: alpha = 1 and the common gaps.
            phi[self.shared, [c for c in range(self.shape[1]) if not self._is_location(c)]] = _PINNED
        return Precision(z, phi)

    def _is_location(self, column: int) -> bool:
        named = [g.phi for g in self.groups if g.name == "location" and g.phi is not None]
        return any(part.start <= column < part.stop for part in named)

    def cell_sd(self, log_sd: FloatArray) -> float:
        """Return the SD of the cell effect.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        float
            SD in logits; 0 without a cell effect.
        """
        return float(np.exp(log_sd[-1])) if self.cell else 0.0

    def reply_sd(self, log_sd: FloatArray) -> float:
        """Return the SD of the reply effects.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        float
            SD in units of ability; 0 without reply effects.
        """
        return float(np.exp(log_sd[self._of_replies])) if self.replies is not None else 0.0

    def slope_sd(self, log_sd: FloatArray) -> float:
        """Return the SD of the log discriminations.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        float
            The SD.
        """
        return float(np.exp(log_sd[[group.name for group in self.groups].index("log_discrimination")]))

    def variance_weight(self, precision: FloatArray) -> FloatArray:
        """Return the weights of variances at the mean in variance estimation.

        Wide reply effects have small weights; see docs/variance-estimation.md.

        Parameters
        ----------
        precision : ndarray of float, shape (J, W)
            Prior precision of the slots' parameters.

        Returns
        -------
        ndarray of float, shape (J, W)
            Weights.
        """
        trust = np.ones_like(precision)
        if self.replies is not None:
            given = self.groups[self._of_replies]
            assert given.phi is not None  # noqa: S101 - replies have columns of phi
            wide = 1.0 / (2.0 * given.sd**2 * precision[:, given.phi])
            trust[:, given.phi] = (1.0 + wide) ** -0.5
        return trust

    def pooled_sd(self, log_sd: FloatArray) -> float:
        """Return the SD of the cell effect of pooled prompts.

        Each of them has a single cell, whose replies have no other votes.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        float
            SD in logits.
        """
        return float(np.sqrt(self.cell_sd(log_sd) ** 2 + 2.0 * self.reply_sd(log_sd) ** 2))

    def split_sums(self, log_sd: FloatArray, own: FloatArray, pooled: FloatArray) -> FloatArray:
        """Return the score sums by the log SDs of the cell effect and of the replies.

        The pooled slot's cell variance is a sum of both variances (`pooled_sd`).

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        own, pooled : ndarray of float, shape (2,)
            Sums by the cell effect's log SD, over slots with own parameters and over the pooled slot.

        Returns
        -------
        ndarray of float, shape (2, 2)
            Sums by each of the two log SDs.
        """
        cell, whole = self.cell_sd(log_sd), self.pooled_sd(log_sd)
        share = (cell / whole) ** 2 if whole else 1.0
        shares = np.array([[share, share**2], [1.0 - share, (1.0 - share) ** 2]])
        sums: FloatArray = shares * pooled
        sums[0] += own
        return sums

    @property
    def _of_replies(self) -> int:
        return [group.name for group in self.groups].index("reply")

    @property
    def learnable(self) -> list[int]:
        """Return the indices of the estimated log SDs."""
        return [index for index, group in enumerate(self._every()) if group.learned]

    def is_cell(self, index: int) -> bool:
        """Return whether a log SD belongs to the cell effect.

        Parameters
        ----------
        index : int
            Index of the log SD.

        Returns
        -------
        bool
            True for the cell effect.
        """
        return index == len(self.groups)

    def scores(
        self, log_sd: FloatArray, point: Point, z_variance: FloatArray, phi_variance: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the score of each log SD, and the rate at which it decreases.

        The score of a group decreases by 2 sum m^2 / s^2 where the data determine its effects, and by about twice its
        own size where they hardly do.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        point : Point
            Means of the parameters.
        z_variance : ndarray of float, shape (S,)
            Variances of the shared parameters.
        phi_variance : ndarray of float, shape (J, W)
            Variances of the slots' parameters.
        sums : ndarray of float, shape (2, 2)
            Scores of the votes, and their sums of squares, from `shared_out`.

        Returns
        -------
        tuple of ndarray of float, shape (L,)
            Scores with their priors, and rates; 0 and 1 for fixed SDs.
        """
        score, slope = np.zeros_like(log_sd), np.ones_like(log_sd)
        for index in self.learnable:
            group = self._every()[index]
            weak = group.width**-2.0
            pull = (np.log(group.sd) - log_sd[index]) * weak
            if self.is_cell(index):
                score[index], slope[index] = sums[0, 0] + pull, sums[0, 1] + weak
                continue
            m, v = self._members(group, point, Point(z_variance, phi_variance))
            s2 = np.exp(2.0 * log_sd[index])
            free = self._free(group, m.size)
            spread, determined = float(m @ m) / s2, free * max(m.size - float(v.sum()) / s2, 0.0)
            share = determined / max(free * m.size, 1.0)
            score[index] = spread - determined + pull
            slope[index] = 2.0 * max(share * max(spread, determined), abs(spread - determined)) + weak
            if group.name == "reply":
                score[index], slope[index] = score[index] + sums[1, 0], slope[index] + sums[1, 1]
        return score, slope

    def score_slope(self, index: int, log_sd: FloatArray, point: Point, variance: Point) -> float:
        """Return the rate at which a group's score decreases with its log SD, for fixed means.

        Parameters
        ----------
        index : int
            Index of the log SD.
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        point : Point
            Means of the parameters.
        variance : Point
            Variances of the parameters.

        Returns
        -------
        float
            The rate; the variances follow the SD.
        """
        group, s2 = self._every()[index], np.exp(2.0 * log_sd[index])
        m, v = self._members(group, point, variance)
        open_ = v / s2  # the share of each effect that the data leave open
        told = self._free(group, m.size) * float((open_ * (1.0 - open_)).sum())
        return float(2.0 * (m @ m) / s2 + 2.0 * told + group.width**-2.0)

    def score_gradient(self, index: int, pull: Point) -> Point:
        """Return the derivative of a group's score with respect to the means.

        Parameters
        ----------
        index : int
            Index of the log SD.
        pull : Point
            The result of `pull`.

        Returns
        -------
        Point
            The derivative, without effects that do not inform the SD.
        """
        group, phi = self._every()[index], pull.phi.copy()
        if group.name == "reply":
            assert self.again is not None  # noqa: S101 - told with the replies
            phi[:, group.phi] *= self.again
        elif group.name == "log_discrimination":
            own = self._own
            phi[own, group.phi] -= phi[own, group.phi].sum(axis=0) / max(np.count_nonzero(own), 1)
        else:
            return pull
        return Point(pull.z, phi)

    def gradient_shift(self, index: int, log_sd: FloatArray, point: Point) -> Point:
        """Return the derivative of the log posterior's gradient with respect to a log SD.

        Parameters
        ----------
        index : int
            Index of the log SD.
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        point : Point
            Means of the parameters.

        Returns
        -------
        Point
            The derivative: a wider prior pulls the means less.
        """
        group, z, phi = self._every()[index], np.zeros_like(point.z), np.zeros_like(point.phi)
        let_go = 2.0 * np.exp(-2.0 * log_sd[index])
        if group.z is not None:
            z[group.z] = let_go * point.z[group.z]
        if group.phi is not None:
            own = self._own
            phi[own, group.phi] = let_go * point.phi[own, group.phi]
        return Point(z, phi)

    def moved(self, log_sd: FloatArray, step: FloatArray, farthest: float) -> FloatArray:
        """Return the log SDs after a step.

        Parameters
        ----------
        log_sd, step : ndarray of float, shape (L,)
            Log SDs and step.
        farthest : float
            Largest change of a log SD.

        Returns
        -------
        ndarray of float, shape (L,)
            The log SDs within their limits.
        """
        new = log_sd.copy()
        for index in self.learnable:
            new[index] += np.clip(step[index], -farthest, farthest)
        return self.within(new)

    def within(self, log_sd: FloatArray) -> FloatArray:
        """Return the log SDs, limited to their ranges where they are estimated.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        ndarray of float, shape (L,)
            The limited log SDs.
        """
        new = log_sd.copy()
        for index in self.learnable:
            new[index] = np.clip(new[index], *self.limits(index))
        return new

    def at_limit(self, index: int, log_sd: FloatArray, score: float) -> bool:
        """Return whether a log SD is at a limit that its score would exceed.

        Parameters
        ----------
        index : int
            Index of the log SD.
        log_sd : ndarray of float, shape (L,)
            The log SDs.
        score : float
            The score of the log SD.

        Returns
        -------
        bool
            True at an active limit.
        """
        least, most = self.limits(index)
        return bool((score > 0.0 and log_sd[index] >= most) or (score < 0.0 and log_sd[index] <= least))

    def at_largest(self, log_sd: FloatArray) -> tuple[str, ...]:
        """Return the names of the groups whose estimated SD is the largest allowed one.

        Parameters
        ----------
        log_sd : ndarray of float, shape (L,)
            The log SDs.

        Returns
        -------
        tuple of str
            The names, in the order of the groups.
        """
        every = self._every()
        return tuple(every[k].name for k in self.learnable if log_sd[k] >= self.limits(k)[1] - _AT)

    def limits(self, index: int) -> tuple[float, float]:
        """Return the range of a log SD.

        Parameters
        ----------
        index : int
            Index of the log SD.

        Returns
        -------
        (float, float)
            Least and largest value.
        """
        group = self._every()[index]
        return float(np.log(LEAST)), float(np.log(group.most * group.sd))

    @property
    def _own(self) -> BoolArray:
        """(J,) the slots of a single prompt."""
        own: BoolArray = np.arange(self.shape[0]) != self.shared
        return own

    def _free(self, group: Group, count: int) -> float:
        """The share of so many members that is free to vary: of deviations from their mean, all but one.

        Of their variances as much is taken, as if they were independent: what they have in common counts as their own,
        .006 to .008 of a member too much on boards of 100 prompts, up to .2 on those of 2 to 5.
        """
        return 1.0 - 1.0 / count if group.name == "log_discrimination" and count else 1.0

    def _members(self, group: Group, point: Point, variance: Point) -> tuple[FloatArray, FloatArray]:
        """Means and variances of what a group's SD is learned from, each of a vector."""
        if group.z is not None:
            return point.z[group.z], variance.z[group.z]
        if group.name == "reply":
            own = self.again
            assert own is not None  # noqa: S101 - told with the replies
            return point.phi[:, group.phi][own], variance.phi[:, group.phi][own]
        m, v = point.phi[self._own, group.phi], variance.phi[self._own, group.phi]
        if group.name == "log_discrimination":
            m = m - m.sum(axis=0) / max(len(m), 1)
        return m.ravel(), v.ravel()
