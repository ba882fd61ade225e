"""Every page, asked for in both languages: no sentence of ours is the same in both."""

import calendar
from dataclasses import asdict

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.first_administrator import setup_link_issue
from evalsite.accounts.members import invitation_token, member_invite, organisation_found
from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.feasibility import OutOfReach
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.campaigns.services import prompt_retire
from evalsite.chatbots.models import Chatbot
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.judgments.annotator_actions import annotator_note
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import PERFORMED
from evalsite.operations.models import Notice
from evalsite.operations.notices import notice_raise
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.refits.full_check import check_ask
from evalsite.refits.services import alarm_raise
from tests import console_pages
from tests.environment import FULL
from tests.evalsite.cast import CampaignMaker, run_jobs
from tests.evalsite.dialogues.steps import begin, live_campaign_make, released
from tests.evalsite.endpoints.steps import call_all
from tests.evalsite.pages.bilingual import alike
from tests.evalsite.pages.reading import Visitor
from tests.evalsite.refits.test_screening import crowd_make, screened
from tests.shared import shared

BOARD = ("", "charts/", "prompts/", "method/", "embed/")
ACCOUNT = ("login", "sign-up", "password", "password/sent")
OWN = ("tokens", "webhooks", "organisations", "organisations/acme")
NAMES = (
    "Touchstone",
    "Trial",
    "trial",
    "Draft",
    "draft",
    "bot",
    "alice",
    "Prompts",
    "Chatbots",
    "Badge",
    "Anthropic",
    "Messages",
    "SVG",
    "Mechanical",
    "Turk",
)
OF_DRAFTS = ("pilot", "launch", "cap_calls", "show", "share", "pause")  # pause: one of those that need a launch
LABELS = ("correct", "incorrect", "irrelevant", "inappropriate", "weakly", "related")  # what scorecards know
SAME = (*NAMES, *LABELS, *calendar.month_abbr, "UTC")


class Reader:
    """A person with two browsers, of which one asks for English and one for German."""

    def __init__(self, user: User | None = None) -> None:
        self.english, self.german = (Client(headers={"Accept-Language": one}) for one in ("en", "de"))
        if user is not None:
            self.english.force_login(user)
            self.german.force_login(user)

    def left(self, address: str) -> list[str]:
        """What the German page says in English."""
        english, german = (client.get(address, follow=True) for client in (self.english, self.german))
        assert english.status_code == german.status_code, address
        assert 'lang="de"' in german.content.decode(), address
        found = alike(english.content.decode(), german.content.decode(), names=SAME)
        return [f"{address}: {text}" for text in found]


@shared
def lively(make_campaign: CampaignMaker, alice: User) -> Campaign:
    """A campaign in which much has happened that pages tell of."""
    campaign, adversary = screened(crowd_make(make_campaign), Campaign.Screening.PROPOSE)
    run_jobs()
    other = Annotator.objects.exclude(pk=adversary.pk)[0]
    annotator_exclude(campaign=campaign, annotator=other, reason="in haste", by=alice)
    annotator_note(campaign=campaign, annotator=adversary, text="to be asked", by=alice)
    gold_add(campaign=campaign, items=[NewGold("g1", ("A",), prompt="p1", texts=("Four", "Five"))])
    prompt_retire(campaign=campaign, prompt=campaign.prompt_set.prompts.all()[0], reason="asked twice", by=alice)
    check_ask(campaign=campaign, by=alice)
    alarm_raise(campaign=campaign, message="broken")
    facts: dict[str, str | int | float] = {"reason": "its owner ended it", "message": "broken", "spent": 5, "budget": 6}
    facts |= asdict(OutOfReach(60, 0.2071, 0.22, difference=False))
    for event in Notice.Event:
        notice_raise(campaign=campaign, event=event, mark="1", facts=facts)
    return campaign


def endpoint_pages(owner: User) -> list[str]:
    """Pages of an endpoint whose test has failed and whose collection goes on."""
    chatbot = Chatbot.objects.all()[0]
    settings = EndpointSettings(adapter="http_json", url="https://nobody.invalid/", system_prompt="trial")
    endpoint = endpoint_register(chatbot=chatbot, label="live", settings=settings, secret="sk-of-this-test", by=owner)
    endpoint_test(endpoint=endpoint, by=owner)
    call_all()
    collection_start(endpoint=endpoint, prompt_set=PromptSet.objects.all()[0], by=owner)
    home = f"/console/chatbots/endpoints/{endpoint.public_id}/"
    return [home, f"{home}change/", f"/console/chatbots/{chatbot.public_id}/endpoint/"]


