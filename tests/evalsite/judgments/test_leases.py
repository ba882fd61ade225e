"""Leases: renewed while somebody works, given back when they leave, ended when nobody comes."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop
from evalsite.core.errors import Conflict, NotFound
from evalsite.judgments.leases import (
    LONGEST_HOLD,
    assignment_skip,
    assignments_expire,
    assignments_return,
    lease_renew,
)
from evalsite.judgments.models import Annotator, Assignment, Skip
from evalsite.judgments.services import judgment_record
from evalsite.judgments.skips import items_skipped
from tests.evalsite.cast import assignment_claim

pytestmark = pytest.mark.database


@pytest.fixture
def block(campaign: Campaign, bob: Annotator) -> list[Assignment]:
    return assignment_claim(campaign=campaign, annotator=bob)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as traveller:
        yield traveller


def open_of(annotator: Annotator) -> list[Assignment]:
    return list(Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED))


def test_a_renewed_block_is_held_for_another_lease(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    lease = timedelta(seconds=campaign.lease_s)
    clock.shift(lease / 2)
    until = lease_renew(annotator=bob, assignment_id=block[0].public_id)
    assert until == timezone.now() + lease
    assert {one.lease_until for one in open_of(bob)} == {until}
    clock.shift(lease * 0.9)
    assignments_expire()
    assert len(open_of(bob)) == len(block)
    clock.shift(lease * 0.2)
    assignments_expire()
    assert open_of(bob) == []


@pytest.mark.parametrize("late_s", [0.1, 1.5])
def test_claim_after_lease_end_gives_a_new_block_without_sweep(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment], late_s: float
) -> None:
    clock.shift(timedelta(seconds=campaign.lease_s + late_s))
    fresh = assignment_claim(campaign=campaign, annotator=bob)
    assert fresh
    assert all(one.lease_until is not None and one.lease_until > timezone.now() for one in fresh)
    assert {one.item for one in fresh}.isdisjoint(one.item for one in block), "nobody gets an item twice"
    assert set(open_of(bob)) == set(fresh)
    ended = Assignment.objects.filter(pk__in=[one.pk for one in block])
    assert {one.state for one in ended} == {Assignment.State.EXPIRED}
    waiting = Assignment.objects.filter(item__in=[one.item for one in block], state=Assignment.State.QUEUED)
    assert waiting.count() == len(block), "their places wait for somebody else"


def test_until_its_lease_ends_a_claim_gives_the_same_block(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(seconds=campaign.lease_s - 1))
    assert assignment_claim(campaign=campaign, annotator=bob) == block


def test_block_from_before_the_clock_change_is_not_reissued(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(hours=-2))
    assert set(assignment_claim(campaign=campaign, annotator=bob)).isdisjoint(block)


def test_after_a_stop_nothing_is_given_whose_lease_has_ended(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    assert assignment_claim(campaign=campaign, annotator=bob) == block
    clock.shift(timedelta(seconds=campaign.lease_s + 1))
    assert assignment_claim(campaign=campaign, annotator=bob) == []


def test_renewing_does_not_bring_back_what_is_answered(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    judgment_record(annotator=bob, assignment_id=block[0].public_id, choices={"overall": "A"})
    with pytest.raises(Conflict) as refused:
        lease_renew(annotator=bob, assignment_id=block[0].public_id)
    assert refused.value.code == "answered"
    before = Assignment.objects.get(pk=block[0].pk).lease_until
    lease_renew(annotator=bob, assignment_id=block[1].public_id)
    assert Assignment.objects.get(pk=block[0].pk).lease_until == before


def test_a_lease_that_has_ended_is_not_renewed(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(seconds=campaign.lease_s + 1))
    with pytest.raises(Conflict) as refused:
        lease_renew(annotator=bob, assignment_id=block[0].public_id)
    assert refused.value.code == "ended"


def test_returned_item_cannot_be_renewed_and_hints_at_the_next(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    assignment_skip(annotator=bob, assignment_id=block[0].public_id, reason="broken")
    assignments_return(campaign=campaign, annotator=bob)
    assert len(block) > 1
    for given_back in block[:2]:
        with pytest.raises(Conflict) as refused:
            lease_renew(annotator=bob, assignment_id=given_back.public_id)
        assert (refused.value.code, refused.value.hint) == ("returned", "Ask for the next one.")


def test_nobody_holds_a_block_for_ever(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    lease = timedelta(seconds=campaign.lease_s)
    issued = timezone.now()
    until = issued
    for _ in range(LONGEST_HOLD + 1):
        until = lease_renew(annotator=bob, assignment_id=block[0].public_id)
        clock.shift(lease * 0.9)
    assert until == issued + LONGEST_HOLD * lease
    clock.shift(lease)
    assignments_expire()
    assert open_of(bob) == []


def test_after_a_stop_a_lease_runs_to_its_end_and_no_further(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    with pytest.raises(Conflict) as refused:
        lease_renew(annotator=bob, assignment_id=block[0].public_id)
    assert refused.value.code == "stopped"


def test_the_lease_of_somebody_else_is_not_there(dora: Annotator, block: list[Assignment]) -> None:
    with pytest.raises(NotFound):
        lease_renew(annotator=dora, assignment_id=block[0].public_id)


def test_a_lease_renewed_while_the_sweep_looks_is_not_ended(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(seconds=campaign.lease_s + 1))
    later = timezone.now() + timedelta(hours=1)

    def renew_first(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Renew all leases as soon as the sweep locks a place."""
        if 'FROM "judgments_place"' in sql:
            Assignment.objects.filter(annotator=bob, state=Assignment.State.ISSUED).update(lease_until=later)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(renew_first):
        assignments_expire()
    assert len(open_of(bob)) == len(block)


