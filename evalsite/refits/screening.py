"""Screening of annotators after a fit.

Five rules exclude annotators: agreement with the others no better than noise (the engine's rules, for votes on pairs
and for answers about single replies); votes without looking or against the better reply, and one chatbot preferred
without looking, alone or together with others (both by the fit, `vote_evidence`); too many failed gold items, if the
campaign sets a mark; more skips than answers.

All annotators are judged by the same votes, including votes of excluded annotators. So the same judgments give the same
verdicts, whatever was decided before. An annotator who was excluded too early is readmitted by their votes.

The votes of newcomers are no part of them, because a crowd of newcomers could make careful annotators look careless.
Newcomers are screened by the fit of the others' votes, by gold and by skips (`newcomers`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit, exclusion_propose
from evalsite.judgments.models import Annotator, Exclusion
from evalsite.judgments.selectors import IN_GOOD_STANDING, AnnotatorState, CountedVote, LeftOut, standings
from evalsite.judgments.skips import FREE_SKIPS, skip_counts
from evalsite.refits.answer_agreement import LEAST_CELLS, answer_verdicts
from evalsite.refits.gold_findings import gold_counts, gold_excludes, gold_verdicts
from evalsite.refits.vote_evidence import EvidenceVerdict
from irt_engine.agreement import GoldCounts, Verdict, screen
from irt_engine.responses import ResponseTable
from scheduler.reasons import Reason

LEAST_CHANCE_SHOWN = 0.001
NO_VERDICTS: Mapping[int, EvidenceVerdict] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ExclusionChange:
    """A change that the screening wants for one annotator.

    lifted: True to readmit the annotator.
    counts: whether the annotator's votes count at present or would after the change. Those of newcomers do not.
    """

    annotator: int
    lifted: bool
    reason: Reason
    evidence: dict[str, Any]
    counts: bool = True


@dataclass(frozen=True, slots=True)
class Advice:
    """Advice on an annotator from one or more rules: "exclude", "keep" or "not enough yet"."""

    decision: str
    reason: Reason
    evidence: dict[str, Any]


def changes_wanted(
    campaign: Campaign,
    votes: Sequence[CountedVote],
    verdicts: Mapping[int, EvidenceVerdict] = NO_VERDICTS,
    gold: GoldCounts | None = None,
) -> list[ExclusionChange]:
    """Return the changes that the screening wants, without writing.

    votes: all votes except those of newcomers, and those that people have excluded; answers about single replies are
    read here.
    verdicts: annotators against whom the fit of their votes speaks (`vote_evidence`).
    gold: results of gold items; they are read here if they are not given.
    """
    if campaign.screening == Campaign.Screening.OFF:
        return []
    standing = standings(campaign)
    found = advice_of(campaign, votes, verdicts, gold)
    return [
        ExclusionChange(annotator, not out, advice.reason, advice.evidence, not now.provisional)
        for annotator, advice in {**found, **_cleared(campaign, found)}.items()
        if (out := _out(advice, now := standing.get(annotator, IN_GOOD_STANDING))) != _said(campaign, now)
        and not now.decided
    ]


def acts_on_board(campaign: Campaign, changes: Sequence[ExclusionChange]) -> bool:
    """Return whether the screening changes the counted votes.

    The refit that it then requests decides and plans without the excluded annotators.
    """
    return campaign.screening == Campaign.Screening.ACT and any(change.counts for change in changes)


def advice_of(
    campaign: Campaign,
    votes: Sequence[CountedVote],
    verdicts: Mapping[int, EvidenceVerdict] = NO_VERDICTS,
    gold: GoldCounts | None = None,
) -> dict[int, Advice]:
    """Map annotator IDs to advice.

    Failing one rule excludes. Passing one rule while another lacks data keeps.
    """
    found = _advice_on_answers(campaign) if campaign.is_single else _advice_on_votes(votes)
    for annotator, one in verdicts.items():
        evidence = Advice("exclude", one.reason, dict(one.evidence))
        found[annotator] = advice_of_both(evidence, found[annotator]) if annotator in found else evidence
    for annotator, verdict in gold_verdicts(gold_counts(campaign) if gold is None else gold).items():
        by_gold = Advice(verdict.decision, verdict.reason, verdict.evidence)
        found[annotator] = advice_of_both(found[annotator], by_gold) if annotator in found else by_gold
    for annotator, (skips, answers) in skip_counts(campaign, least=FREE_SKIPS).items():
        if skips > answers:
            counts = {"skipped": skips, "answered": answers}
            behaviour = Advice("exclude", Reason("mostly_skipped", counts), counts)
            found[annotator] = advice_of_both(found[annotator], behaviour) if annotator in found else behaviour
    return found


def _advice_on_votes(votes: Sequence[CountedVote]) -> dict[int, Advice]:
    known = sorted({str(vote.annotator) for vote in votes if vote.annotator is not None})
    verdicts = screen(_table(votes), min_cells=LEAST_CELLS).verdicts if len(known) > 1 else ()
    return {int(known[one.annotator]): Advice(one.decision, reason_of(one), _evidence(one)) for one in verdicts}


def _advice_on_answers(campaign: Campaign) -> dict[int, Advice]:
    verdicts = answer_verdicts(campaign, without=LeftOut.BY_PEOPLE)
    return {
        annotator: Advice(one.decision, reason_of(one, answers=True), _evidence(one))
        for annotator, one in verdicts.items()
    }


def _cleared(campaign: Campaign, found: Mapping[int, Advice]) -> dict[int, Advice]:
    """Return annotators whom gold had excluded and against whom no rule speaks now.

    Withdrawn gold leaves them with few gold answers or none. Excluded annotators get no further gold, so they could not
    improve.
    """
    facts = Exclusion.objects.filter(campaign=campaign, annotator__isnull=False, lifted=False, decided_by__isnull=True)
    facts = facts.filter(provisional=False)
    last = {number or 0: evidence for number, evidence in facts.order_by("pk").values_list("annotator_id", "evidence")}
    none = Advice("not enough yet", Reason("gold_unused"), {})
    now = {number: found.get(number, none) for number, evidence in last.items() if gold_excludes(evidence)}
    return {
        number: Advice("keep", Reason("gold_cleared", {"rest": advice.reason}), advice.evidence)
        for number, advice in now.items()
        if advice.decision == "not enough yet"
    }


def advice_of_both(engine: Advice, gold: Advice) -> Advice:
    evidence = {**engine.evidence, **gold.evidence}
    decisions = {engine.decision, gold.decision}
    if "exclude" in decisions:
        first, *others = [one.reason for one in (gold, engine) if one.decision == "exclude"]
        return Advice("exclude", first.and_also(*others), evidence)
    decision = "keep" if "keep" in decisions else "not enough yet"
    return Advice(decision, engine.reason if engine.decision == decision else gold.reason, evidence)


def _out(advice: Advice, now: AnnotatorState) -> bool:
    """Return whether an annotator should be out.

    An excluded annotator is readmitted only with evidence of careful work.
    """
    return advice.decision == "exclude" or (now.out and advice.decision != "keep")


def _said(campaign: Campaign, now: AnnotatorState) -> bool:
    """Return whether the annotator is out, or proposed for exclusion if people decide."""
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


def reason_of(verdict: Verdict, *, answers: bool = False) -> Reason:
    """Return the engine's reason with the numbers that it rests on.

    answers: the verdict is on answers about single replies, not on votes.
    """
    seen, code = verdict.statistics, verdict.reason_code
    if code in {"no_agreement", "no_shared_cells"}:
        return Reason(code)
    found = Reason("one_answer_shared" if answers else "only_ties_shared", {"cells": seen.cells})
    if seen.correlation is not None:
        name = "kappa" if answers else "correlation"
        found = Reason(name, {name: seen.correlation, "cells": seen.cells})
    if code == "too_few_shared_cells":
        return found.and_also(Reason("careful_would_stand_out", {"share": 100 * verdict.power}))
    reason = Reason(code, {"rest": found, "p": seen.p_value or 0.0})
    return reason.and_also(_rarity(verdict.careful_chance)) if code == "correlation_not_positive" else reason


def _rarity(chance: float) -> Reason:
    """Return how many careful annotators would come out as low."""
    if chance < LEAST_CHANCE_SHOWN:
        return Reason("careful_hardly_this_low", {"share": 100 * LEAST_CHANCE_SHOWN})
    return Reason("careful_this_low", {"share": 100 * chance})


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
    """Propose or make the changes, as the campaign's setting says.

    Part of the refit's transaction. If a person has decided meanwhile, that decision stays.
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