def test_no_page_of_the_console_says_anything_in_english_to_a_german_reader(
    lively: Campaign, make_campaign: CampaignMaker, alice: User
) -> None:
    make_campaign(slug="draft", chatbots=3, prompts=4, start=False)
    User.objects.update(is_staff=True, is_superuser=True)
    annotator, prompt, gold = Annotator.objects.all()[0], Prompt.objects.all()[1], GoldItem.objects.get()
    of_whom = f"annotator={annotator.public_id}&prompt={prompt.public_id}&gold={gold.public_id}"
    whom = f"{of_whom}&entrant={lively.entrants.all()[0].public_id}"
    pages = [f"/console/{page}" for page in console_pages.OWN]
    pages += endpoint_pages(alice)
    pages += [f"/console/chatbots/{Chatbot.objects.all()[0].public_id}/"]
    pages += [f"/console/prompt-sets/{lively.prompt_set.public_id}/"]
    pages += [f"/console/{slug}/{page}" for slug in ("trial", "draft") for page in console_pages.CAMPAIGN]
    chat = live_campaign_make(organisation=alice.personal_organisation, slug="trial-chat", chatbots=2)
    PromptSet.objects.filter(pk=chat.prompt_set_id).update(name="Prompts")
    released(begin(chat, annotator_enrol(campaign=chat)))
    pages += [f"/console/{chat.slug}/{page}" for page in console_pages.LIVE]
    pages += [f"/console/trial/act/{act}/?{whom}" for act in PERFORMED]
    pages += [f"/console/draft/act/{act}/?{whom}" for act in PERFORMED if FULL or act in OF_DRAFTS]
    pages += [f"/console/draft/setup/{step}/" for step in console_pages.STEPS]
    pages += ["/console/trial/setup/goal/", "/console/nothing/", "/console/trial/judgments/?counted=no"]
    reader = Reader(alice)
    assert [text for page in pages for text in reader.left(page)] == []


@pytest.mark.parametrize("state", ["running", "paused", "stopped"])
def test_no_public_page_says_anything_in_english_to_a_german_reader(lively: Campaign, state: str) -> None:
    Campaign.objects.update(state=state, stopped_at=timezone.now() if state == "stopped" else None)
    prompt, chatbot = Prompt.objects.all()[1], Chatbot.objects.all()[0]
    pages = [f"/boards/trial/{page}" for page in BOARD]
    pages += [f"/boards/trial/prompts/{prompt.public_id}/", f"/boards/trial/chatbots/{chatbot.public_id}/"]
    pages += ["/", "/judge/trial/", "/me/"]
    if FULL or state == "running":  # what these pages say depends on no campaign
        pages += ["/nowhere/", "/join/nothing/", *(f"/account/{page}/" for page in ACCOUNT)]
    reader = Reader()
    assert [text for page in pages for text in reader.left(page)] == []


def test_no_page_of_an_account_says_anything_in_english_to_a_german_reader(alice: User, charlie: User) -> None:
    acme = organisation_found(name="Acme", owner=alice)
    Membership.objects.create(organisation=acme, user=charlie, role="viewer")
    token = invitation_token(member_invite(slug="acme", email="alice@example.org", role="viewer", by=alice))
    api_token_issue(user=alice, name="trial", scopes=ApiToken.Scope.values, days=9)
    secret = setup_link_issue()
    pages = [f"/account/{page}/" for page in OWN]
    pages += [f"/account/organisations/acme/members/{one.public_id}/remove/" for one in (alice, charlie)]
    pages += [f"/account/tokens/{ApiToken.objects.get().pk}/revoke/", f"/account/invitations/{token}/"]
    public = ["/", f"/setup/{secret}/", "/setup/none/", f"/account/invitations/{token}/", "/account/invitations/none/"]
    reader, visitor = Reader(alice), Reader()
    assert [text for page in pages for text in reader.left(page)] == []
    assert [text for page in public for text in visitor.left(page)] == []


def test_nothing_is_english_to_somebody_who_judges_in_german(campaign: Campaign) -> None:
    reader = Reader()
    english, german = (Visitor(client, "/judge/trial/") for client in (reader.english, reader.german))
    left: list[str] = []
    for step in ("begin", "answer", "answer", "answer"):
        for visitor in (english, german):
            visitor.begin() if step == "begin" else visitor.answer("A")
        left += alike(english.page.html, german.page.html, names=SAME)
    assert left == []
    assert reader.left("/me/") == []


def test_what_is_in_both_languages_is_found_and_what_people_wrote_is_not() -> None:
    english = '<p title="Ask them">1,000 a week</p><p>Go on now</p><bdi>Their own words</bdi>'
    german = '<p title="Ask them">1.000 a week</p><p>Nun weiter</p><bdi>Their own words</bdi>'
    assert alike(english, german, names=()) == ["Ask them", "1.000 a week"]
    assert alike(english, german, names=("Ask",)) == ["1.000 a week"]
