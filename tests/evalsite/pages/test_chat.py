"""The chat page as a browser without scripts gets it: from the welcome to the end, and what goes wrong in between."""

import re
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_pause
from evalsite.core.env import networks
from evalsite.dialogues.models import ChatbotReport, Conversation, Turn
from evalsite.endpoints.failures import ErrorClass
from evalsite.judgments.models import Annotator, Judgment
from tests.evalsite.dialogues.steps import answer_all, endpoint_of, live_campaign_make
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.shared import shared


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def soba(organisation: Organisation) -> Campaign:
    return live_campaign_make(organisation=organisation, slug="soba", chatbots=2, opening_topics=["A trip"])


@shared
def written(organisation: Organisation) -> Campaign:
    return live_campaign_make(
        organisation=organisation,
        slug="written",
        chatbots=3,
        selection="sata",
        fallback="written",
        chatbots_per_conversation=3,
    )


class Guest:
    """A browser without scripts in one campaign."""

    def __init__(self, client: Client, slug: str) -> None:
        self.client, self.url = client, f"/chat/{slug}/"
        client.post(f"/judge/{slug}/begin/")

    def page(self) -> Any:
        return self.client.get(self.url)

    def field(self, name: str) -> str:
        found = re.search(rf'name="{name}" value="([^"]+)"', self.page().content.decode())
        return found.group(1) if found else ""

    def send(self, text: str = "Hello!", **more: str) -> Any:
        fields = {"conversation": self.field("conversation"), "key": self.field("key"), "text": text}
        return self.client.post(f"{self.url}send/", {**fields, **more})

    def select(self, *labels: str, **more: str) -> Any:
        return self.client.post(f"{self.url}select/", {"turn": self.field("turn"), "selected": labels, **more})

    def act(self, what: str, **fields: str) -> Any:
        return self.client.post(f"{self.url}{what}/", fields)

    def turn(self, text: str = "Hello!") -> None:
        """Send a message; the replies come."""
        self.send(text)
        answer_all()


@pytest.fixture
def guest(soba: Campaign, stranger: Client) -> Guest:
    guest = Guest(stranger, "soba")
    guest.act("begin", key="k", review="on")
    return guest


@pytest.fixture
def writer(written: Campaign, stranger: Client) -> Guest:
    guest = Guest(stranger, "written")
    guest.act("begin", key="k")
    return guest


def state(page: Any) -> str:
    found = re.search(r'data-state="(\w+)"', page.content.decode())
    return found.group(1) if found else ""


def test_welcome_of_a_live_campaign_says_where_words_go_and_leads_to_the_chat(soba: Campaign, stranger: Client) -> None:
    soba.live.data_notice = "They go to **Example Inc**."
    soba.live.save()
    page = words(stranger.get("/judge/soba/"))
    assert "2 anonymous chatbots reply to each of them" in page
    assert "They go to Example Inc" in page
    assert stranger.get("/chat/soba/")["Location"] == "/judge/soba/"
    assert stranger.post("/judge/soba/begin/")["Location"] == "/chat/soba/"
    assert stranger.get("/judge/soba/")["Location"] == "/chat/soba/"
    assert state(stranger.get("/chat/soba/")) == "ready"


def test_static_campaign_has_no_chat_page(campaign: Campaign, stranger: Client) -> None:
    stranger.post("/judge/trial/begin/")
    assert stranger.get("/chat/trial/")["Location"] == "/judge/trial/"


def test_turn_goes_from_the_message_to_the_next_one(guest: Guest) -> None:
    assert "Topic: A trip" in words(guest.page())
    guest.send("Can I freeze rice?")
    assert state(guest.page()) == "waiting"
    assert "Replies are being written" in words(guest.page())
    answer_all()
    page = guest.page()
    assert state(page) == "choose"
    assert "to Can I freeze rice?" in words(page)
    guest.select("A")
    page = guest.page()
    assert (state(page), Judgment.objects.count()) == ("write", 1)
    assert "Turn 2 of at least 2" in words(page)


def test_poll_is_answered_only_when_something_has_changed(guest: Guest) -> None:
    guest.send()
    page = guest.page().content.decode()
    stamp = re.search(r'hx-get="[^"]*\?seen=([^"]+)"', page)
    every = re.search(r'hx-trigger="every (\d+)ms"', page)
    assert stamp
    assert every
    assert int(every.group(1)) <= 500
    poll = f"{guest.url}?seen={stamp.group(1)}"
    assert guest.client.get(poll, headers={"HX-Request": "true"}).status_code == 204
    answer_all()
    changed = guest.client.get(poll, headers={"HX-Request": "true"})
    assert (changed.status_code, state(changed)) == (200, "choose")


