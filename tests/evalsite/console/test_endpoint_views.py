"""Pages of endpoints: register, test, collect, change and pause; who may; and no secret anywhere."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client, override_settings

from evalsite.accounts.models import Membership, User
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.core.models import AuditEntry
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.endpoints.models import Collection, Endpoint
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.endpoints.steps import call_all
from tests.evalsite.pages.test_pages import words
from tests.servers import LOCAL
from tests.shared import shared

SECRET = "sk-only-for-tests-4711"
HOME = "/console/chatbots/endpoints/"


@pytest.fixture(autouse=True)
def server() -> Iterator[ChatbotServer]:
    with chatbots_served(api_key=SECRET) as running, override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield running


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=2, prompts=4, start=False)


@pytest.fixture
def endpoint(draft: Campaign, alice: User, server: ChatbotServer) -> Endpoint:
    chatbot = draft.entrants.order_by("pk")[0].version.chatbot
    settings = EndpointSettings(adapter="openai", url=server.url, model="parrot", max_tokens=50)
    return endpoint_register(chatbot=chatbot, label="live", settings=settings, secret=SECRET, by=alice)


def form(url: str, /, **changes: Any) -> dict[str, Any]:
    return {
        "name": "Newcomer",
        "adapter": "openai",
        "url": url,
        "model": "concierge",
        "secret": SECRET,
        "max_tokens": "200",
        "currency": "EUR",
        "timeout_s": "20",
        "concurrency": "2",
        **changes,
    }


def acted(client: Client, endpoint: Endpoint, act: str, **sent: str) -> Any:
    return client.post(f"{HOME}{endpoint.public_id}/act/{act}/", sent)


def shown(client: Client, endpoint: Endpoint) -> str:
    return words(client.get(f"{HOME}{endpoint.public_id}/"))


def test_live_chatbot_is_registered_and_nothing_is_called(owner: Client, server: ChatbotServer) -> None:
    assert "Register the endpoint" in words(owner.get("/console/chatbots/new/"))
    answer = owner.post("/console/chatbots/new/", form(server.url, headers="X-Team: blue\nX-Key: {secret}"))
    endpoint = Endpoint.objects.get()
    assert answer["Location"] == f"{HOME}{endpoint.public_id}/"
    assert (endpoint.version.chatbot.name, endpoint.version.label) == ("Newcomer", "1")
    assert endpoint.headers == {"X-Team": "blue", "X-Key": "{secret}"}
    assert "Not tested yet." in words(owner.get(answer["Location"]))
    assert not server.calls


def test_version_with_an_endpoint_gets_the_next_number(owner: Client, server: ChatbotServer, draft: Campaign) -> None:
    chatbot = draft.entrants.order_by("pk")[0].version.chatbot
    address = f"/console/chatbots/{chatbot.public_id}/endpoint/"
    assert address in owner.get(f"/console/chatbots/{chatbot.public_id}/").content.decode()
    assert owner.get(address).status_code == 200
    assert owner.post(address, form(server.url)).status_code == 302
    assert Endpoint.objects.get().version.label == "2"
    text = words(owner.get(f"/console/chatbots/{chatbot.public_id}/"))
    assert "2 an endpoint not called yet Cost so far 0.00 EUR" in text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "http://192.0.2.1/v1\\"}, "The address cannot be called"),
        ({"url": ""}, "This field is required"),
        ({"model": ""}, "Enter one and save again."),
        ({"daily_cap": "0", "input_price": "1", "output_price": "1"}, "A cost cap must be more than 0."),
        ({"daily_cap": "5"}, "A cost cap needs both prices"),
        ({"headers": "X-Team"}, "Each line has a name, a colon and a value"),
        ({"headers": "Authorization: Bearer abc"}, "headers are not kept secret"),
        ({"adapter": "http_json", "body_template": "{}"}, "has no place for the messages"),
        ({"secret": "short"}, "A secret has 8 to 1,900"),
        ({"name": " "}, "This field is required"),
    ],
)
def test_wrong_settings_say_what_to_change(
    owner: Client, server: ChatbotServer, changes: dict[str, str], said: str
) -> None:
    answer = owner.post("/console/chatbots/new/", form(server.url, **changes))
    assert answer.status_code == 400
    assert said in words(answer)
    assert SECRET not in answer.content.decode()
    assert not Endpoint.objects.exists()
    assert not Chatbot.objects.filter(name="Newcomer").exists()


def test_test_shows_request_reply_latency_tokens_and_cost(owner: Client, endpoint: Endpoint) -> None:
    assert acted(owner, endpoint, "test").status_code == 302
    page = owner.get(f"{HOME}{endpoint.public_id}/")
    assert "Testing: 0 of 3 turns." in words(page)
    assert f"{endpoint.public_id}/live/" in page.content.decode(), "the page polls"
    call_all()
    text = shown(owner, endpoint)
    assert "The test passed." in text
    assert "Reply: My favourite number is 7. Which number is twice as large?" in text
    assert f"POST {endpoint.url}/v1/chat/completions" in text
    assert "Authorization: Bearer ••••••" in text
    assert "Status 200" in text
    assert "tokens in" in text
    part = owner.get(f"{HOME}{endpoint.public_id}/live/").content.decode()
    assert "hx-get" not in part, "nothing is polled any more"
    swapped = re.findall(r'id="(\w+)"[^>]* hx-swap-oob', part)
    assert swapped == ["state", "figures", "calls"], "figures outside of the polled part are renewed, too"
    assert 'Calls so far</dt><dd class="number">3<' in part
    assert 'data-state="healthy"' in part


def test_fields_of_plain_json_stand_apart(owner: Client) -> None:
    page = owner.get("/console/chatbots/new/").content.decode()
    inside = page.split('<fieldset class="plain-json">')[1].split("</fieldset>")[0]
    assert re.findall(r'name="(\w+)"', inside) == ["body_template", "reply_path"]


def test_failed_test_says_what_to_change(owner: Client, endpoint: Endpoint) -> None:
    acted(owner, endpoint, "secret", secret="sk-another-wrong-one")
    acted(owner, endpoint, "test")
    call_all()
    text = shown(owner, endpoint)
    assert "The test failed." in text
    assert "Enter the secret again, and check that it may use this model." in text
    assert "secret refused" in text
    assert "Status 401: The API key is wrong." in text


def test_replies_are_collected_with_progress(owner: Client, endpoint: Endpoint, draft: Campaign) -> None:
    chosen = str(draft.prompt_set.public_id)
    assert acted(owner, endpoint, "collect", prompt_set=chosen).status_code == 302
    text = shown(owner, endpoint)
    assert "0 of 4 replies" in text
    collection = Collection.objects.get()
    address = f"/console/chatbots/collections/{collection.public_id}/"
    assert owner.post(f"{address}pause/").status_code == 302
    assert "Paused." in shown(owner, endpoint)
    call_all()
    assert not Reply.objects.filter(version=endpoint.version).exists()
    owner.post(f"{address}resume/")
    call_all()
    assert "4 of 4 replies" in shown(owner, endpoint)
    assert Reply.objects.filter(version=endpoint.version).count() == 4


def test_setup_collects_and_then_offers_the_version(owner: Client, endpoint: Endpoint, draft: Campaign) -> None:
    step = f"/console/{draft.slug}/setup/chatbots/"
    assert "0 of 4 prompts have a reply" in words(owner.get(step))
    assert owner.post(step, {"collect": str(endpoint.public_id)}).status_code == 302
    assert "0 of 4 replies" in words(owner.get(f"/console/{draft.slug}/live/"))
    call_all()
    assert "4 of 4 prompts have a reply" in words(owner.get(step))
    assert f"?version={endpoint.version.public_id}" in owner.get(step).content.decode()


def test_campaign_tells_members_what_its_live_chatbots_cost(
    owner: Client, endpoint: Endpoint, draft: Campaign, charlie: User
) -> None:
    acted(owner, endpoint, "collect", prompt_set=str(draft.prompt_set.public_id))
    call_all()
    entrant_add(campaign=draft, version=endpoint.version)
    page = f"/console/{draft.slug}/chatbots/"
    assert "What live chatbots have cost trial bot 0 live 0.00 USD" in words(owner.get(page))
    CampaignRole.objects.create(campaign=draft, user=charlie, role="manager")
    helper = Client()
    helper.force_login(charlie)
    assert "What live chatbots have cost" not in words(helper.get(page))
    assert "Live chatbots" not in words(helper.get(f"/console/{draft.slug}/setup/chatbots/"))


@pytest.mark.parametrize("sent", ["", "nonsense", "0f9619ff-8b86-4d01-b42d-00cf4fc964ff"])
def test_unknown_endpoint_is_not_collected_from(owner: Client, draft: Campaign, sent: str) -> None:
    assert owner.post(f"/console/{draft.slug}/setup/chatbots/", {"collect": sent}).status_code in {400, 404}
    assert not Collection.objects.exists()


def test_settings_change_but_those_of_replies_are_fixed(owner: Client, endpoint: Endpoint, draft: Campaign) -> None:
    acted(owner, endpoint, "collect", prompt_set=str(draft.prompt_set.public_id))
    call_all()
    address = f"{HOME}{endpoint.public_id}/change/"
    page = owner.get(address).content.decode()
    assert "This version has replies." in page
    assert SECRET not in page
    answer = owner.post(address, form(endpoint.url, timeout_s="33", model="another"))
    assert answer.status_code == 302
    endpoint.refresh_from_db()
    assert (endpoint.timeout_s, endpoint.model) == (33, "parrot")


def test_another_server_needs_the_secret_again(owner: Client, endpoint: Endpoint) -> None:
    address, elsewhere = f"{HOME}{endpoint.public_id}/change/", "http://127.0.0.9:9/v1"
    answer = owner.post(address, form(elsewhere, secret=""))
    assert answer.status_code == 400
    endpoint.refresh_from_db()
    assert endpoint.url != elsewhere
    assert owner.post(address, form(elsewhere, secret="sk-for-the-other-one")).status_code == 302
    endpoint.refresh_from_db()
    assert endpoint.url == elsewhere


def test_endpoint_is_paused_and_resumed(owner: Client, endpoint: Endpoint) -> None:
    acted(owner, endpoint, "pause")
    assert "paused" in shown(owner, endpoint)
    acted(owner, endpoint, "resume")
    endpoint.refresh_from_db()
    assert endpoint.state == "untested"


@pytest.mark.parametrize("act", ["explode", "collect", "secret"])
def test_wrong_act_is_refused(owner: Client, endpoint: Endpoint, act: str) -> None:
    assert acted(owner, endpoint, act).status_code in {400, 404}


@pytest.mark.parametrize("act", ["test", "pause", "secret", "collect"])
@pytest.mark.parametrize(("role", "sees"), [("viewer", True), ("", False)])
def test_only_who_may_uses_an_endpoint(
    endpoint: Endpoint, draft: Campaign, charlie: User, act: str, role: str, sees: bool
) -> None:
    if role:
        Membership.objects.create(organisation=draft.organisation, user=charlie, role=role)
    client = Client()
    client.force_login(charlie)
    before = AuditEntry.objects.count()
    assert client.get(f"{HOME}{endpoint.public_id}/").status_code == (200 if sees else 404)
    assert acted(client, endpoint, act, secret="sk-of-charlies-own").status_code == (403 if sees else 404)
    assert client.get(f"{HOME}{endpoint.public_id}/change/").status_code == (403 if sees else 404)
    assert AuditEntry.objects.count() == before


def test_secret_is_on_no_page(owner: Client, endpoint: Endpoint) -> None:
    acted(owner, endpoint, "test")
    call_all()
    chatbot = endpoint.version.chatbot.public_id
    pages = [f"{HOME}{endpoint.public_id}/", f"{HOME}{endpoint.public_id}/change/", f"/console/chatbots/{chatbot}/"]
    for address in pages:
        assert SECRET not in owner.get(address).content.decode()
    assert SECRET not in str(list(AuditEntry.objects.values()))
