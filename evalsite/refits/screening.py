"""Screening after a fit: whose judgments agree so little with the others' that they are noise, by the engine's rules;
who fails so much gold that they cannot be reading, where the campaign says which share is to be passed; and who skips
more than they answer.

Everybody is judged by the same votes, those of the excluded among them, so the same judgments give the same verdicts
whatever was decided on the way, and who was excluded too early comes back by what they have done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit, exclusion_propose
from evalsite.judgments.models import Annotator, Exclusion
from evalsite.judgments.selectors import IN_GOOD_STANDING, AnnotatorState, CountedVote, standings
from evalsite.judgments.skips import FREE_SKIPS, skip_counts
from evalsite.refits.gold_findings import gold_excludes, gold_verdicts
from irt_engine.agreement import Verdict, screen
from irt_engine.responses import ResponseTable

# Shared cells before anybody is judged. The engine's own least is for a screen that is made once: this one looks after
# every batch, and who is excluded by an unlucky first block gets no second one to show better.
LEAST_CELLS = 30


@dataclass(frozen=True, slots=True)
class ExclusionChange:
    """What the screening wants of one annotator. `lifted`: to count again."""

    annotator: int
    lifted: bool
    reason: str
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Advice:
    """What is to be done about an annotator, by the one rule or by both: "exclude", "keep" or "not enough yet"."""

    decision: str
    reason: str
    evidence: dict[str, Any]


def changes_wanted(campaign: Campaign, votes: Sequence[CountedVote]) -> list[ExclusionChange]:
    """What the screen would change; `votes` are all that people have not excluded. Nothing is written."""
    if campaign.screening == Campaign.Screening.OFF:
        return []
    standing = standings(campaign)
    found = advice_of(campaign, votes)
    return [
        ExclusionChange(annotator, not out, advice.reason, advice.evidence)
        for annotator, advice in {**found, **_cleared(campaign, found)}.items()
        if (out := _out(advice, now := standing.get(annotator, IN_GOOD_STANDING))) != _said(campaign, now)
        and not now.decided
    ]


def advice_of(campaign: Campaign, votes: Sequence[CountedVote]) -> dict[int, Advice]:
    """Annotator id -> advice. Who fails by either rule is out; who passes by one, and not by the other, waits."""
    known = sorted({str(vote.annotator) for vote in votes if vote.annotator is not None})
    verdicts = screen(_table(votes), min_cells=LEAST_CELLS).verdicts if len(known) > 1 else ()
    found = {int(known[one.annotator]): Advice(one.decision, one.reason, _evidence(one)) for one in verdicts}
    for annotator, verdict in gold_verdicts(campaign).items():
        gold = Advice(verdict.decision, verdict.reason, verdict.evidence)
        found[annotator] = advice_of_both(found[annotator], gold) if annotator in found else gold
    for annotator, (skips, answers) in skip_counts(campaign, least=FREE_SKIPS).items():
        if skips > answers:
            words = f"skipped {skips} questions and answered {answers}"
            behaviour = Advice("exclude", words, {"skipped": skips, "answered": answers})
            found[annotator] = advice_of_both(found[annotator], behaviour) if annotator in found else behaviour
    return found


def _cleared(campaign: Campaign, found: Mapping[int, Advice]) -> dict[int, Advice]:
    """Of those whom gold put out: who is to come back, since neither gold nor the engine speaks against them now.

    Gold that is withdrawn leaves them with few answers or none, and they are given no others to show better by.
    """
    facts = Exclusion.objects.filter(campaign=campaign, annotator__isnull=False, lifted=False, decided_by__isnull=True)
    last = {number or 0: evidence for number, evidence in facts.order_by("pk").values_list("annotator_id", "evidence")}
    none = Advice("not enough yet", "no gold that they answered is in use", {})
    now = {number: found.get(number, none) for number, evidence in last.items() if gold_excludes(evidence)}
    return {
        number: Advice("keep", f"gold speaks against them no more: {advice.reason}", advice.evidence)
        for number, advice in now.items()
        if advice.decision == "not enough yet"
    }


def advice_of_both(engine: Advice, gold: Advice) -> Advice:
    evidence = {**engine.evidence, **gold.evidence}
    decisions = {engine.decision, gold.decision}
    if "exclude" in decisions:
        reasons = [one.reason for one in (gold, engine) if one.decision == "exclude"]
        return Advice("exclude", "; ".join(reasons), evidence)
    decision = "keep" if "keep" in decisions else "not enough yet"
    return Advice(decision, engine.reason if engine.decision == decision else gold.reason, evidence)


def _out(advice: Advice, now: AnnotatorState) -> bool:
    """Whether an annotator is to be out: who is comes back only when shown to be careful."""
    return advice.decision == "exclude" or (now.out and advice.decision != "keep")


def _said(campaign: Campaign, now: AnnotatorState) -> bool:
    """What has been done about an annotator, or proposed, where it is left to people."""
    if campaign.screening == Campaign.Screening.PROPOSE and now.proposal is not None:
        return not now.proposal.lifted
    return now.out


def _table(votes: Sequence[CountedVote]) -> ResponseTable:
    return ResponseTable.from_votes(
        [str(vote.first_version) for vote in votes],
        [str(vote.second_version) for vote in votes],
        [str(vote.prompt) for vote in votes],
        [vote.outcome for vote in votes],
        annotator_id=[None if vote.annotator is None else str(vote.annotator) for vote in votes],
    )


def _evidence(verdict: Verdict) -> dict[str, Any]:
    statistics = verdict.statistics
    return {
        "votes": statistics.votes,
        "cells": statistics.cells,
        "correlation": statistics.correlation,
        "expected": statistics.expected,
        "p_value": statistics.p_value,
        "power": verdict.power,
    }


def changes_make(campaign: Campaign, changes: Sequence[ExclusionChange]) -> None:
    """Propose them or do them, as the campaign decides. Part of the refit's transaction.

    A person may have decided meanwhile: then that stands.
    """
    standing = standings(campaign)
    annotators = Annotator.objects.in_bulk([change.annotator for change in changes])
    for change in changes:
        now = standing.get(change.annotator, IN_GOOD_STANDING)
        if now.decided or _said(campaign, now) is not change.lifted:
            continue
        said: dict[str, Any] = {"reason": change.reason, "evidence": change.evidence}
        annotator = annotators[change.annotator]
        if campaign.screening == Campaign.Screening.PROPOSE:
            exclusion_propose(campaign=campaign, annotator=annotator, lifted=change.lifted, **said)
        elif change.lifted:
            annotator_readmit(campaign=campaign, annotator=annotator, **said)
        else:
            annotator_exclude(campaign=campaign, annotator=annotator, **said)
