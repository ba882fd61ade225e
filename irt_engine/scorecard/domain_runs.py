"""Runs of consecutive utterances on one domain: the domain of a conversation, and its depth.

The numbers in `unattached` stand for utterances without a subject. They neither break nor extend a run: film, none,
film is a run of two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """Consecutive utterances on one domain.

    Parameters
    ----------
    domain
        Number of the domain.
    length
        Number of utterances.
    """

    domain: int
    length: int


def domain_runs(domains: Sequence[int], unattached: Collection[int] = ()) -> list[Run]:
    """Return the runs of a conversation in their order.

    Parameters
    ----------
    domains : (n,)
        The domain of each utterance, of the user and the chatbot.
    unattached
        Domains that neither break nor extend a run.

    Returns
    -------
    list of Run

    Examples
    --------
    >>> domain_runs([3, 0, 3, 5], unattached={0})
    [Run(domain=3, length=2), Run(domain=5, length=1)]
    """
    runs: list[Run] = []
    for domain in domains:
        if domain in unattached:
            continue
        if runs and runs[-1].domain == domain:
            runs[-1] = Run(domain, runs[-1].length + 1)
        else:
            runs.append(Run(domain, 1))
    return runs


def conversation_domain(runs: Sequence[Run]) -> int | None:
    """Return the domain of the longest run, the first of equally long ones; None without runs.

    Parameters
    ----------
    runs
        Runs of a conversation in their order.

    Returns
    -------
    int or None
    """
    return max(runs, key=lambda run: run.length).domain if runs else None
