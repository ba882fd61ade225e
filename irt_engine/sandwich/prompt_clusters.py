"""Bradley-Terry abilities with a sandwich covariance by prompt: what a researcher can set beside a board.

The likelihood takes all votes as independent, and knows neither prompts, replies nor annotators. The covariance allows
for votes on one prompt being alike, whatever the cause (`pair_counts`). It needs many prompts. Abilities are log odds
of votes averaged over prompts, as those of boards in marginal logits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, frozen
from irt_engine.errors import InvalidResponses
from irt_engine.responses.cells import low_to_high
from irt_engine.responses.table import ResponseTable
from irt_engine.sandwich.pair_counts import PairCounts, sandwich


@dataclass(frozen=True, slots=True, eq=False)
class PromptSandwich:
    """Store Bradley-Terry abilities with their covariance by prompt.

    Parameters
    ----------
    chatbots : tuple of str, length M
        Names of the chatbots, as in the table.
    ability : ndarray of float, shape (M,)
        Abilities in logits, with mean 0.
    covariance : ndarray of float, shape (M, M)
        Their sandwich covariance by prompt.
    threshold : float
        Threshold of ties; 0 without ties.
    prompts : int
        Number of prompts with votes, G.
    """

    chatbots: tuple[str, ...]
    ability: FloatArray
    covariance: FloatArray
    threshold: float
    prompts: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ability", frozen(self.ability, np.float64))
        object.__setattr__(self, "covariance", frozen(self.covariance, np.float64))

    @property
    def se(self) -> FloatArray:
        """Return the standard errors of the abilities, shape (M,)."""
        se: FloatArray = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return se


def prompt_sandwich(table: ResponseTable) -> PromptSandwich:
    """Return Bradley-Terry abilities with a sandwich covariance by prompt.

    Parameters
    ----------
    table : ResponseTable
        The votes.

    Returns
    -------
    PromptSandwich
        Abilities and covariance.

    Raises
    ------
    InvalidResponses
        If there are fewer than two prompts (``too_few_prompts``).
    NotIdentified
        If all votes are ties, or comparisons do not connect the chatbots.
    DidNotConverge
        If the equations have no solution.

    References
    ----------
    R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block designs, Biometrika 39, 324-345.
    P. V. Rao and L. L. Kupper (1967), Ties in paired-comparison experiments, Journal of the American Statistical
    Association 62, 194-204.
    K.-Y. Liang and S. L. Zeger (1986), Longitudinal data analysis using generalized linear models, Biometrika 73.

    Examples
    --------
    >>> table = ResponseTable.from_votes(["A"] * 4, ["B"] * 4, [1, 1, 2, 2], [-1, 1, -1, -1])
    >>> prompt_sandwich(table).se.round(2)
    array([0.67, 0.67])
    """
    pairs = _pair_counts(table)
    if pairs.clusters < 2:
        raise InvalidResponses(
            "all votes are on one prompt", code="too_few_prompts", hint="a sandwich by prompt needs two or more"
        )
    pairs.check("comparisons")
    ability, covariance, threshold = sandwich(pairs)
    return PromptSandwich(table.chatbots, ability, covariance, threshold, pairs.clusters)


def _pair_counts(table: ResponseTable) -> PairCounts:
    """Return the votes of each pair on each prompt."""
    M = len(table.chatbots)
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    _, prompt = np.unique(table.prompt, return_inverse=True)
    cells, cell = np.unique((prompt * M + low) * M + high, return_inverse=True)
    toward, _ = low_to_high(table)
    counts = np.bincount(3 * cell + toward + 1, minlength=3 * len(cells)).reshape(-1, 3).astype(np.float64)
    group, pair = np.divmod(cells, M * M)
    return PairCounts(table.chatbots, pair // M, pair % M, np.zeros(len(cells), np.int64), group, counts)
