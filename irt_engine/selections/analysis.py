"""Win rates, ties and tests of selections, with turns taken as independent.

| setting | chatbots | all together | pairs |
|---|---|---|---|
| any | 1 | binomial test against a fixed share | |
| SOBA | 2 | binomial | the same |
| SOBA | 3 or more | Pearson's chi-square | binomial, of the turns that one of the two won |
| SATA | 2 | McNemar | the same |
| SATA | 3 or more | Cochran's Q | McNemar |

`clustered` has the tests that allow for turns of one conversation being alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from irt_engine.selections.tables import Selections
from irt_engine.significance import Significance, binomial, chi_square, cochran_q, holm, mcnemar
from irt_engine.significance.argument_checks import check_method
from irt_engine.significance.share_intervals import IntervalMethod, share_interval

McNemarMethod = Literal["chi_square", "corrected", "exact"]
BASELINE = 0.8  # share of appropriate replies that a single chatbot is tested against


@dataclass(frozen=True, slots=True)
class WinRate:
    """Store the share of turns in which a chatbot's reply was selected.

    Parameters
    ----------
    chatbot : str
        Name of the chatbot.
    selected : int
        Number of turns in which its reply was selected.
    rate : float
        The share, from 0 to 1.
    lower, upper : float
        Bounds of its confidence interval.
    """

    chatbot: str
    selected: int
    rate: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class PairTest:
    """Store the comparison of two chatbots in the turns that showed both.

    Parameters
    ----------
    a, b : str
        Names of the two chatbots.
    only_a, only_b : int
        Number of turns in which only A, or only B, was selected.
    both, neither : int
        Number of turns in which both, or neither, were selected.
    test : Significance
        The test of equal win rates; its effect is the win rate of B minus that of A.
    p_holm : float
        Its p value with Holm's correction over all pairs of the setting.
    """

    a: str
    b: str
    only_a: int
    only_b: int
    both: int
    neither: int
    test: Significance
    p_holm: float

    @property
    def tie_win(self) -> float:
        """Return the share of turns in which both were selected."""
        return self.both / self.test.n

    @property
    def tie_loss(self) -> float:
        """Return the share of turns in which neither was selected."""
        return self.neither / self.test.n


@dataclass(frozen=True, slots=True)
class SelectionAnalysis:
    """Store the analysis of one setting.

    Parameters
    ----------
    turns : int
        Number of turns n.
    win_rates : tuple of WinRate, length k
        One per chatbot, in the order of the selections.
    omnibus : Significance
        The test of all chatbots together; a single chatbot is tested against the baseline.
    pairs : tuple of PairTest, length k (k - 1) / 2
        All pairs; empty for a single chatbot.
    """

    turns: int
    win_rates: tuple[WinRate, ...]
    omnibus: Significance
    pairs: tuple[PairTest, ...]


def analyse(
    selections: Selections,
    *,
    interval: IntervalMethod = "wilson",
    method: McNemarMethod = "chi_square",
    baseline: float = BASELINE,
    level: float = 0.95,
) -> SelectionAnalysis:
    """Return win rates with intervals, the test of all chatbots, and pairwise tests with Holm's correction.

    Parameters
    ----------
    selections : Selections
        The turns of one setting.
    interval : {"wilson", "wald"}
        Intervals of the win rates.
    method : {"chi_square", "corrected", "exact"}
        McNemar's test: chi-square without or with continuity correction, or exact.
    baseline : float
        The share that a single chatbot is tested against.
    level : float
        Coverage probability of the intervals.

    Returns
    -------
    SelectionAnalysis
        The analysis. For two chatbots share_A + share_B - tie_win + tie_loss = 1.

    Raises
    ------
    InvalidResponses
        If an option is unknown or outside its range.

    Examples
    --------
    >>> found = analyse(Selections.from_counts(["A", "B"], {"10": 62, "01": 38}, one_best=True))
    >>> round(found.omnibus.p, 3)
    0.021
    """
    check_method(method, "chi_square", "corrected", "exact")
    n = selections.turns
    shares = [share_interval(int(x), n, method=interval, level=level) for x in selections.selected]
    rates = [
        WinRate(name, found.k, found.k / n, found.lower, found.upper)
        for name, found in zip(selections.chatbots, shares, strict=True)
    ]
    pairs = _pairs(selections, method)
    return SelectionAnalysis(n, tuple(rates), _omnibus(selections, pairs, baseline), pairs)


def _omnibus(selections: Selections, pairs: tuple[PairTest, ...], baseline: float) -> Significance:
    if not pairs:
        found = binomial(int(selections.selected[0]), selections.turns, null=baseline)
        return replace(found, method=f"exact binomial against {baseline:g}")
    if len(pairs) == 1:
        return pairs[0].test
    return chi_square(selections.selected) if selections.one_best else cochran_q(selections.rows)


def _pairs(selections: Selections, method: McNemarMethod) -> tuple[PairTest, ...]:
    columns = list(combinations(range(len(selections.chatbots)), 2))
    if not columns:
        return ()
    counts = [selections.pair(a, b) for a, b in columns]
    tests = [_of_winners(*parts) if selections.one_best else _mcnemar(*parts, method=method) for parts in counts]
    adjusted = holm([test.p for test in tests]).adjusted
    names = selections.chatbots
    return tuple(
        PairTest(names[a], names[b], *parts, test, float(p))
        for (a, b), parts, test, p in zip(columns, counts, tests, adjusted, strict=True)
    )


def _of_winners(only_a: int, only_b: int, both: int, neither: int) -> Significance:
    """Return the binomial test of the turns that one of the two won."""
    n = only_a + only_b + both + neither
    effect = (only_b - only_a) / n
    if only_a + only_b == 0:
        return Significance("exact binomial", 0.0, 1.0, n, effect)
    return replace(binomial(only_a, only_a + only_b), n=n, effect=effect)


def _mcnemar(only_a: int, only_b: int, both: int, neither: int, *, method: McNemarMethod) -> Significance:
    exact, corrected = method == "exact", method == "corrected"
    found = mcnemar(
        only_a, only_b, both=both, neither=neither, method="exact" if exact else "chi_square", corrected=corrected
    )
    return replace(found, method="McNemar with continuity correction") if corrected else found
