"""Attack: a member logs out, comes back as a pseudonym, and judges the chatbot of their own organisation."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import user_create
from evalsite.campaigns.models import Campaign
from evalsite.exchange.campaign_file import campaign_read, campaign_take, campaign_write
from evalsite.judgments.conflict_of_interest import own_entrants
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from evalsite.pages.known_devices import DEVICE
from tests.evalsite.cast import CampaignMaker, assignment_claim, run_jobs

PASSWORD = "correct horse battery"


def log_in(client: Client, user: User) -> None:
    found = client.post(reverse("login"), {"username": user.username, "password": PASSWORD})
    assert found.status_code == 302


def make_own(campaign: Campaign, user: User) -> int:
    """Make the first entrant one of this user's own organisation; its key."""
    entrant = campaign.entrants.select_related("version__chatbot").order_by("pk")[0]
    entrant.version.chatbot.organisation = user.personal_organisation
    entrant.version.chatbot.save()
    return int(entrant.pk)


def judged(client: Client, campaign: Campaign, *, rounds: int = 6) -> set[int]:
    """Entrants that this browser is shown in some rounds."""
    Campaign.objects.filter(pk=campaign.pk).update(block_size=6)
    for _ in range(rounds):
        client.post(f"/judge/{campaign.slug}/begin/")
        for held in Assignment.objects.filter(campaign=campaign, state="issued"):
            client.post(f"/judge/{campaign.slug}/answer/", {"assignment": str(held.public_id), "choice": "A"})
        run_jobs()
    shown = Assignment.objects.filter(campaign=campaign, state="answered").values_list("item", flat=True)
    return {entrant for item in shown for entrant in item_parts(item)[1]}


def test_member_who_logged_out_is_not_asked_about_their_own(campaign: Campaign, charlie: User) -> None:
    own, browser = make_own(campaign, charlie), Client()
    log_in(browser, charlie)
    browser.post(reverse("logout"))
    assert "_auth_user_id" not in browser.session
    shown = judged(browser, campaign)
    assert len(shown) == 3
    assert own not in shown


def test_another_device_cannot_be_known(campaign: Campaign, charlie: User) -> None:
    own = make_own(campaign, charlie)
    assert own in judged(Client(), campaign, rounds=2), "as the method page says"
    page = Client().get("/boards/trial/method/").content.decode()
    assert "What cannot be known" in page


def test_two_chatbots_of_which_one_is_own_leave_nothing(make_campaign: CampaignMaker, charlie: User) -> None:
    pair, browser = make_campaign(slug="pair", chatbots=2), Client()
    make_own(pair, charlie)
    log_in(browser, charlie)
    browser.post(reverse("logout"))
    page = browser.get("/judge/pair/").content.decode()
    assert "a chatbot of your organisation in it" in page
    browser.post("/judge/pair/begin/")
    assert not Assignment.objects.filter(campaign=pair, state="issued").exists()


@pytest.mark.parametrize("forged", ["", "nonsense", "WyJ4Il0:1abc:zzz"])
def test_forged_device_cookie_is_ignored(campaign: Campaign, forged: str) -> None:
    browser = Client()
    browser.cookies[DEVICE] = forged
    assert browser.get("/judge/trial/").status_code == 200
    browser.post("/judge/trial/begin/")
    assert Assignment.objects.filter(state="issued").exists()


def test_device_cookie_holds_no_name_and_is_hidden_from_scripts(charlie: User) -> None:
    browser = Client()
    log_in(browser, charlie)
    cookie = browser.cookies[DEVICE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert not re.search("charlie", cookie.value)


def test_imported_chatbot_carries_its_organisation(campaign: Campaign, alice: User, charlie: User) -> None:
    """alice's campaign, taken in by charlie: her members judge her chatbots there no more than at home."""
    text = campaign_write(campaign).replace("slug: trial", "slug: copy")
    home: Organisation = charlie.personal_organisation
    copy = campaign_take(organisation=home, given=campaign_read(text), by=charlie)
    campaign_open(campaign=copy)
    run_jobs()
    assert len(own_entrants(copy, {alice.pk})) == 4
    member = annotator_enrol(campaign=copy, user=alice)
    assert assignment_claim(campaign=copy, annotator=member) == []
    stranger: Any = user_create(username="erika", password=PASSWORD)
    assert own_entrants(copy, {stranger.pk}) == set()
