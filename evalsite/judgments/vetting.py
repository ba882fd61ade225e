"""The rule by which the votes of newcomers to an open campaign begin to count."""

from dataclasses import dataclass

from scheduler.reasons import Reason


@dataclass(frozen=True, slots=True)
class NewcomerRecord:
    """The facts about a newcomer that the rule uses.

    - `votes` would count if the newcomer were vetted.
    - `is_known`: a member, an invited person or a worker of a platform, whom somebody vouches for.
    - `passed_gold`: passed enough gold items.
    - `is_flagged`: excluded, or proposed for exclusion.
    """

    votes: int
    is_known: bool = False
    passed_gold: bool = False
    is_flagged: bool = False


def begins_provisional(*, votes_needed: int, is_known: bool, qualifies: bool) -> bool:
    """Return whether the votes of somebody who joins are provisional.

    `qualifies`: the campaign has a qualification, which everybody passes before the first vote.
    """
    return votes_needed > 0 and not is_known and not qualifies


def vetting_reason(newcomer: NewcomerRecord, *, votes_needed: int) -> Reason | None:
    """Return why the votes of a newcomer count from now on; None while they stay provisional."""
    if newcomer.is_known:
        return Reason("vetted_known")
    if newcomer.is_flagged:
        return None
    if newcomer.passed_gold:
        return Reason("vetted_gold")
    return Reason("vetted_votes", {"votes": newcomer.votes}) if newcomer.votes >= votes_needed else None
