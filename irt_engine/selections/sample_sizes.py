"""Turns that a study of selections needs, by setting.

| setting | meaning | test | difference |
|---|---|---|---|
| pm-soba | two chatbots, select one best | binomial about 0.5 | win rate minus 0.5: half the gap of the two win rates |
| pm-sata | two chatbots, select all appropriate | McNemar | gap of the two win rates |
| mm-soba | several chatbots, select one best | Pearson's chi-square | largest gap of win rates |
| mm-sata | several chatbots, select all appropriate | Cochran's Q | largest gap of win rates |
| sm | one chatbot, appropriate or not | binomial about the baseline | share minus baseline |

Sizes count independent turns. Multiply by the design effect where turns of one conversation are alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from irt_engine.errors import InvalidResponses
from irt_engine.power.experiment_sizes import binomial_size, mcnemar_size
from irt_engine.power.several_chatbots import chi_square_size, cochran_size
from irt_engine.selections.analysis import BASELINE
from irt_engine.selections.tables import Selections
from irt_engine.significance.argument_checks import check_count

SETTINGS = ("pm-soba", "pm-sata", "mm-soba", "mm-sata", "sm")
DISCORDANCE = 0.85  # share of turns in which one of two chatbots alone is selected, of the published sample sizes
MOST_CHATBOTS = 100
_ROUNDS = 1_000  # turns per pattern of the pilot that stands for a shape; only ratios matter

_OPTIONS = {  # what each setting uses besides difference, alpha and power
    "pm-soba": (),
    "pm-sata": ("discordance", "pilot"),
    "mm-soba": ("chatbots", "pilot"),
    "mm-sata": ("chatbots", "discordance", "pilot"),
    "sm": ("baseline", "pilot"),
}


@dataclass(frozen=True, slots=True)
class TurnDesign:
    """Describe the difference that a study should find.

    Parameters
    ----------
    difference : float
        Smallest relevant difference of shares, as the table of this module defines it for each setting.
    alpha : float
        Two-sided significance level.
    power : float
        Probability of finding the difference.
    baseline : float, optional
        Share under the null hypothesis (sm).
    discordance : float, optional
        Share of turns in which one of two chatbots alone is selected (pm-sata; mm-sata without pilot).
    chatbots : int, optional
        Number of chatbots k, in place of a pilot (mm-soba, mm-sata).
    pilot : Selections, optional
        Turns of a small study; they give the shape of the win rates, the discordance, or the baseline.
    """

    difference: float
    alpha: float = 0.05
    power: float = 0.8
    baseline: float | None = None
    discordance: float | None = None
    chatbots: int | None = None
    pilot: Selections | None = None


@dataclass(frozen=True, slots=True)
class TurnSize:
    """Store the number of turns that a study needs, with its assumptions.

    Parameters
    ----------
    setting : str
        One of `SETTINGS`.
    turns : int
        Number of independent turns.
    assumptions : dict of str to object
        Numbers and texts by name, such as the test, alpha, power and the discordance.
    """

    setting: str
    turns: int
    assumptions: dict[str, Any]


def turns_needed(setting: str, design: TurnDesign) -> TurnSize:
    """Return the number of turns that a setting needs.

    Parameters
    ----------
    setting : {"pm-soba", "pm-sata", "mm-soba", "mm-sata", "sm"}
        Pairwise-model, multi-model or single-model; select one best or select all appropriate.
    design : TurnDesign
        The difference that the study should find.

    Returns
    -------
    TurnSize
        The number of turns and its assumptions.

    Raises
    ------
    InvalidResponses
        If an option does not belong to the setting, is missing, or is outside its range.
    NotIdentified
        If the pilot's win rates are all equal.

    Examples
    --------
    >>> [turns_needed(setting, TurnDesign(0.1)).turns for setting in ("pm-soba", "pm-sata", "sm")]
    [196, 667, 126]
    """
    if setting not in SETTINGS:
        raise InvalidResponses(
            f"{setting!r} is not a setting", code="bad_setting", hint=f"use one of {', '.join(SETTINGS)}"
        )
    _check_options(setting, design)
    turns, own = _RULES[setting](design)
    common = {"difference": design.difference, "alpha": design.alpha, "power": design.power}
    return TurnSize(setting, turns, {**common, **own})


_Found = tuple[int, dict[str, Any]]


def _pm_soba(design: TurnDesign) -> _Found:
    turns = binomial_size(design.difference, alpha=design.alpha, power=design.power)
    return turns, {"test": "binomial", "null": 0.5, "difference_of": "win rate minus 0.5"}


def _sm(design: TurnDesign) -> _Found:
    baseline, source = (BASELINE if design.baseline is None else design.baseline), {}
    if design.pilot is not None:
        _check_width(design.pilot, "sm")
        baseline = float(design.pilot.selected[0] / design.pilot.turns)
        source = {"pilot_turns": design.pilot.turns}
    turns = binomial_size(design.difference, null=baseline, alpha=design.alpha, power=design.power)
    return turns, {"test": "binomial", "baseline": baseline, "difference_of": "share minus baseline", **source}


def _pm_sata(design: TurnDesign) -> _Found:
    discordance, source = (DISCORDANCE if design.discordance is None else design.discordance), {}
    if design.pilot is not None:
        _check_width(design.pilot, "pm-sata")
        only_a, only_b, _, _ = design.pilot.pair(0, 1)
        discordance = (only_a + only_b) / design.pilot.turns
        source = {"pilot_turns": design.pilot.turns}
    turns = mcnemar_size(design.difference, discordance=discordance, alpha=design.alpha, power=design.power)
    return turns, {"test": "McNemar", "discordance": discordance, "difference_of": "win rates", **source}


def _mm_soba(design: TurnDesign) -> _Found:
    counts, source = _shape(design)
    turns = chi_square_size(abs(design.difference), counts, alpha=design.alpha, power=design.power)
    return turns, {"test": "Pearson's chi-square", "difference_of": "largest gap of win rates", **source}


def _mm_sata(design: TurnDesign) -> _Found:
    named = {"test": "Cochran's Q", "difference_of": "largest gap of win rates"}
    if design.pilot is not None:
        _, source = _shape(design)
        turns = cochran_size(abs(design.difference), design.pilot.rows, alpha=design.alpha, power=design.power)
        return turns, {**named, **source}
    counts, source = _shape(design)
    discordance = _mean_discordance(design, len(counts))
    one_best = chi_square_size(abs(design.difference), counts, alpha=design.alpha, power=design.power)
    # Let s = sum (p_i - mean p)^2. A turn adds k s to the noncentrality of the chi-square.
    # It adds k (k - 1) s / d to that of Q, where d = E[u (k - u)] is the sum of the discordances of all pairs.
    return math.ceil(one_best * len(counts) * discordance / 2.0), {**named, "discordance": discordance, **source}


def _mean_discordance(design: TurnDesign, k: int) -> float:
    """Return the mean discordance of all pairs: the given one, or the largest possible (half selected in each turn)."""
    largest = (k // 2) * (k - k // 2) / (k * (k - 1) / 2)
    if design.discordance is None:
        return largest
    mcnemar_size(design.difference, discordance=design.discordance, alpha=design.alpha, power=design.power)  # checks
    if design.discordance > largest:
        raise InvalidResponses(
            f"the mean discordance of {k} chatbots is at most {largest:.3f}, not {design.discordance:g}",
            code="bad_discordance",
            hint="give the mean over all pairs of chatbots",
        )
    return design.discordance


_RULES = {"pm-soba": _pm_soba, "pm-sata": _pm_sata, "mm-soba": _mm_soba, "mm-sata": _mm_sata, "sm": _sm}


def _shape(design: TurnDesign) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """Return win counts whose shape the true win rates should have: the pilot's, or the least favourable."""
    if design.pilot is not None:
        names, won = design.pilot.chatbots, design.pilot.selected
        if len(names) < 2:
            raise InvalidResponses(
                "the pilot has a single chatbot", code="bad_pilot", hint="give a pilot of several chatbots"
            )
        rates = {name: round(float(x) / design.pilot.turns, 6) for name, x in zip(names, won, strict=True)}
        return won, {"chatbots": len(names), "pilot_turns": design.pilot.turns, "pilot_win_rates": rates}
    k = check_count(design.chatbots, "chatbots", least=2)
    if k > MOST_CHATBOTS:
        raise InvalidResponses(f"{k} chatbots", code="too_many", hint=f"give at most {MOST_CHATBOTS}")
    counts = np.full(k, _ROUNDS)
    counts[0] += 1
    counts[-1] -= 1
    return counts, {"chatbots": k, "shape": "one above and one below, the others between (least favourable)"}


