"""Annotators against whom the fit of their votes speaks.

They vote without looking, in haste or against the better reply, or prefer one chatbot without looking, alone or
together.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evalsite.chatbots.models import Version
from irt_engine import Posterior, ResponseTable
from irt_engine.agreement import NO_GOLD, Carelessness, GoldCounts, Preference, carelessness, one_sided
from scheduler.reasons import Reason


@dataclass(frozen=True, slots=True)
class EvidenceVerdict:
    """The verdict that an annotator does not judge with care, with its reason and the numbers that it rests on."""

    reason: Reason
    evidence: Mapping[str, Any]


def evidence_verdicts(
    posterior: Posterior,
    votes: ResponseTable,
    groups: Sequence[Collection[int]] = (),
    *,
    seconds: Sequence[float] | None = None,
    gold: GoldCounts = NO_GOLD,
) -> dict[int, EvidenceVerdict]:
    """Map numbers of annotators to verdicts. Annotators against whom nothing speaks are absent.

    votes: with names of `FitInput.table`. Votes on chatbots and prompts that the posterior does not know are left out.
    groups: annotators (numbers) that belong together.
    seconds: time of each vote, NaN if unknown.
    gold: results of gold items, by number.
    """
    table, keep = _known(posterior, votes)
    if not (table.annotator >= 0).any():
        return {}
    chances = posterior.vote_probabilities(table.a, table.b, table.prompt, table.a_first)
    found = one_sided(posterior, table, groups=groups, chances=chances)
    versions = Version.objects.select_related("chatbot").in_bulk(
        [int(posterior.chatbots[one.chatbot]) for one in found]
    )
    one_chatbot = {
        one.annotator: _verdict(one, versions[int(posterior.chatbots[one.chatbot])].chatbot.name) for one in found
    }
    times = None if seconds is None else np.asarray(seconds, np.float64)[keep]
    careless = _careless(carelessness(posterior, table, seconds=times, gold=gold, chances=chances))
    return {
        number: max((found[number] for found in (careless, one_chatbot) if number in found), key=_weight)
        for number in careless.keys() | one_chatbot.keys()
    }


def _weight(verdict: EvidenceVerdict) -> float:
    """Return the log10 of the likelihood ratio: of two explanations the more likely one is numbers."""
    return float(verdict.evidence.get("preferred_evidence", verdict.evidence.get("careless_evidence", 0.0)))


def _careless(found: Carelessness) -> dict[int, EvidenceVerdict]:
    """Return the verdicts on annotators who vote without looking, in haste, or against the better reply."""
    verdicts = {}
    for place in found.flagged.tolist():
        numbers: dict[str, str | int | float | Reason] = {
            "stronger": int(found.stronger[place]),
            "decided": int(found.decided[place]),
            "expected": float(found.expected[place]),
            "probability": 100.0 * float(found.probability[place]),
        }
        evidence = {"careless_evidence": float(found.log_e[place] / math.log(10.0)), **numbers}
        verdicts[int(found.annotator[place])] = EvidenceVerdict(Reason(f"votes_{found.kind[place]}", numbers), evidence)
    return verdicts


def _known(posterior: Posterior, votes: ResponseTable) -> tuple[ResponseTable, np.ndarray]:
    """Return the votes that the posterior knows with its indices, and which of all they are."""
    chatbot = _places(votes.chatbots, posterior.chatbots)
    prompt = _places(votes.prompts, posterior.prompts)
    a, b, j = chatbot[votes.a], chatbot[votes.b], prompt[votes.prompt]
    keep = (a >= 0) & (b >= 0) & (j >= 0)
    columns = {name: getattr(votes, name)[keep] for name in ("outcome", "annotator", "a_first", "label")}
    columns |= {"a": a[keep], "b": b[keep], "prompt": j[keep]}
    return replace(votes, chatbots=posterior.chatbots, prompts=posterior.prompts, **columns), keep


def _places(names: tuple[str, ...], known: tuple[str, ...]) -> np.ndarray:
    """Return the index of each name among the known ones, or -1."""
    place = {name: number for number, name in enumerate(known)}
    return np.array([place.get(name, -1) for name in names], np.int64)


def _verdict(one: Preference, name: str) -> EvidenceVerdict:
    numbers: dict[str, str | int | float | Reason] = {
        "chatbot": name,
        "won": one.won,
        "votes": one.votes,
        "expected": one.expected,
    }
    reason = Reason("one_sided", numbers)
    if one.together > 1:
        reason = Reason("one_sided_together", numbers | {"together": one.together})
    evidence = {
        "preferred": name,
        "preferred_votes": one.votes,
        "preferred_won": one.won,
        "preferred_expected": one.expected,
        "preferred_evidence": one.evidence,
    }
    return EvidenceVerdict(reason, evidence)
