"""Scales: the SDs of the normal effects, given or learned from the data themselves (empirical Bayes).

A group of effects x_1..x_n ~ N(0, s^2) with posterior means m and variances v has the marginal likelihood's derivative
by log s equal to sum m^2 / s^2 - gamma, where gamma = n - sum v / s^2 counts the effects that the data determine
(MacKay 1992). Its root is iterated together with the fit. The prior of log s is normal around the given SD:
what few votes say nothing about stays as given, an effect that is not there shrinks to about its standard error, and
never to nothing, where the iteration would creep and the fit would be too sure.

The SDs of replies and cells are learned from those alone that were judged again, by two votes or more. Judged once, an
effect cannot be told from what every vote leaves open. What a score says of its SD then rests on how well variances are
approximated, and on the priors of abilities and gaps: boards without ties, on which replies had no effect, were led to
the limit of their SD, in hundreds of rounds. At the true SD the score of any subset that its votes did not choose is 0
on average, so that nothing but precision is lost; where nothing was judged again an SD stays as given. (Where a first
vote decides whether there is a second one, as in tables in which only disagreement was looked at again, it is not 0.)

The SD of log discriminations is learned from how far they are apart: from their deviations from their own mean, of
which n - 1 are free. The prior's mean, 0, is only where their unit is: votes that say little of abilities, or more than
replies may have by their prior, move all of them one way, and an SD that was learned from that shift let go of it, and
grew with it to its limit. Of coin tosses without ties, three boards in ten had no end in 2,000 rounds. Their limit is
half as far as others': an SD of 1 is a factor of 7 either way, and beyond it the means hardly settle.

They must not be learned around a joint mode: there, discriminations and abilities chase each other to 0 and infinity.
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
_PINNED = 1e6  # precision of what a definition fixes


@dataclass(frozen=True, slots=True)
class Group:
    """Effects that share an SD: a part of z, or columns of phi."""

    name: str
    sd: float  # given; where learning begins, and the middle of its prior
    learned: bool
    width: float = TIGHT  # of the prior of the log SD
    z: slice | None = None
    phi: slice | None = None
    most: float = MOST  # times the given SD


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """All groups of a problem, and the slot of pooled prompts (-1: there is none). Its parameters are the typical
    ones by definition; over what each prompt in it may have of its own, its votes are averaged (`average`)."""

    groups: tuple[Group, ...]
    cell: Group | None  # the cell effect of votes: integrated out, so it has no place in z or phi
    shaft: int
    shape: tuple[int, int]  # of phi
    shared: int
    replies: BoolArray | None = None  # (J, R) which of the group `reply` are there; None without such a group
    again: BoolArray | None = None  # (J, R) from which of them their SD is learned: those that were judged again

    @property
    def learned(self) -> bool:
        """Whether any SD is learned."""
        return any(group.learned for group in self._every())

    def as_given(self) -> Effects:
        """The same effects with their SDs as given."""
        fixed = tuple(replace(group, learned=False) for group in self.groups)
        return replace(self, groups=fixed, cell=replace(self.cell, learned=False) if self.cell else None)

    def _every(self) -> list[Group]:
        return [*self.groups, *([self.cell] if self.cell else [])]

    def start(self) -> FloatArray:
        """log SDs as given, one for each group and last the cell effect's if there is one."""
        return np.log([max(group.sd, LEAST) for group in self._every()])

    def resumed(self, log_sd: FloatArray) -> FloatArray:
        """The log SDs of an earlier fit where they are learned, and as given where they are not."""
        start = self.start()
        start[self.learnable] = log_sd[self.learnable]
        return self.within(start)

    def before_replies(self) -> FloatArray:
        """As `start`, but with next to no effects of replies: a joint mode would set them to what suits the votes best,
        and be far from the average."""
        log_sd = self.start()
        if self.replies is not None:
            log_sd[self._of_replies] = np.log(LEAST)
        return log_sd

    def precision(self, log_sd: FloatArray) -> Precision:
        """The prior's, at these log SDs."""
        z, phi = np.ones(self.shaft), np.ones(self.shape)
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
        """SD of the cell effect on the logit scale; 0 without one."""
        return float(np.exp(log_sd[-1])) if self.cell else 0.0

    def reply_sd(self, log_sd: FloatArray) -> float:
        """SD of the replies' effects; 0 without them."""
        return float(np.exp(log_sd[self._of_replies])) if self.replies is not None else 0.0

    def slope_sd(self, log_sd: FloatArray) -> float:
        """SD of the log discriminations."""
        return float(np.exp(log_sd[[group.name for group in self.groups].index("log_discrimination")]))

    def trust(self, precision: FloatArray) -> FloatArray:
        """(J, W) how far variances at the mean are believed (`learning`), where the prior's precision is this: of
        replies the less, the wider their effects."""
        trust = np.ones_like(precision)
        if self.replies is not None:
            given = self.groups[self._of_replies]
            assert given.phi is not None  # noqa: S101 - replies have columns of phi
            wide = 1.0 / (2.0 * given.sd**2 * precision[:, given.phi])
            trust[:, given.phi] = (1.0 + wide) ** -0.5
        return trust

    def pooled_sd(self, log_sd: FloatArray) -> float:
        """SD of the cell effect of pooled prompts: each was seen in a single cell, whose replies met nobody else."""
        return float(np.sqrt(self.cell_sd(log_sd) ** 2 + 2.0 * self.reply_sd(log_sd) ** 2))

    def shared_out(self, log_sd: FloatArray, own: FloatArray, pooled: FloatArray) -> FloatArray:
        """(2, 2) sums by the log SDs of the cell effect and of replies, from those by the cell effect's (2,): of the
        slots of their own, and of the pooled one by `pooled_sd`."""
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
        """Which log SDs are learned."""
        return [index for index, group in enumerate(self._every()) if group.learned]

    def is_cell(self, index: int) -> bool:
        """Whether a log SD is the cell effect's."""
        return index == len(self.groups)

    def scores(
        self, log_sd: FloatArray, point: Point, z_variance: FloatArray, phi_variance: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Score (L,) of every log SD, its prior included, and how steeply it falls; 0 and 1 of those as given.

        From means, variances (S,), (J, W) and the sums (2, 2) of `shared_out`: the votes' scores by log SD, and the
        sums of squares of that. The score of a group falls by 2 sum m^2 / s^2 where the data determine its effects, and
        by about twice its own size where they hardly do.
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

    def own_slope(self, index: int, log_sd: FloatArray, point: Point, variance: Point) -> float:
        """How steeply a group's score falls by its log SD while the means stand still and the variances follow."""
        group, s2 = self._every()[index], np.exp(2.0 * log_sd[index])
        m, v = self._members(group, point, variance)
        open_ = v / s2  # the share of each effect that the data leave open
        told = self._free(group, m.size) * float((open_ * (1.0 - open_)).sum())
        return float(2.0 * (m @ m) / s2 + 2.0 * told + group.width**-2.0)

    def reads(self, index: int, pull: Point) -> Point:
        """By how much a group's score changes as the means do: its `pull`, of what its SD is learned from."""
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

    def pull(self, index: int, log_sd: FloatArray, point: Point) -> Point:
        """By how much the log posterior's gradient changes as a group's log SD does: its prior lets go of the means."""
        group, z, phi = self._every()[index], np.zeros_like(point.z), np.zeros_like(point.phi)
        let_go = 2.0 * np.exp(-2.0 * log_sd[index])
        if group.z is not None:
            z[group.z] = let_go * point.z[group.z]
        if group.phi is not None:
            own = self._own
            phi[own, group.phi] = let_go * point.phi[own, group.phi]
        return Point(z, phi)

    def moved(self, log_sd: FloatArray, step: FloatArray, farthest: float) -> FloatArray:
        """The log SDs after a step, none of them moved by more than `farthest`."""
        new = log_sd.copy()
        for index in self.learnable:
            new[index] += np.clip(step[index], -farthest, farthest)
        return self.within(new)

    def within(self, log_sd: FloatArray) -> FloatArray:
        """The log SDs, those that are learned between their limits."""
        new = log_sd.copy()
        for index in self.learnable:
            new[index] = np.clip(new[index], *self.limits(index))
        return new

    def stands(self, index: int, log_sd: FloatArray, score: float) -> bool:
        """Whether a log SD stands at a limit beyond which its score would take it."""
        least, most = self.limits(index)
        return bool((score > 0.0 and log_sd[index] >= most) or (score < 0.0 and log_sd[index] <= least))

    def limits(self, index: int) -> tuple[float, float]:
        """The least and the largest log SD that a group may have."""
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
