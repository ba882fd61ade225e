"""Names that pretend to be others: signs that nobody sees, turned text, letters of other scripts."""

import pytest
from django.contrib.admin.sites import site
from django.test import Client

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import organisation_create, organisation_verify, user_create
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add, entrant_withdraw
from evalsite.chatbots.models import Chatbot
from evalsite.chatbots.services import chatbot_create, version_create
from evalsite.core.confusable_names import hidden_sign, mixed_word, skeleton
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.judgments.models import Annotator
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.reading import Page

SIGN_UP = {"password": "correct horse battery staple"}
HIDDEN = {
    "no width": "alice\u200b",
    "joiner in ASCII": "al\u200dice",
    "override": "\u202eecila",
    "isolate": "\u2067alice\u2069",
    "soft hyphen": "al\u00adice",
    "filler": "alice\u3164",
    "tag": "alice\U000e0061",
    "byte order": "\ufeffalice",
}
MIXED = {"Cyrillic": "\u0430lice", "Greek": "\u03b1lice", "Cherokee": "ali\u13dfe", "Armenian": "alic\u0435"}
WHOLE = {
    "scope": "\u0455\u0441\u043e\u0440\u0435",
    "ace": "\u0430\u0441\u0435",
    "HEX": "\u041d\u0415\u0425",
    "heron": "\uff48\uff45\uff52\uff4f\uff4e",
    "Ibis": "IBIS",
}


@pytest.mark.parametrize(("name", "like"), [(name, like) for like, name in WHOLE.items()])
def test_names_in_letters_of_another_script_have_one_skeleton(name: str, like: str) -> None:
    assert skeleton(name) == skeleton(like)


@pytest.mark.parametrize(
    ("one", "other"), [("Qwen-VL", "Qwen-V1"), ("Héron", "Heron"), ("modem", "modern"), ("a b", "ab")]
)
def test_names_that_readers_tell_apart_stay_apart(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize(
    "name", ["Яндекс GPT", "通义Qwen", "Ελένη", "नमस्\u200dते", "👩\u200d🔬 bot", "μTorrent", "Café", "O'Brien", "שלום 2"]
)
def test_names_of_the_world_are_taken(name: str) -> None:
    assert (hidden_sign(name), mixed_word(name)) == ("", "")


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*HIDDEN.values(), *MIXED.values()], ids=[*HIDDEN, *MIXED])
def test_nobody_signs_up_under_a_name_that_hides_something(name: str, stranger: Client) -> None:
    page = Page(stranger.post("/account/sign-up/", {**SIGN_UP, "username": name}))
    assert page.response.status_code == 400
    assert "cannot be seen" in page.words or "mixes letters of different scripts" in page.words
    assert not User.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("first", "second"), [("ace", "\u0430\u0441\u0435"), ("\u0430\u0441\u0435", "ace"), ("ace", "\uff41ce")]
)
def test_nobody_signs_up_under_a_name_that_looks_like_another(first: str, second: str) -> None:
    user_create(username=first, password=None)
    with pytest.raises(InvalidInput) as refused:
        user_create(username=second, password=None)
    assert refused.value.field == "username"


@pytest.mark.parametrize("name", [*HIDDEN.values(), *MIXED.values()], ids=[*HIDDEN, *MIXED])
def test_chatbots_organisations_and_prompts_hide_nothing(organisation: Organisation, name: str) -> None:
    with pytest.raises(InvalidInput):
        chatbot_create(organisation=organisation, name=name)
    with pytest.raises(InvalidInput):
        organisation_create(name=name)
    with pytest.raises(InvalidInput):
        prompt_set_create(organisation=organisation, name="set", prompts=[NewPrompt(name, None)])
    assert not Chatbot.objects.exists()
    assert not Prompt.objects.exists()


@pytest.mark.parametrize("name", ["TRIAL BOT 0", "trial  bot 0", "\uff54\uff52\uff49\uff41\uff4c bot 0"])
def test_lookalike_does_not_enter_a_campaign(campaign: Campaign, organisation: Organisation, name: str) -> None:
    assert Chatbot.objects.filter(name="trial bot 0").exists()
    elsewhere = organisation_create(name="Elsewhere")
    version = version_create(chatbot=chatbot_create(organisation=elsewhere, name=name))
    with pytest.raises(Conflict) as refused:
        entrant_add(campaign=campaign, version=version)
    assert refused.value.code == "lookalike"


def test_lookalike_of_a_withdrawn_chatbot_does_not_enter(campaign: Campaign, organisation: Organisation) -> None:
    entrant = campaign.entrants.get(version__chatbot__name="trial bot 0")
    entrant_withdraw(campaign=campaign, entrant=entrant, reason="gone")
    version = version_create(chatbot=chatbot_create(organisation=organisation, name="Trial Bot 0"))
    with pytest.raises(Conflict):
        entrant_add(campaign=campaign, version=version)
    entrant_add(campaign=campaign, version=version_create(chatbot=entrant.version.chatbot, label="2"))


def test_hidden_signs_of_an_older_name_are_shown_on_the_board(
    campaign: Campaign, bob: Annotator, stranger: Client
) -> None:
    Chatbot.objects.filter(name="trial bot 0").update(name="trial \u202ebot 0")
    judge(campaign, bob, blocks=3)
    run_jobs()
    board = stranger.get("/boards/trial/").content.decode()
    assert r"trial \u202ebot 0" in board
    chatbot = Chatbot.objects.get(name="trial \u202ebot 0")
    page = stranger.get(f"/boards/trial/chatbots/{chatbot.public_id}/").content.decode()
    assert r'<h1 dir="auto">trial \u202ebot 0</h1>' in page


def test_verified_organisations_have_a_mark_by_staff_only(
    campaign: Campaign, bob: Annotator, alice: User, organisation: Organisation, stranger: Client
) -> None:
    judge(campaign, bob, blocks=3)
    run_jobs()
    api = "/api/v1/campaigns/trial"
    assert "✓ verified" not in Page(stranger.get("/boards/trial/")).words
    with pytest.raises(NotAllowed):
        organisation_verify(organisation=organisation, verified=True, by=alice)
    staff = user_create(username="staff", password=None, staff=True)
    organisation_verify(organisation=organisation, verified=True, by=staff)
    assert "alice ✓ verified" in Page(stranger.get("/boards/trial/")).words
    assert stranger.get(api).json()["organisation_verified"]
    assert all(row["organisation_verified"] for row in stranger.get(f"{api}/chatbots").json()["results"])
    organisation_verify(organisation=organisation, verified=False, by=staff)
    assert "✓ verified" not in Page(stranger.get("/boards/trial/")).words
    assert not stranger.get(api).json()["organisation_verified"]


def test_staff_verify_organisations_in_the_admin(organisation: Organisation) -> None:
    staff = user_create(username="staff", password=None, staff=True)
    client = Client()
    client.force_login(staff)
    url = "/admin/accounts/organisation/"
    for action, wanted in (("verify", True), ("withdraw_verification", False)):
        client.post(url, {"action": action, "_selected_action": [organisation.pk]})
        organisation.refresh_from_db()
        assert (organisation.verified_at is not None) == wanted
    assert site.is_registered(Organisation)
    page = client.post(f"{url}add/", {"name": "Acm\u0435", "slug": "acme"}).content.decode()
    assert "mixes letters of different scripts" in page