def test_who_leaves_gives_back_what_is_open_and_others_get_it(
    campaign: Campaign, bob: Annotator, dora: Annotator, block: list[Assignment]
) -> None:
    judgment_record(annotator=bob, assignment_id=block[0].public_id, choices={"overall": "A"})
    assert assignments_return(campaign=campaign, annotator=bob) == len(block) - 1
    assert open_of(bob) == []
    waiting = Assignment.objects.filter(state=Assignment.State.QUEUED).values_list("place", flat=True)
    assert {one.place_id for one in block[1:]} <= set(waiting)
    assert assignments_return(campaign=campaign, annotator=bob) == 0


def test_leaving_says_nothing_about_the_items(
    campaign: Campaign, bob: Annotator, dora: Annotator, block: list[Assignment]
) -> None:
    for annotator in (bob, dora):
        assignment_claim(campaign=campaign, annotator=annotator)
        assignments_return(campaign=campaign, annotator=annotator)
    assert not Skip.objects.exists()
    assert items_skipped(campaign) == 0


def test_returned_item_is_not_skipped_and_skips_are_idempotent(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    for _ in range(2):
        assignment_skip(annotator=bob, assignment_id=block[0].public_id, reason="broken")
    assignments_return(campaign=campaign, annotator=bob)
    assignment_skip(annotator=bob, assignment_id=block[0].public_id, reason="broken")
    with pytest.raises(Conflict) as refused:
        assignment_skip(annotator=bob, assignment_id=block[1].public_id, reason="broken")
    assert refused.value.code == "returned"
    assert Skip.objects.count() == 1


def test_lease_from_before_the_clock_change_frees_its_place(
    clock: time_machine.Traveller, campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(hours=-2))
    assignments_expire()
    assert open_of(bob) == []
    late = judgment_record(annotator=bob, assignment_id=block[0].public_id, choices={"overall": "A"})
    assert late.created
    assert Assignment.objects.get(pk=block[0].pk).state == Assignment.State.ANSWERED


def test_lease_of_a_slightly_fast_clock_stays_valid(
    clock: time_machine.Traveller, bob: Annotator, block: list[Assignment]
) -> None:
    clock.shift(timedelta(minutes=-1))
    assignments_expire()
    assert len(open_of(bob)) == len(block)
