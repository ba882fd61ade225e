"""Skips: what they close, what they never do, and how an owner reopens items."""

import pytest

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.core.errors import Conflict
from evalsite.judgments.arrivals import invitation_accept, invitation_issue
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.leases import assignment_skip, assignments_return
from evalsite.judgments.models import Annotator, Assignment, Judgment
from evalsite.judgments.services import annotator_enrol
from evalsite.judgments.skips import FREE_SKIPS, items_closed, items_skipped
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.campaign_status import campaign_status_get
from evalsite.operations.models import Notice
from evalsite.operations.notices import notice_text
from evalsite.refits.screening import advice_of
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs, run_only_refits
from tests.shared import shared


@shared
def small(make_campaign: CampaignMaker) -> Campaign:
    """Two items in all."""
    return make_campaign(slug="small", chatbots=2, prompts=2)


def invited(campaign: Campaign) -> Annotator:
    secret = invitation_issue(campaign=campaign, name="panel")
    return invitation_accept(secret=secret).annotator


def skip(campaign: Campaign, annotator: Annotator, item: str) -> None:
    """Skip this item, and give back all else."""
    Assignment.objects.filter(state="queued").exclude(item=item).update(priority=9999)
    block = assignment_claim(campaign=campaign, annotator=annotator)
    held = next(one for one in block if one.item == item)
    assignment_skip(annotator=annotator, assignment_id=held.public_id, reason="broken")
    assignments_return(campaign=campaign, annotator=annotator)


def items_of(campaign: Campaign) -> list[str]:
    return list(Assignment.objects.filter(campaign=campaign, state="queued").values_list("item", flat=True))


def skip_everything(campaign: Campaign) -> None:
    for item in items_of(campaign):
        for _ in range(2):
            skip(campaign, invited(campaign), item)
    run_jobs()
    campaign.refresh_from_db()


def test_skips_of_two_invited_annotators_close_an_item(campaign: Campaign) -> None:
    item = items_of(campaign)[0]
    for _ in range(2):
        skip(campaign, invited(campaign), item)
    assert items_closed(campaign) == {item}
    assert item not in items_of(campaign)


def test_skips_of_pseudonyms_close_nothing_but_are_reported(campaign: Campaign) -> None:
    item = items_of(campaign)[0]
    for _ in range(4):
        skip(campaign, annotator_enrol(campaign=campaign), item)
    assert items_closed(campaign) == set()
    assert item in items_of(campaign)
    assert items_skipped(campaign) == 1
    assert ("skipped", "1") in [(one.what, one.value) for one in campaign_status_get(campaign).alarms]


def test_skips_of_excluded_annotators_do_not_count(campaign: Campaign, alice: User) -> None:
    item, first, second = items_of(campaign)[0], invited(campaign), invited(campaign)
    skip(campaign, first, item)
    skip(campaign, second, item)
    annotator_exclude(campaign=campaign, annotator=second, reason="skips everything", by=alice)
    assert items_closed(campaign) == set()


def test_campaign_with_only_skipped_items_left_alarms(small: Campaign) -> None:
    skip_everything(small)
    assert small.state == Campaign.State.RUNNING
    notice = Notice.objects.get(campaign=small, event=Notice.Event.QUEUE)
    assert "but 2 items that annotators skipped" in notice_text(notice)
    assert campaign_status_get(small).board_state is not None


def test_owner_reopens_skipped_items(small: Campaign, alice: User) -> None:
    skip_everything(small)
    assert items_of(small) == []
    act_perform(key=small.slug, act=Act.REOPEN_SKIPPED, user=alice, given=ActionArguments())
    run_only_refits()
    assert len(items_of(small)) == 2
    assert items_skipped(small) == 0
    with pytest.raises(Conflict):
        act_perform(key=small.slug, act=Act.REOPEN_SKIPPED, user=alice, given=ActionArguments())


def test_campaign_stops_when_all_is_judged_despite_skips(small: Campaign) -> None:
    skip(small, annotator_enrol(campaign=small), items_of(small)[0])
    Campaign.objects.filter(pk=small.pk).update(batch_size=1)
    honest = annotator_enrol(campaign=small)
    while judge(small, honest):
        run_only_refits()
    small.refresh_from_db()
    assert (small.state, small.stop_reason[:23]) == (Campaign.State.STOPPED, "nothing is left to ask;")


def test_half_of_a_block_is_the_most_that_can_be_skipped(campaign: Campaign, bob: Annotator) -> None:
    first, second, third = assignment_claim(campaign=campaign, annotator=bob)
    for one in (first, second):
        assignment_skip(annotator=bob, assignment_id=one.public_id, reason="other")
    with pytest.raises(Conflict) as refused:
        assignment_skip(annotator=bob, assignment_id=third.public_id, reason="other")
    assert refused.value.code == "skips_used"
    assert "Judge the rest" in refused.value.hint


def test_answers_earn_skips(make_campaign: CampaignMaker) -> None:
    campaign, used = make_campaign(prompts=12, slug="long"), 0
    bob = annotator_enrol(campaign=campaign)
    while used < FREE_SKIPS:
        for one in assignment_claim(campaign=campaign, annotator=bob)[:2]:
            assignment_skip(annotator=bob, assignment_id=one.public_id, reason="other")
            used += 1
        assignments_return(campaign=campaign, annotator=bob)
        run_only_refits()
    (held, *_) = assignment_claim(campaign=campaign, annotator=bob)
    with pytest.raises(Conflict):
        assignment_skip(annotator=bob, assignment_id=held.public_id, reason="other")
    others = [annotator_enrol(campaign=campaign) for _ in range(3)]
    judge(campaign, bob)
    for other in others:
        judge(campaign, other, blocks=2)
    run_only_refits()
    judge(campaign, bob)
    assert Judgment.objects.filter(annotator=bob).count() >= 2
    (held, *_) = assignment_claim(campaign=campaign, annotator=bob)
    assignment_skip(annotator=bob, assignment_id=held.public_id, reason="other")
    advice = advice_of(campaign, [])[bob.pk]
    assert (advice.decision, advice.evidence["skipped"]) == ("exclude", FREE_SKIPS + 1)
