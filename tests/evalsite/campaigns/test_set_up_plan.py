"""A draft is told what is worth learning, how annotators are compared, and what is done with careless ones."""

from dataclasses import replace
from typing import Any

import pytest

from evalsite.accounts.models import User
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import entrant_withdraw, plan_options
from evalsite.core.errors import InvalidInput
from evalsite.core.models import AuditEntry
from tests.evalsite.cast import OPEN, CampaignMaker
from tests.shared import shared

KEPT = PlanOptions(floor=0.2, votes_per_pair=40)  # what only a file says


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(design=replace(OPEN, plan=KEPT), chatbots=3, start=False)


def test_a_step_changes_its_part_of_the_plan_and_leaves_the_rest(draft: Campaign, alice: User) -> None:
    draft_change(campaign=draft, changes={"target": "top", "top": 2}, by=alice)
    draft_change(campaign=draft, changes={"overlap_share": 0.2, "overlap_votes": 3}, by=alice)
    assert plan_options(draft) == replace(KEPT, target="top", top=2, overlap_share=0.2, overlap_votes=3)


def test_plan_log_has_old_and_new_values_and_the_chatbot(draft: Campaign, alice: User) -> None:
    newcomer = draft.entrants.order_by("pk")[2]
    draft_change(campaign=draft, changes={"target": "newcomer", "newcomer": newcomer.pk, "top": None}, by=alice)
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert entry.before == {"target": "aim", "newcomer": None}
    assert entry.after == {"target": "newcomer", "newcomer": "trial bot 2 1"}
    draft_change(campaign=draft, changes={"screening": "off", "overlap_share": 0.5, "overlap_votes": 2}, by=alice)
    entry = AuditEntry.objects.order_by("-pk")[0]
    assert (entry.before, entry.after) == (
        {"screening": "propose", "overlap_share": 0.0},
        {"screening": "off", "overlap_share": 0.5},
    )


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"target": "top", "top": 3}, "top"),
        ({"target": "top", "top": None}, "top"),
        ({"target": "newcomer", "newcomer": 10**6}, "newcomer"),
        ({"overlap_share": 1.5}, "overlap_share"),
        ({"overlap_share": 0.2, "overlap_votes": 2, "votes_per_item": 2}, "overlap_votes"),
        ({"overlap_share": 0.2, "overlap_votes": 41}, "votes_per_pair"),
    ],
)
def test_invalid_set_up_names_its_field_and_changes_nothing(
    draft: Campaign, changes: dict[str, Any], field: str
) -> None:
    before, logged = plan_options(draft), AuditEntry.objects.count()
    with pytest.raises(InvalidInput) as refused:
        draft_change(campaign=draft, changes=changes)
    assert refused.value.field == field
    assert refused.value.hint
    draft.refresh_from_db()
    assert (plan_options(draft), draft.screening, draft.votes_per_item) == (before, "propose", 1)
    assert AuditEntry.objects.count() == logged


def test_a_chatbot_that_has_left_is_not_to_be_placed(draft: Campaign) -> None:
    gone = draft.entrants.order_by("pk")[0]
    entrant_withdraw(campaign=draft, entrant=gone, reason="gone")
    with pytest.raises(InvalidInput, match="does not take part"):
        draft_change(campaign=draft, changes={"target": "newcomer", "newcomer": gone.pk})


def test_screening_of_comparisons_may_act_without_overlap(draft: Campaign) -> None:
    draft_change(campaign=draft, changes={"screening": "act"})
    assert Campaign.objects.get().screening == "act"
