"""A round of judging: where one is in it, taking an answer back, changing one until the next round, the ended lease."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.services import campaign_stop
from evalsite.judgments.arrivals import invitation_issue
from evalsite.judgments.block_view import block_newest, pace_s
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Annotator, Assignment, Candidate, Judgment, Place
from evalsite.judgments.selectors import skips_by_reason
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.evalsite.cast import assignment_claim, empty_queue, run_jobs
from tests.evalsite.pages.reading import Page, Visitor


@pytest.fixture
def visitor(campaign: Campaign, stranger: Client) -> Visitor:
    """Somebody who has begun, with a round of three before them."""
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    return visitor


def answers(visitor: Visitor) -> str:
    """The words of the page without the beginnings of prompts."""
    return re.sub(r"Question \d\? ", "", visitor.page.words)


def test_it_says_where_in_the_round_one_is(visitor: Visitor) -> None:
    assert "1 of 3" in visitor.page.words
    visitor.answer("A")
    assert "2 of 3" in visitor.page.words
    assert 'value="33"' in visitor.page.html, "the bar"


def test_minutes_left_follow_from_the_annotators_own_pace(visitor: Visitor, campaign: Campaign) -> None:
    for _ in range(3):
        visitor.answer("A", client_ms="90000")
    assert pace_s(campaign=campaign, annotator=Annotator.objects.get()) == 90
    visitor.go_on()
    assert "about 5 minutes left" in visitor.page.words


def test_after_an_answer_it_can_be_undone_with_one_press(visitor: Visitor) -> None:
    first = visitor.assignment
    visitor.answer("A")
    assert "Saved: A is better Undo" in visitor.page.words
    visitor.follow("undo")
    assert visitor.assignment == first
    assert re.search(r'value="A" aria-pressed="true"', visitor.page.html), "what was said is marked"
    visitor.answer("B")
    second = Judgment.objects.get(supersedes__isnull=False)
    assert second.supersedes == Judgment.objects.get(supersedes__isnull=True)
    assert "2 of 3" in visitor.page.words


def test_looking_again_changes_nothing_until_another_answer_is_given(visitor: Visitor) -> None:
    visitor.answer("A")
    visitor.follow("undo")
    visitor.reload()
    assert "2 of 3" in visitor.page.words
    assert Judgment.objects.count() == 1


def test_the_end_of_a_round_lists_its_answers_to_be_changed_until_the_next_begins(visitor: Visitor) -> None:
    for choice in ("A", "tie", "B"):
        visitor.answer(choice)
    assert "3 of 3 judged" in visitor.page.words
    assert "A is better Change Tie Change B is better Change" in answers(visitor)
    assert Assignment.objects.filter(state=Assignment.State.ISSUED).count() == 0, "nothing is claimed by itself"
    visitor.open(visitor.page.links[-1])
    visitor.answer("both_bad")
    assert "A is better Change Tie Change Both are bad Change" in answers(visitor)
    visitor.go_on()
    assert "1 of 3" in visitor.page.words
    assert 'id="back"' not in visitor.page.html, "the last round is closed"


def test_an_answer_of_a_closed_round_stands_and_that_is_said(visitor: Visitor) -> None:
    visitor.answer("A")
    given = Judgment.objects.get()
    old = {"assignment": str(given.assignment.public_id), "supersedes": str(given.public_id)}
    visitor.answer("A")
    visitor.answer("A")
    visitor.go_on()
    visitor.post("answer", {**old, "choice": "B"})
    assert "your earlier answer stands" in visitor.page.words
    assert Judgment.objects.count() == 3


def test_another_answer_from_a_second_window_is_not_taken_and_that_is_said(visitor: Visitor) -> None:
    second_window = {"assignment": visitor.assignment}
    visitor.answer("A")
    visitor.post("answer", {**second_window, "choice": "B"})
    assert "your earlier answer stands" in visitor.page.words
    assert "2 of 3" in visitor.page.words
    first = {**second_window, "supersedes": str(Judgment.objects.get().public_id)}
    visitor.post("answer", {**first, "choice": "tie"})
    visitor.post("answer", {**first, "choice": "B"})
    assert "your latest answer stands" in visitor.page.words
    assert Judgment.objects.count() == 2


def test_a_skipped_item_is_listed_as_skipped(visitor: Visitor) -> None:
    visitor.post("skip", {"assignment": visitor.assignment, "reason": "broken"})
    visitor.answer("A")
    visitor.answer("A")
    assert "2 of 3 judged" in visitor.page.words
    assert "Skipped A is better Change" in answers(visitor)


def test_when_the_lease_ended_it_says_what_became_of_the_answers(visitor: Visitor) -> None:
    visitor.answer("A")
    kept = visitor.assignment
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    visitor.reload()
    assert "The time for this round is over" in visitor.page.words
    assert "2 comparisons that you had not answered" in visitor.page.words
    assert "What you answered (1) is kept. Go on" in visitor.page.words
    assert "A is better Not answered Not answered" in answers(visitor)
    visitor.post("answer", {"assignment": kept, "choice": "B"})
    assert "It is kept, and counts: nobody had taken its place." in visitor.page.words
    assert Judgment.objects.filter(late=True).count() == 1
    visitor.go_on()
    assert visitor.page.assignment


@pytest.mark.parametrize(
    ("answered", "said"), [(1, "What you answered (1) is kept and paid."), (0, "given to others. Go")]
)
def test_who_is_paid_and_ran_out_of_time_is_told_what_is_paid(visitor: Visitor, answered: int, said: str) -> None:
    Assignment.objects.update(pay_rate=1, currency="USD")
    for _ in range(answered):
        visitor.answer("A")
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    visitor.reload()
    assert said in visitor.page.words


def test_without_scripts_who_ran_out_of_time_reads_it_at_the_address_where_they_began(
    campaign: Campaign, stranger: Client
) -> None:
    address = stranger.post("/judge/trial/begin/").headers["Location"]
    assert "Reply A" in Page(stranger.get(address)).words
    Assignment.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    assert "The time for this round is over" in Page(stranger.get(address)).words


@pytest.mark.parametrize(
    ("rate", "quota", "taken", "said"),
    [
        (1, None, False, "It is kept and paid, and counts: nobody had taken its place."),
        (0, None, False, "It is kept, and counts: nobody had taken its place."),
        (1, None, True, "It is kept and paid, but does not count: somebody else had taken its place."),
        (0, None, True, "It is kept, but does not count: somebody else had taken its place."),
        (1, 3, False, "It is kept, but not paid, and does not count: all that is asked of you is answered or open."),
    ],
)
def test_a_late_answer_is_told_whether_it_counts_and_whether_it_is_paid(
    campaign: Campaign, visitor: Visitor, rate: int, quota: int | None, taken: bool, said: str
) -> None:
    late = Assignment.objects.get(public_id=visitor.assignment)
    Campaign.objects.update(quota=quota)
    Assignment.objects.filter(state="issued").update(
        lease_until=timezone.now() - timedelta(seconds=1), pay_rate=rate, currency="USD"
    )
    assignments_expire()
    visitor.go_on()
    if taken:
        Assignment.objects.filter(state="queued").exclude(place=late.place).update(priority=9999)
        block = assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
        assert late.place_id in {one.place_id for one in block}
    visitor.post("answer", {"assignment": str(late.public_id), "choice": "B"})
    assert f"That answer came after its time. {said}" in visitor.page.words
    assert Judgment.objects.filter(late=True).count() == 1


def test_who_may_be_paid_for_so_many_only_is_promised_nothing_of_a_late_answer(
    campaign: Campaign, visitor: Visitor
) -> None:
    paid, open_question = "still kept and paid", "when it is sent you read whether it counts and is paid"
    assert paid in visitor.page.html
    Campaign.objects.update(quota=30)
    visitor.reload()
    assert open_question in visitor.page.html
    assert paid not in visitor.page.html


def test_who_asks_for_more_and_gets_nothing_waits(campaign: Campaign, visitor: Visitor) -> None:
    for _ in range(3):
        visitor.answer("A")
    empty_queue(campaign)
    visitor.go_on()
    assert "Nothing to judge right now" in visitor.page.words


def test_without_scripts_it_goes_the_same_way(campaign: Campaign, stranger: Client) -> None:
    page = Page(stranger.post("/judge/trial/begin/", follow=True))
    for _ in range(3):
        form = {"assignment": page.assignment, "choice": "A"}
        page = Page(stranger.post("/judge/trial/answer/", form, follow=True))
    assert "3 of 3 judged" in page.words


def test_without_scripts_it_is_said_too_that_another_answer_is_not_taken(campaign: Campaign, stranger: Client) -> None:
    page = Page(stranger.post("/judge/trial/begin/", follow=True))
    held = page.assignment
    stranger.post("/judge/trial/answer/", {"assignment": held, "choice": "A"}, follow=True)
    page = Page(stranger.post("/judge/trial/answer/", {"assignment": held, "choice": "B"}, follow=True))
    assert "your earlier answer stands" in page.words
    assert page.assignment != held


def test_who_begins_on_a_page_from_before_the_stop_is_told_and_not_enrolled(
    campaign: Campaign, stranger: Client
) -> None:
    campaign_stop(campaign=campaign, reason="enough")
    page = Page(stranger.post("/judge/trial/begin/", follow=True))
    assert "The campaign has finished It needs no further judgments." in page.words
    assert not Annotator.objects.exists()


def test_a_block_is_looked_up_with_few_queries(
    campaign: Campaign, bob: Annotator, django_assert_max_num_queries: object
) -> None:
    for assignment in assignment_claim(campaign=campaign, annotator=bob):
        judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "A"})
    with django_assert_max_num_queries(9):  # type: ignore[operator]
        assert len(block_newest(campaign=campaign, annotator=bob).changeable) == 3


def test_a_skip_is_undone_within_its_time_like_an_answer(visitor: Visitor) -> None:
    first = visitor.assignment
    visitor.post("skip", {"assignment": first, "reason": "broken"})
    assert "2 of 3" in visitor.page.words
    assert "Skipped Undo" in visitor.page.words
    visitor.post("unskip", {"skipped": first})
    assert visitor.assignment == first
    visitor.answer("A")
    visitor.answer("A")
    visitor.answer("A")
    assert "3 of 3 judged" in visitor.page.words
    assert skips_by_reason(Campaign.objects.all()) == {}


def test_a_skip_stands_once_somebody_else_has_the_item(visitor: Visitor, campaign: Campaign) -> None:
    first = visitor.assignment
    place = Assignment.objects.get(public_id=first).place_id
    visitor.post("skip", {"assignment": first, "reason": "broken"})
    again = Assignment.objects.get(place=place, state="queued")
    again.annotator, again.lease_until = annotator_enrol(campaign=campaign), timezone.now() + timedelta(minutes=5)
    again.state, again.issued_at, again.block = Assignment.State.ISSUED, timezone.now(), uuid.uuid4()
    again.save()
    visitor.post("unskip", {"skipped": first})
    assert "This skip stands." in visitor.page.words
    assert "2 of 3" in visitor.page.words


def test_a_round_ends_with_its_prompts_and_with_agreement(visitor: Visitor, campaign: Campaign) -> None:
    other = annotator_enrol(campaign=campaign)
    open_ = Assignment.objects.filter(state="issued").order_by("block_position")
    for row, choice in zip(list(open_)[:2], ("tie", "A"), strict=True):
        judge_too(row, other, choice)
    for _ in range(3):
        visitor.answer("A")
    words = visitor.page.words
    assert "You have judged 3 so far." in words
    assert "Others have judged 2 of this round, too. Most of them answered like you on 1." in words
    prompt = (Judgment.objects.earliest("pk").assignment.place.prompt.turns or [])[-1]["text"]
    assert f"{prompt} A is better" in words
    run_jobs()
    visitor.reload()
    assert "The board is based on 5 judgments" in visitor.page.words


def judge_too(row: Assignment, other: Annotator, choice: str) -> None:
    """Let somebody else judge the item of this assignment, with its candidates on the same sides."""
    place = Place.objects.create(campaign=row.campaign, prompt=row.place.prompt, item=row.item)
    lease = timezone.now() + timedelta(minutes=5)
    issued = Assignment.objects.create(
        campaign=row.campaign, place=place, item=row.item, annotator=other, state="issued", lease_until=lease,
        issued_at=timezone.now(), block=uuid.uuid4(),
    )  # fmt: skip
    for one in row.candidates.all():
        Candidate.objects.create(assignment=issued, entrant=one.entrant, reply=one.reply, position=one.position)
    judgment_record(annotator=other, assignment_id=issued.public_id, choices={"overall": choice})


@pytest.mark.parametrize(("votes", "revealed"), [(1, True), (2, False)])
def test_chatbots_of_closed_items_are_revealed_where_the_campaign_does(
    visitor: Visitor, campaign: Campaign, votes: int, revealed: bool
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(votes_per_item=votes)
    name = campaign.entrants.first().version.chatbot.name  # type: ignore[union-attr]
    for _ in range(3):
        visitor.answer("A")
    assert f"A: {name}" not in visitor.page.words
    onboarding_set(campaign=campaign, reveal_chatbots=True)
    visitor.reload()
    assert (re.search(r"A is better A: \S", visitor.page.words) is not None) is revealed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"admission": "members"}, "This campaign is not open This campaign is judged by invited people only."),
        ({"state": "paused"}, "The campaign is paused The people who run it have paused it."),
        ({"state": "stopped", "stopped_at": timezone.now()}, "The campaign has finished It needs no further"),
        ({"state": "draft"}, "This campaign is not open It has not started yet."),
    ],
    ids=["members", "paused", "stopped", "draft"],
)
def test_a_newcomer_is_told_on_arrival_why_they_cannot_begin(
    campaign: Campaign, alice: User, stranger: Client, change: dict[str, Any], told: str
) -> None:
    secret = invitation_issue(campaign=campaign, name="panel")
    Campaign.objects.filter(pk=campaign.pk).update(**change)
    if change.get("state") == "draft":
        stranger.force_login(alice)
    page = Page(stranger.get("/judge/trial/"))
    assert told in page.words
    assert "Start judging" not in page.words
    if "state" in change:
        invited = Page(stranger.get(f"/join/{secret}/"))
        assert told in invited.words
        assert "Return the task" not in invited.words
