"""Effects of annotators: carelessness, bias toward a side, habit of ties, and preferences for chatbots.

A vote of annotator a is careless with probability c_a. Then it is drawn from the annotator's own shares g_a of
outcomes. Otherwise it follows the graded response model of a comparison of chatbots i (low) and k (high), with

    edges m + h and m - h,   m = alpha (theta + s_a shown + d_ak - d_ai),   h = alpha b exp(t_a).

`shown` is 1 if the high chatbot was shown first and -1 if the low one was. The effects are partially pooled:

    c_a ~ Beta(mean strength, (1 - mean) strength),   s_a ~ N(0, side_sd^2),   t_a ~ N(0, tie_sd^2),
    d_ak = 0 with probability 1 - PREFERRED, otherwise N(0, PREFERENCE_SD^2).

It is a mixture in the manner of Dawid and Skene (1979, Applied Statistics 28, 20-28) and of MACE (Hovy et al. 2013),
with the item response model in place of a true label. The preferences have a spike and a slab (Mitchell and Beauchamp
1988, Journal of the American Statistical Association 83, 1023-1032).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, frozen

PREFERENCE_SD = 1.5  # of a preference that exists, in units of ability
PREFERRED = 0.01  # share of pairs of annotator and chatbot with a preference
LEAST_VOTES = 5  # of the median annotator, from which annotators have effects by default

_WHOLE = ("annotator", "votes", "preferring", "preferred")


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatorEffects:
    """Store the effects of K annotators, and the weights of n votes.

    Parameters
    ----------
    annotator : ndarray of int, shape (K,)
        Numbers of the annotators in the table, ascending.
    votes : ndarray of int, shape (K,)
        Number of votes.
    careless, careless_se : ndarray of float, shape (K,)
        Posterior mean and SD of the share of careless votes.
    shares : ndarray of float, shape (K, 3)
        Outcomes of careless votes: the reply shown first wins, tie, the other wins. Without a known order the first
        and the last are those of low and high chatbots together.
    side, side_se : ndarray of float, shape (K,)
        Bias toward the reply shown first, in units of ability, beyond that of all annotators.
    tie, tie_se : ndarray of float, shape (K,)
        Log width of the annotator's tie category, relative to all annotators.
    preferring, preferred : ndarray of int, shape (D,)
        Index 0..K - 1 of the annotator, and number of the chatbot, of each pair that met.
    preference : ndarray of float, shape (D,)
        Preference, if there is one, in units of ability.
    preference_probability : ndarray of float, shape (D,)
        Probability that there is one.
    careful : ndarray of float, shape (n,)
        Probability that a vote is careful; 1 for anonymous votes.
    information : ndarray of float, shape (n,)
        Information of a vote, relative to that of a careful vote of an annotator without effects.
    mean, strength, side_sd, tie_sd : float
        Estimated scales.
    """

    annotator: IntArray
    votes: IntArray
    careless: FloatArray
    careless_se: FloatArray
    shares: FloatArray
    side: FloatArray
    side_se: FloatArray
    tie: FloatArray
    tie_se: FloatArray
    preferring: IntArray
    preferred: IntArray
    preference: FloatArray
    preference_probability: FloatArray
    careful: FloatArray
    information: FloatArray
    mean: float
    strength: float
    side_sd: float
    tie_sd: float

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, frozen(value, np.int64 if name in _WHOLE else np.float64))

    def expected_preference(self, annotator: IntArray, chatbot: IntArray) -> FloatArray:
        """Return the posterior means of preferences.

        Parameters
        ----------
        annotator : ndarray of int, shape (m,)
            Indices 0..K - 1 of annotators; others have no preference.
        chatbot : ndarray of int, shape (m,)
            Numbers of chatbots.

        Returns
        -------
        ndarray of float, shape (m,)
            Means; 0 for pairs that never met.
        """
        width = 1 + max(int(self.preferred.max(initial=0)), int(chatbot.max(initial=0)))
        known, wanted = self.preferring * width + self.preferred, annotator * width + chatbot
        place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
        mean = np.append(self.preference * self.preference_probability, 0.0)
        met = known[place] == wanted if len(known) else np.zeros(len(wanted), bool)
        return mean[np.where(met, place, len(known))]


def annotators_assessable(annotator: IntArray) -> bool:
    """Return whether annotators have effects by default: at least two, with five votes each in the median.

    Parameters
    ----------
    annotator : ndarray of int, shape (n,)
        Annotator of each vote; -1 if unknown.

    Returns
    -------
    bool
        True for a fit with annotator effects.
    """
    votes = np.bincount(annotator[annotator >= 0])
    votes = votes[votes > 0]
    return len(votes) > 1 and float(np.median(votes)) >= LEAST_VOTES
