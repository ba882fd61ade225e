"""Posterior: the frozen result of a fit, and the questions that it answers.

Abilities are approximately jointly normal, so that every answer is arithmetic on their means and covariance. Units:
abilities, differences and standard errors are in logits at a typical prompt, given the other effects of the fit. Boards
of campaigns are in marginal logits (`Posterior.marginal`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.errors import EngineError, NotIdentified
from irt_engine.posterior.anchors import Anchored, anchored
from irt_engine.posterior.differences import Differences, above, differences_of, pair_variances, quantile
from irt_engine.posterior.marginal_logits import in_marginal_logits
from irt_engine.posterior.moments import PosteriorMoments
from irt_engine.posterior.plots import plot_of
from irt_engine.posterior.prediction import comparison_vote_probabilities, vote_probabilities
from irt_engine.posterior.ranks import classes_of, rank_probabilities_of
from irt_engine.posterior.simultaneous import SimultaneousDifferences, simultaneous_of
from irt_engine.posterior.storage import read_archive, write_archive
from irt_engine.posterior.summary import columns_of_summary, html_of_summary, text_of_summary
from irt_engine.posterior.warm_start import WarmStart

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Difference:
    """Store a normal difference s_b - s_a.

    Parameters
    ----------
    mean, se : float
        Posterior mean and standard error, in units of ability.
    p_better : float
        Probability that b is better.
    excludes_zero : bool
        Whether the 95 % interval excludes 0. It holds for one pair and one look; `told_apart` allows for all pairs and
        all looks.
    """

    mean: float
    se: float
    p_better: float
    excludes_zero: bool


def difference_of(mean: float, se: float) -> Difference:
    """Return the difference with this mean and standard error.

    Parameters
    ----------
    mean, se : float
        Mean and standard error of chatbots' abilities or of a comparison. Without uncertainty (se 0), equal
        chatbots have probability 1/2 and an interval of 0 alone; any other difference is certain.

    Returns
    -------
    Difference
        The difference with its probability.
    """
    z = mean / se if se > 0 else math.copysign(math.inf, mean) if mean else 0.0
    return Difference(mean, se, float(ndtr(z)), bool(abs(z) > quantile(0.95)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Posterior(PosteriorMoments):
    """Answer questions about a fitted board.

    The fields are described in `PosteriorMoments`; `fit` creates a posterior.

    Parameters
    ----------
    **fields
        The fields of `PosteriorMoments`.
    """

    def __repr__(self) -> str:
        return text_of_summary(self)

    def _repr_html_(self) -> str:
        return html_of_summary(self)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each chatbot, best first, or for each comparison (model pair).

        Parameters
        ----------
        level : float
            Probability of each interval and of the rank bounds.

        Returns
        -------
        pandas.DataFrame
            Model board: columns chatbot, rank, rank_lower, rank_upper, ability, se, lower, upper, class, judgments and
            group. Model pair: a, b, by, theta, se, lower, upper and judgments. In logits.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``), or pandas is not installed (``missing_library``).
        """
        columns = columns_of_summary(self, level)
        try:
            import pandas as pd
        except ImportError as error:
            raise EngineError(
                "frames need pandas", code="missing_library", hint="pip install 'touchstone-eval[frames]'"
            ) from error
        return pd.DataFrame(columns)

    def plot(self, kind: str = "intervals", axes: Axes | None = None) -> Axes:
        """Draw the board with matplotlib.

        Parameters
        ----------
        kind : str
            ``"intervals"``: abilities with 95 % intervals. ``"matrix"``: the probability that the chatbot of the row is
            better than that of the column. ``"densities"``: densities of the differences of neighbours in the ranking.
        axes : matplotlib.axes.Axes, optional
            Where to draw; None for a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        EngineError
            If the kind is unknown (``bad_kind``), or matplotlib is not installed (``missing_library``).
        NotIdentified
            For model pair, which has no abilities (``no_abilities``).
        """
        return plot_of(self, kind, axes)

    def difference(self, a: str, b: str) -> Difference:
        """Return the difference s_b - s_a.

        Parameters
        ----------
        a, b : str
            Names of the chatbots.

        Returns
        -------
        Difference
            Mean, standard error, probability and significance.

        Raises
        ------
        NotIdentified
            If a name is unknown, the names are equal, or the chatbots are in separate groups.
        """
        i, j = self.index(a), self.index(b)
        if i == j:
            raise NotIdentified(f"{a!r} against itself", code="self_comparison", hint="name two chatbots")
        if self.group[i] != self.group[j]:
            raise NotIdentified(
                f"{a!r} and {b!r} are in separate parts of the graph",
                code="separate_groups",
                hint="collect votes on a pair that links the two parts",
            )
        variance = pair_variances(self.covariance, np.array([i]), np.array([j]))[0]
        return difference_of(float(self.ability[j] - self.ability[i]), float(np.sqrt(variance)))

    def differences(self) -> Differences:
        """Return the differences of all pairs a < b inside the groups.

        Returns
        -------
        Differences
            Indices, means, standard errors and probabilities, (P,) each.
        """
        return differences_of(self.ability, self.covariance, self.group)

    def simultaneous(self, level: float = 0.95) -> SimultaneousDifferences:
        """Return intervals of all pairs that hold together in each group.

        The quantile of max |z| under the joint normal distribution comes from quasi-random draws with a fixed seed.

        Parameters
        ----------
        level : float
            Joint probability.

        Returns
        -------
        SimultaneousDifferences
            Intervals and adjusted p values.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``).

        References
        ----------
        T. Hothorn, F. Bretz and P. Westfall (2008), Simultaneous inference in general parametric models, Biometrical
        Journal 50, 346-363.
        """
        return simultaneous_of(self.ability, self.covariance, self.group, level)

    def rank_bounds(self, level: float = 0.95, *, simultaneous: bool = False) -> IntArray:
        """Return the rank of each chatbot within its group, and its bounds.

        The best possible rank is 1 + the number of chatbots that are better by an interval without 0. The worst
        possible rank is the group's size minus the number of those that are worse. Equal chatbots have equal ranks. The
        bounds hold for one look; those of `told_apart` hold at all looks.

        Parameters
        ----------
        level : float
            Probability.
        simultaneous : bool
            Whether the bounds of all chatbots of a group hold together, instead of each pair's.

        Returns
        -------
        ndarray of int, shape (M, 3)
            Rank, best possible rank and worst possible rank; 1 is best.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``).

        References
        ----------
        D. Al Mohamad, J. J. Goeman and E. W. van Zwet (2022), Simultaneous confidence intervals for ranks with
        application to ranking institutions, Biometrics 78, 238-247.
        """
        better = self.simultaneous(level).clearly_better if simultaneous else self._clearly_better(level)
        same = self.group[:, None] == self.group[None, :]
        rank = 1 + above(self.ability, self.covariance, self.group).sum(axis=1)
        lower = 1 + (better & same).sum(axis=0)
        upper = same.sum(axis=1) - (better & same).sum(axis=1)
        return np.stack([rank, lower, upper], axis=1)

    def _clearly_better(self, level: float) -> BoolArray:
        """(M, M): row is better than column at this level, pair by pair."""
        pairs, z = self.differences(), quantile(level)
        better = np.zeros((len(self.ability), len(self.ability)), bool)
        for up, low, high in ((1.0, pairs.b, pairs.a), (-1.0, pairs.a, pairs.b)):
            clear = up * pairs.mean > z * pairs.se
            better[low[clear], high[clear]] = True
        return better

    def rank_probabilities(self) -> FloatArray:
        """Return the probability of each rank, by quasi-random draws with a fixed seed.

        The error is about .005. The computation needs 16 M^2 bytes of memory.

        Returns
        -------
        ndarray of float, shape (M, M)
            P(chatbot has rank r + 1 in its group); rows sum to 1.
        """
        return rank_probabilities_of(self.ability, self.covariance, self.group)

    def interval_classes(self, level: float = 0.95) -> IntArray:
        """Return the class of each chatbot within its group, by overlapping intervals.

        In order of ability, the strongest chatbot opens a class. The next ones join while their upper bound reaches its
        lower bound; otherwise they open the next class. The classes of published boards are others: those of
        `told_apart`, which tests each pair and holds at all looks.

        Parameters
        ----------
        level : float
            Probability of the intervals.

        Returns
        -------
        ndarray of int, shape (M,)
            Class numbers; 1 is the strongest.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``).
        """
        return classes_of(self.ability, self.interval(level), self.group)

    def anchored(self, *, chatbot: str | None = None, value: float = 0.0) -> Anchored:
        """Return the abilities with one chatbot, or the mean of each group, at a stated value.

        Groups without the chatbot have their mean at the value. Standard errors, widths of intervals, differences and
        ranks do not change.

        Parameters
        ----------
        chatbot : str, optional
            The chatbot; None for the mean of each group.
        value : float
            The value, in units of ability.

        Returns
        -------
        Anchored
            The shifted abilities.

        Raises
        ------
        NotIdentified
            If the chatbot is unknown (``unknown_chatbot``).
        EngineError
            If the value is not finite (``bad_anchor``).
        """
        return anchored(self, None if chatbot is None else self.index(chatbot), value)

    def vote_probabilities(
        self, a: IntArray, b: IntArray, prompt: IntArray, a_first: IntArray | None = None
    ) -> FloatArray:
        """Return the probabilities of one further vote (model board).

        theta with the pair effect, the cell effect and the reply effects are integrated out. Prompts have their
        posterior means. For form net, see `votes_of_rating`.

        Parameters
        ----------
        a, b : ndarray of int, shape (n,)
            Indices of the chatbots.
        prompt : ndarray of int, shape (n,)
            Indices of the prompts; -1 for an unknown prompt, which averages over the known ones.
        a_first : ndarray of int, shape (n,), optional
            1: A is shown first, 0: B is, -1: unknown (default).

        Returns
        -------
        ndarray of float, shape (n, 3)
            P(A better), P(tie) and P(B better).

        Raises
        ------
        InvalidResponses
            If an index is invalid.
        NotIdentified
            For model pair, or chatbots in separate groups.
        """
        return vote_probabilities(self, a, b, prompt, a_first)

    def comparison_vote_probabilities(
        self, comparison: IntArray, prompt: IntArray, a_first: IntArray | None = None
    ) -> FloatArray:
        """Return the probabilities of one further vote on comparisons (any model).

        Parameters
        ----------
        comparison : ndarray of int, shape (n,)
            Indices into `comparisons`; their orientation holds.
        prompt : ndarray of int, shape (n,)
            As in `vote_probabilities`.
        a_first : ndarray of int, shape (n,), optional
            As in `vote_probabilities`.

        Returns
        -------
        ndarray of float, shape (n, 3)
            P(A better), P(tie) and P(B better).

        Raises
        ------
        InvalidResponses
            If an index is invalid.
        """
        return comparison_vote_probabilities(self, comparison, prompt, a_first)

    def marginal(self) -> Posterior:
        """Return the posterior in marginal logits, the log odds of a vote on two new replies.

        Abilities and their standard errors are divided by `scales.unit`, once. Probabilities of votes do not change.

        Returns
        -------
        Posterior
            The converted posterior.
        """
        return in_marginal_logits(self)

    def to_bytes(self, warm_start: WarmStart | None = None) -> bytes:
        """Return the posterior as a compressed archive without pickles.

        Parameters
        ----------
        warm_start : WarmStart, optional
            The warm start of the next fit, to be stored in the same archive; see `read_warm_start`.

        Returns
        -------
        bytes
            Equal posteriors give equal bytes.
        """
        return write_archive(self, warm_start)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the posterior that `to_bytes` wrote, in this release or an earlier one.

        Parameters
        ----------
        data : bytes
            The archive, with or without a warm start.

        Returns
        -------
        Posterior
            The posterior.

        Raises
        ------
        InvalidResponses
            If the bytes are anything else (``bad_bytes``).
        """
        return cls(**read_archive(data).values)
