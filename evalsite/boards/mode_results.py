"""Whether static and live judgments of the same chatbots stand on one board, by the test of the live report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalsite.boards.models import LiveReport
from evalsite.campaigns.models import Campaign

SMALLEST_DIFFERENCE = 0.5
"""In logits: the test must be able to find a shift of one chatbot that is as large as this."""

LARGEST_SE = SMALLEST_DIFFERENCE / 2.8
"""Of a shift: at a level of .05, a difference of 2.8 standard errors is found with a power of .8."""


@dataclass(frozen=True, slots=True)
class ModeResult:
    """The result for a live campaign and its static one. test: None before there is one; enough: see LARGEST_SE."""

    live: Campaign
    static: Campaign
    test: Mapping[str, Any] | None
    enough: bool

    @property
    def together(self) -> bool:
        """Return whether one board ranks both: the test finds no difference, and would have found a large one."""
        return self.test is not None and self.enough and bool(self.test["one_board"])


def mode_result(live: Campaign) -> ModeResult | None:
    """Return the result for a live campaign; None if no static campaign is linked to it."""
    static = live.live.static_campaign if live.is_live else None
    if static is None:
        return None
    found = LiveReport.objects.filter(campaign=live).values_list("content", flat=True).first() or {}
    test = next((one for one in found.get("modes", []) if one["campaign"] == str(static.public_id)), None)
    return ModeResult(live, static, test, test is not None and test.get("largest_se", LARGEST_SE + 1) <= LARGEST_SE)


def mode_result_of(campaign: Campaign | None) -> ModeResult | None:
    """Return the result for either campaign: of a static one, with the public live one that is linked to it."""
    if campaign is None:
        return None
    if campaign.is_live:
        return mode_result(campaign)
    linked = campaign.live_counterparts.filter(campaign__visibility=Campaign.Visibility.PUBLIC).order_by("pk")
    found = linked.select_related("campaign").first()
    return None if found is None else mode_result(found.campaign)
