"""The votes of a live campaign and of the static one that is linked to it, for a board of both."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

from evalsite.boards.mode_results import mode_result
from evalsite.boards.models import LiveReport, Slice
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.selectors import aspect_primary
from evalsite.judgments.selectors import counted_votes_version, votes_counted
from evalsite.refits.mapping import FitInput, input_of
from evalsite.refits.services import slices_request


def both_modes_input(live: Campaign) -> FitInput:
    """Return the votes of both campaigns if one board ranks them; else no votes."""
    result = mode_result(live)
    if result is None or not result.together:
        return input_of([], [live])
    versions = _versions_together(live, result.static)
    static = [
        vote._replace(
            first_version=versions.get(vote.first_version, vote.first_version),
            second_version=versions.get(vote.second_version, vote.second_version),
        )
        for vote in votes_counted([result.static], aspect_primary(result.static))
    ]
    return input_of([*votes_counted([live], aspect_primary(live)), *static], [live, result.static])


def both_modes_mark(live: Campaign, mark: str) -> str:
    """Return a hash that changes when the votes of either campaign, or the result of the test, may have changed."""
    result = mode_result(live)
    words = None if result is None else (result.together, result.static.pk, counted_votes_version([result.static]))
    return hashlib.sha256(f"{mark};{words}".encode()).hexdigest()


def _versions_together(live: Campaign, static: Campaign) -> Mapping[int, int]:
    """Map versions of the static campaign to those of the same chatbots in the live one, where both have one."""
    known = {chatbot: version for version, chatbot in _once(live).items()}
    return {version: known[chatbot] for version, chatbot in _once(static).items() if chatbot in known}


def _once(campaign: Campaign) -> dict[int, int]:
    """Return the chatbot (key) of each version that alone takes part for it."""
    found = dict(campaign.entrants.values_list("version", "version__chatbot"))
    counts = Counter(found.values())
    return {version: chatbot for version, chatbot in found.items() if counts[chatbot] == 1}


def both_modes_request() -> None:
    """Request boards of both modes whose live report is newer than they are."""
    for linked in LiveSettings.objects.exclude(static_campaign=None).select_related("campaign"):
        board = Slice.objects.filter(board__default_of=linked.campaign, by=Slice.By.MODE)
        looked_at = board.values_list("looked_at", flat=True).first()
        newer = LiveReport.objects.filter(campaign=linked.campaign)
        if looked_at is not None:
            newer = newer.filter(computed_at__gt=looked_at)
        if newer.exists():
            slices_request(linked.campaign)
