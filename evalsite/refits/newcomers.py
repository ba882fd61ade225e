"""Newcomers of open campaigns who are vetted at a refit: their votes count from the next one on."""

from collections.abc import Mapping

from evalsite.campaigns.models import Campaign
from evalsite.judgments.selectors import IN_GOOD_STANDING, newcomers, standings, votes_given
from evalsite.judgments.skips import vouched
from evalsite.judgments.vetting import NewcomerRecord, vetting_reason
from evalsite.refits.gold_findings import gold_verdicts
from irt_engine.agreement import GoldCounts
from scheduler.reasons import Reason


def newcomers_due(campaign: Campaign, gold: GoldCounts) -> dict[int, Reason]:
    """Map the newcomers (by key) whose votes would count from now on to the reason, before they are screened.

    gold: results of gold items by annotator; none if the campaign does not screen.
    """
    if not campaign.vetting_votes:
        return {}
    votes = votes_given(campaign, newcomers(campaign))
    if not votes:
        return {}
    known = set(vouched(campaign).filter(pk__in=votes).values_list("pk", flat=True))
    passed = {key for key, verdict in gold_verdicts(gold).items() if verdict.decision == "keep"}
    standing = standings(campaign)
    reasons = {
        key: vetting_reason(
            NewcomerRecord(count, key in known, key in passed, standing.get(key, IN_GOOD_STANDING).is_flagged),
            votes_needed=campaign.vetting_votes,
        )
        for key, count in votes.items()
    }
    return {key: reason for key, reason in reasons.items() if reason is not None}


def to_screen(due: Mapping[int, Reason]) -> list[int]:
    """Return the newcomers whose votes are screened before they count: all but those whom somebody vouches for."""
    return [key for key, reason in due.items() if reason.code != "vetted_known"]
