"""Fit with each group of redundant prompts as one prompt, and the change of the standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from irt_engine.agreement.prompt_redundancy import merge_prompts, redundant_prompts
from irt_engine.arrays import IntArray
from irt_engine.fitting.everyday import FitResult
from irt_engine.posterior.posterior import Posterior
from irt_engine.posterior.warm_start import WarmStart
from irt_engine.responses.table import ResponseTable

Fit = Callable[[ResponseTable, WarmStart | None], FitResult]
_OF_PROMPTS = ("discrimination", "discrimination_se", "thresholds", "thresholds_se")
_OF_TIERS = ("tier_discrimination", "tier_discrimination_se", "reply", "reply_se")


@dataclass(frozen=True, slots=True)
class MergedPrompts:
    """Store the groups of redundant prompts that a fit merged, and what that changed.

    Parameters
    ----------
    groups : tuple of tuple of str
        Groups of two or more prompts.
    se_before, se_after : float
        Mean standard error of the abilities (of theta for model pair) with all prompts, and with merged ones.
    """

    groups: tuple[tuple[str, ...], ...]
    se_before: float
    se_after: float

    @property
    def change(self) -> float:
        """Return the relative change of the mean standard error; 0.1 means a tenth wider."""
        return self.se_after / self.se_before - 1.0 if self.se_before > 0.0 else 0.0


def merged_fit(
    table: ResponseTable, fit: Fit, start: WarmStart | None = None, groups: Sequence[Sequence[str]] | None = None
) -> tuple[FitResult, MergedPrompts]:
    """Fit the votes with each group of redundant prompts as one prompt.

    The table is fitted twice, because the change of the standard errors is reported. If two prompts ask the same, their
    votes are not independent, so standard errors mostly rise.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    fit : callable
        Fits a table from a warm start.
    start : WarmStart, optional
        The end of an earlier fit.
    groups : sequence of sequence of str, optional
        The groups; None finds them with `redundant_prompts`.

    Returns
    -------
    tuple of (FitResult, MergedPrompts)
        The posterior, in which the members of a group have equal estimates, with the warm start of a fit of all
        prompts; and the groups.

    Raises
    ------
    InvalidResponses
        If a name of a group is unknown or in two groups.

    References
    ----------
    J. Sedoc and L. Ungar (2020), Item response theory for efficient human evaluation of chatbots, Eval4NLP, 21-33,
    section 6.2.
    """
    found = redundant_prompts(table).groups if groups is None else tuple(tuple(group) for group in groups)
    merged = merge_prompts(table, found)
    plain = fit(table, start)
    before = _mean_se(plain.posterior)
    if not found:
        return plain, MergedPrompts((), before, before)
    posterior = fit(merged, plain.warm_start).posterior
    whole = _of_all(posterior, table.prompts, _places(table, merged, found))
    return replace(plain, posterior=whole), MergedPrompts(found, before, _mean_se(posterior))


def _mean_se(posterior: Posterior) -> float:
    return float((posterior.se if posterior.chatbots else posterior.theta_se).mean())


def _places(table: ResponseTable, merged: ResponseTable, groups: Sequence[Sequence[str]]) -> IntArray:
    """(J,) the merged prompt of each prompt."""
    number = {name: place for place, name in enumerate(merged.prompts)}
    for group in groups:
        number |= dict.fromkeys(group, next(number[name] for name in group if name in number))
    return np.array([number[name] for name in table.prompts], dtype=np.int64)


def _of_all(posterior: Posterior, prompts: tuple[str, ...], place: IntArray) -> Posterior:
    """Return the posterior with the estimates of every prompt."""
    names = [name for name in (*_OF_PROMPTS, *_OF_TIERS) if getattr(posterior, name).size]
    return replace(posterior, prompts=prompts, **{name: getattr(posterior, name)[place] for name in names})