def _check_options(setting: str, design: TurnDesign) -> None:
    for name in ("baseline", "discordance", "chatbots", "pilot"):
        if getattr(design, name) is not None and name not in _OPTIONS[setting]:
            raise InvalidResponses(
                f"{setting} has no {name}", code="unused_option", hint=f"leave {name} out, or choose another setting"
            )
    given = [name for name in ("baseline", "discordance", "chatbots") if getattr(design, name) is not None]
    if design.pilot is not None and given:
        raise InvalidResponses(
            f"{given[0]} is given twice: directly and by the pilot", code="conflict", hint="give one of the two"
        )
    if setting.startswith("mm") and design.pilot is None and design.chatbots is None:
        raise InvalidResponses(
            f"{setting} needs a pilot: how many turns depends on how the win rates are spread",
            code="no_pilot",
            hint="give a pilot of some 150 turns, or the number of chatbots to plan for the least favourable spread",
        )


def _check_width(pilot: Selections, setting: str) -> None:
    expected = 1 if setting == "sm" else 2
    if len(pilot.chatbots) != expected:
        raise InvalidResponses(
            f"the pilot has {len(pilot.chatbots)} chatbots, and {setting} has {expected}",
            code="bad_pilot",
            hint=f"give a pilot of {expected}",
        )
