"""Somebody who judges in several campaigns: one button leads to where they are needed. And nobody judges their own."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop
from evalsite.judgments.models import Annotator, Assignment, Enrolment, Judgment
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import OPEN, CampaignMaker
from tests.evalsite.pages.reading import Page, Visitor
from tests.shared import shared

BUTTON = "Go on where you are needed"
NAMES = ("trial", "spring", "autumn")


@shared
def campaigns(make_campaign: CampaignMaker) -> dict[str, Campaign]:
    sizes = dict(zip(NAMES, (1, 2, 3), strict=True))
    design = replace(OPEN, batch_size=100)
    return {
        slug: make_campaign(slug=slug, prompts=12, design=replace(design, block_size=size))
        for slug, size in sizes.items()
    }


@pytest.fixture(params=["account", "cookie"])
def client(request: Any, campaigns: dict[str, Campaign], charlie: User) -> Client:
    """In a browser that has begun in all three, with an account or without; their first blocks are given back."""
    client = Client()
    if request.param == "account":
        client.force_login(charlie)
    for slug in campaigns:
        Visitor(client, f"/judge/{slug}/").begin()
    Assignment.objects.filter(state="issued").update(state="returned", issued_at=timezone.now())
    return client


def go_on(client: Client) -> Page:
    return Page(client.post("/me/go-on/", follow=True))


def judge_next(client: Client) -> str:
    """Answer the block that the button leads to; the campaign that it was of."""
    page = go_on(client)
    url = page.response.request["PATH_INFO"]
    visitor = Visitor(client, url)
    while 'name="assignment"' in visitor.page.html:
        visitor.answer("tie")
    return Campaign.objects.get(public_id=url.split("/")[2]).slug


@pytest.mark.full
def test_the_button_shares_ones_time_evenly_among_campaigns(client: Client) -> None:
    assert BUTTON in Page(client.get("/me/")).words
    for _ in range(11):
        judge_next(client)
    had = Counter(Assignment.objects.exclude(annotator=None).values_list("campaign__slug", flat=True))
    assert max(had.values()) - min(had.values()) <= 3, "no more than the longest block apart"


def test_an_open_block_comes_first(client: Client, campaigns: dict[str, Campaign]) -> None:
    autumn = campaigns["autumn"]
    Visitor(client, "/judge/autumn/").begin()
    for _ in range(2):
        page = go_on(client)
        assert page.response.request["PATH_INFO"] == f"/judge/{autumn.public_id}/"
        assert "1 of 3" in page.words


@pytest.mark.full
def test_one_with_nothing_to_ask_is_passed_over(client: Client, campaigns: dict[str, Campaign]) -> None:
    Assignment.objects.filter(campaign=campaigns["trial"], state="queued").update(state="withdrawn")
    assert {judge_next(client) for _ in range(4)} == {"spring", "autumn"}


def test_one_that_became_private_or_stopped_is_not_shown_even_with_an_open_block(
    client: Client, campaigns: dict[str, Campaign]
) -> None:
    Visitor(client, "/judge/trial/").begin()
    Campaign.objects.filter(slug="trial").update(visibility="private")
    campaign_stop(campaign=campaigns["spring"], reason="enough")
    page = Page(client.get("/me/"))
    assert [url for url in page.links if url.startswith("/judge/")] == [f"/judge/{campaigns['autumn'].public_id}/"]
    assert BUTTON not in page.words, "there is one left, which has its own button"
    assert judge_next(client) == "autumn"
    assert "since" in page.words, "what was done stays"


def test_one_that_was_left_or_excludes_is_not_led_to(client: Client, campaigns: dict[str, Campaign]) -> None:
    client.post("/me/leave/", {"campaign": str(campaigns["trial"].public_id)})
    Enrolment.objects.filter(campaign=campaigns["spring"]).update(paused_at=timezone.now())
    assert {judge_next(client) for _ in range(2)} == {"autumn"}


def test_where_nothing_waits_it_says_so(client: Client) -> None:
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    assert "There is nothing for you to judge at the moment." in go_on(client).words


def test_a_stranger_is_led_nowhere_and_nothing_is_claimed_by_looking(client: Client) -> None:
    assert Page(Client().post("/me/go-on/", follow=True)).response.request["PATH_INFO"] == "/me/"
    assert client.get("/me/go-on/").status_code == 405
    assert not Assignment.objects.filter(state="issued").exists()


class TestOnesOwn:
    @pytest.fixture(autouse=True)
    def _there(self, campaign: Campaign) -> Iterator[None]:
        yield
        assert not Judgment.objects.exists()

    WHY = "Every comparison here has a chatbot of your organisation in it"

    def test_an_owner_reads_why_there_is_nothing_for_them_and_what_annotators_read(self, owner: Client) -> None:
        page = Page(owner.get("/judge/trial/"))
        assert self.WHY in page.words
        assert "set up a private campaign" in page.words
        assert "Read both replies to the end" in page.words
        assert "Start judging" not in page.words
        assert "Start judging" in Page(Client().get("/judge/trial/")).words, "the public judges"

    def test_an_owner_who_sends_an_old_page_takes_no_part(self, owner: Client) -> None:
        visitor = Visitor(owner, "/judge/trial/")
        assert owner.post("/judge/trial/begin/").status_code == 302
        visitor.reload()
        assert self.WHY in visitor.page.words
        assert not Annotator.objects.exists()

    def test_who_had_joined_before_is_told_and_does_not_wait_for_ever(
        self, owner: Client, campaign: Campaign, alice: User
    ) -> None:
        annotator_enrol(campaign=campaign, user=alice)
        visitor = Visitor(owner, "/judge/trial/")
        visitor.begin()
        assert "These chatbots are your own" in visitor.page.words
        assert self.WHY in visitor.page.words
        assert "Nothing to judge right now" not in visitor.page.words
        assert "every 5s" not in visitor.page.html

    def test_it_is_not_offered_to_them_on_their_page(self, owner: Client, make_campaign: CampaignMaker) -> None:
        assert "/judge/trial/" not in Page(owner.get("/me/")).links
        assert "/judge/trial/" in Page(Client().get("/me/")).links

    def test_members_judge_in_a_private_campaign(self, owner: Client) -> None:
        Campaign.objects.update(visibility="private", admission="members")
        visitor = Visitor(owner, "/judge/trial/")
        visitor.begin()
        assert "1 of 3" in visitor.page.words