def test_message_that_is_too_long_stays_in_the_box(guest: Guest) -> None:
    refused = guest.send("x" * 100_000)
    assert "characters; the most is" in words(refused)
    assert "x" * 100 in refused.content.decode()
    assert not Turn.objects.exists()


def test_message_of_a_second_window_is_kept_as_a_draft(guest: Guest) -> None:
    conversation, key = guest.field("conversation"), guest.field("key")
    guest.send("First")
    again = guest.send("First", conversation=conversation, key=key)
    assert again.status_code == 302
    other = guest.send("Second", conversation=conversation, key=key)
    assert "You sent another message in this place already." in words(other)
    assert Turn.objects.count() == 1


def test_soba_asks_for_a_selection(guest: Guest) -> None:
    guest.turn()
    assert "Select one of the replies first." in words(guest.select())
    assert not Judgment.objects.exists()


def test_nothing_selected_asks_for_a_better_reply(writer: Guest) -> None:
    writer.turn()
    assert "Select every appropriate reply." in words(writer.page())
    asked = writer.select()
    assert "You selected none of the replies. Write a better reply" in words(asked)
    assert "Write a reply, or select one" in words(writer.select(none="yes"))
    writer.select(none="yes", written="I would freeze it.")
    page = words(writer.page())
    assert "The reply that you wrote: Chatbot: I would freeze it." in page
    assert Judgment.objects.count() == 1


def test_nothing_selected_is_confirmed_where_a_random_reply_continues(
    organisation: Organisation, stranger: Client
) -> None:
    live_campaign_make(organisation=organisation, slug="random", chatbots=2, selection="sata")
    guest = Guest(stranger, "random")
    guest.act("begin", key="k")
    guest.turn()
    assert "a random one of them continues the conversation" in words(guest.select())
    guest.select(none="yes")
    assert "A random reply continues:" in words(guest.page())


def test_failed_chatbot_makes_the_turn_void_and_is_told(guest: Guest) -> None:
    guest.turn()
    guest.select("A")
    guest.send("And then?")
    turn = Turn.objects.latest("pk")
    answer_all({endpoint_of(turn, 0): ErrorClass.REJECTED})
    page = guest.page()
    assert state(page) == "write"
    assert "A chatbot did not reply. The turn is not judged" in words(page)
    assert "The only reply that came:" in words(page)


def test_hostile_replies_and_messages_are_text(guest: Guest) -> None:
    guest.turn(HOSTILE)
    page = guest.page().content.decode()
    assert "<script>alert" not in page
    assert "<img" not in page.partition('id="stage"')[2]
    assert "⟦U+202E⟧" in page


def test_skip_and_report_say_what_happened(guest: Guest) -> None:
    guest.turn()
    turn = guest.field("turn")
    reported = guest.act("report", turn=turn, label="A", reason="broken", note="Cut")
    assert "Reported." in words(reported)
    assert ChatbotReport.objects.get().note == "Cut"
    assert "Skipped. The turn is not judged." in words(guest.act("skip", turn=turn, reason="cannot_judge"))
    assert (state(guest.page()), Judgment.objects.count()) == ("write", 0)


def test_conversation_ends_with_a_rating(guest: Guest) -> None:
    for _ in range(2):
        guest.turn()
        guest.select("B")
    assert "you may end now" in words(guest.page())
    ending = guest.act("ending")
    assert "How good was this conversation, as a whole?" in words(ending)
    fields = {"conversation": guest.field("conversation")}
    assert "Rate the conversation." in words(guest.act("end", **fields)) or state(guest.page()) == "write"
    guest.act("end", **fields, rating="4", feedback="Good")
    row = Conversation.objects.get()
    assert (row.state, row.rating, row.feedback, row.consents_to_review) == ("ended", 4, "Good", True)
    page = words(guest.page())
    assert "Thank you" in page
    assert "You have had all conversations that one person may have here." in page
    assert "You have done your share" in words(guest.act("begin", key="another"))


def test_who_leaves_is_told_and_may_not_be_forgotten(guest: Guest) -> None:
    guest.turn()
    guest.act("leave", conversation=guest.field("conversation"))
    assert Conversation.objects.get().state == "left"
    assert "You left the conversation. What you judged in it is kept." in words(guest.page())


def test_paused_campaign_holds_the_conversation(guest: Guest, soba: Campaign) -> None:
    campaign_pause(campaign=soba)
    page = guest.page()
    assert state(page) == "held"
    assert "The campaign is paused." in words(page)
    assert 'name="text"' not in page.content.decode()


def test_nobody_acts_in_the_conversation_of_another(guest: Guest, soba: Campaign) -> None:
    other = Guest(Client(), "soba")
    sent = other.send("Hello", conversation=guest.field("conversation"), key="page-1")
    assert sent.status_code == 404
    assert Annotator.objects.count() == 2
    assert not Turn.objects.exists()
