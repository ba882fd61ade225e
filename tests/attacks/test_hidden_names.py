"""Attack: a name that was stored before names were checked turns the text of a page around, or hides a part of it."""

import re
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import user_create
from evalsite.boards.feasibility import OutOfReach
from evalsite.boards.models import Board
from evalsite.campaigns.drafts import draft_change
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import campaign_create, entrant_add
from evalsite.chatbots.models import Chatbot, Version
from evalsite.chatbots.services import chatbot_create, version_create
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.models import Annotator
from evalsite.operations.models import Notice
from evalsite.operations.notices import notice_raise
from evalsite.prompts.models import PromptSet
from tests import console_pages
from tests.evalsite.cast import CampaignMaker, judge, run_jobs
from tests.shared import shared

SIGN = "\u202e"  # turns what follows around
HIDING = f"la{SIGN}irt"
FIELD = re.compile(r'<input\b[^>]*>|<textarea\b.*?</textarea>|<option value="[^"]*"', re.DOTALL)
BOARD = ("", "charts/", "prompts/", "method/", "embed/")


def hide(model: type[Chatbot | Campaign | Organisation | PromptSet | Board | User | Version], field: str) -> None:
    for number, row in enumerate(model.objects.order_by("pk")):
        model.objects.filter(pk=row.pk).update(**{field: f"{HIDING} {number}"})


@shared
def hidden(campaign: Campaign, bob: Annotator, alice: User, make_campaign: CampaignMaker) -> Campaign:
    """A campaign with a board, and a draft, all of whose names are older than the check."""
    make_campaign(slug="draft", chatbots=3, prompts=2, start=False)
    for model in (Chatbot, Campaign, Organisation, PromptSet, Board):
        hide(model, "name")
    hide(User, "username")
    judge(campaign, bob, blocks=3)
    run_jobs()
    facts: dict[str, str | int | float] = {"reason": "its owner ended it", "message": "broken", "spent": 5, "budget": 6}
    facts |= asdict(OutOfReach(60, 0.2071, 0.22, difference=False))
    for event in Notice.Event:
        notice_raise(campaign=campaign, event=event, mark="1", facts=facts)
    Campaign.objects.update(shows_prompts=True, shows_replies=True)
    campaign.refresh_from_db()
    return campaign


def pages(campaign: Campaign) -> Iterator[str]:
    chatbot = campaign.entrants.all()[0].version.chatbot
    for page in console_pages.OWN:
        yield f"/console/{page}"
    yield f"/console/chatbots/{chatbot.public_id}/"
    yield f"/console/prompt-sets/{campaign.prompt_set.public_id}/?lacking={chatbot.versions.get().public_id}"
    for slug in ("trial", "draft"):
        for page in (*console_pages.CAMPAIGN, *console_pages.ACTS):
            yield f"/console/{slug}/{page}"
    yield f"/console/trial/act/withdraw_entrant/?entrant={campaign.entrants.all()[0].public_id}"
    for step in console_pages.STEPS:
        yield f"/console/draft/setup/{step}/"


def public(campaign: Campaign) -> Iterator[str]:
    chatbot, prompt = campaign.entrants.all()[0].version.chatbot, campaign.prompt_set.prompts.all()[1]
    for page in (*BOARD, f"chatbots/{chatbot.public_id}/", f"prompts/{prompt.public_id}/"):
        yield f"/boards/trial/{page}"
    yield from ("/", "/judge/trial/", "/me/")


def raw(client: Client, address: str) -> list[str]:
    """Where the page carries the sign itself. What a person may edit stays as it is stored."""
    answer = client.get(address, follow=True)
    assert answer.status_code == 200, address
    text = FIELD.sub("", answer.content.decode())
    return [f"{address}: {text[max(0, at.start() - 90) : at.end() + 20]}" for at in re.finditer(SIGN, text)]


def test_console_shows_hidden_signs_of_older_names(hidden: Campaign, owner: Client) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    assert [where for address in pages(hidden) for where in raw(owner, address)] == []


def test_public_pages_show_hidden_signs_of_older_names(hidden: Campaign, stranger: Client) -> None:
    assert [where for address in public(hidden) for where in raw(stranger, address)] == []
    assert r"la\u202eirt" in stranger.get("/boards/trial/").content.decode()


def test_picture_and_badge_show_hidden_signs(hidden: Campaign, stranger: Client) -> None:
    badge = stranger.get("/boards/trial/badge.svg").content.decode()
    assert (SIGN in badge, "u202e" in badge) == (False, True)


MIXED = "Acm\u0435"


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "said"), [(f"a{SIGN}b", "valid username"), (MIXED, "mixes letters")])
def test_createsuperuser_refuses_names_that_hide_something(name: str, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("createsuperuser", interactive=False, username=name, email="a@example.org")
    assert not User.objects.exists()


@pytest.mark.django_db
def test_createsuperuser_refuses_a_lookalike() -> None:
    user_create(username="ace", password=None)
    with pytest.raises(CommandError, match="looks the same"):
        call_command("createsuperuser", interactive=False, username="\u0430\u0441\u0435", email="a@example.org")


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("staff"))
    return client


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("auth_user", {"username": MIXED, "usable_password": "false"}),
        ("organisation", {"name": MIXED, "slug": "acme"}),
    ],
)
def test_admin_refuses_names_that_hide_something(staff: Client, page: str, form: dict[str, str]) -> None:
    inline = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    address = "/admin/accounts/" + page.removeprefix("auth_") + "/add/"
    assert "mixes letters of different scripts" in staff.post(address, {**form, **inline}).content.decode()


def test_admin_does_not_rename_a_chatbot_to_a_lookalike(campaign: Campaign, staff: Client) -> None:
    chatbot = Chatbot.objects.get(name="trial bot 1")
    form = {"organisation": chatbot.organisation_id, "name": "TRIAL BOT 0", "description": ""}
    page = staff.post(f"/admin/chatbots/chatbot/{chatbot.pk}/change/", form).content.decode()
    assert "looks like" in page


def test_admin_adds_no_lookalike_to_a_campaign(campaign: Campaign, organisation: Organisation) -> None:
    version = version_create(chatbot=chatbot_create(organisation=organisation, name="TRIAL BOT 0"))
    with pytest.raises(Conflict):
        entrant_add(campaign=campaign, version=version)
    with pytest.raises(Exception, match="looks like"):
        Entrant(campaign=campaign, version=version).full_clean()


def test_campaigns_hide_nothing_in_their_names(campaign: Campaign, make_campaign: CampaignMaker) -> None:
    with pytest.raises(InvalidInput):
        campaign_create(
            organisation=campaign.organisation, name=f"a{SIGN}b", slug="other", prompt_set=campaign.prompt_set
        )
    draft = make_campaign(slug="draft", start=False)
    with pytest.raises(InvalidInput) as refused:
        draft_change(campaign=draft, changes={"name": MIXED})
    assert refused.value.field == "name"


def test_an_older_name_does_not_keep_a_form_from_being_saved(campaign: Campaign, organisation: Organisation) -> None:
    Campaign.objects.update(name=HIDING)
    draft_campaign = Campaign.objects.get(pk=campaign.pk)
    draft_campaign.description = "Changed."
    draft_campaign.clean()
    draft_campaign.save()
    assert Campaign.objects.get().description == "Changed."
