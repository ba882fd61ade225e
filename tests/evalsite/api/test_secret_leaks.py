"""Everything that people can read or take along is searched for the secret of an endpoint."""

import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client, override_settings

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.api import endpoint_views
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.core.models import AuditEntry
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.endpoints.models import Collection, Endpoint, EndpointCheck
from tests import console_pages
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.endpoints.steps import call_all
from tests.servers import LOCAL
from tests.shared import shared

pytestmark = pytest.mark.django_db
SECRET = "sk-only-for-tests-4711"
PLACE = "/api/v1/organisations/alice/endpoints"
FORM = {"name": "Form", "adapter": "openai", "model": "parrot", "max_tokens": "20", "timeout_s": "9", "currency": "EUR"}
Texts = dict[str, str]


@pytest.fixture(autouse=True)
def server() -> Iterator[ChatbotServer]:
    with chatbots_served(api_key=SECRET) as running, override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield running


@pytest.fixture(autouse=True)
def log() -> Iterator[io.StringIO]:
    """Everything that is logged, at the finest level."""
    written, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(written), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=2, prompts=4, start=False)


@pytest.fixture
def api(alice: User, draft: Campaign) -> Api:
    return Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))


@pytest.fixture
def endpoint(api: Api, server: ChatbotServer, draft: Campaign) -> Endpoint:
    """An endpoint that was tested, collected from, and takes part."""
    body = {"name": "Anna", "adapter": "openai", "url": server.url, "model": "parrot", "secret": SECRET}
    assert api.post(PLACE, body).status_code == 201
    endpoint = Endpoint.objects.get()
    api.post(f"/api/v1/endpoints/{endpoint.public_id}/tests")
    sent = {"prompt_set": str(draft.prompt_set.public_id)}
    api.post(f"/api/v1/endpoints/{endpoint.public_id}/collections", sent)
    call_all()
    assert endpoint.version.replies.count() == 4
    entrant_add(campaign=draft, version=endpoint.version)
    return endpoint


def read(get: Any, addresses: list[str]) -> Texts:
    """What each address answers, its headers included."""
    found = {}
    for address in addresses:
        answer = get(address)
        assert answer.status_code in {200, 302}, (address, answer.status_code)
        body = b"".join(answer) if answer.streaming else answer.content
        found[address] = f"{answer.headers}{body.decode()}"
    return found


def api_addresses(endpoint: Endpoint, campaign: Campaign) -> list[str]:
    """Reading calls of the API that have to do with the endpoint or its campaign, with all exports."""
    of_endpoint = [f"/api/v1/endpoints/{endpoint.public_id}{rest}" for rest in ("", "/calls", "/costs", "/collections")]
    check, collection = EndpointCheck.objects.get(), Collection.objects.get()
    others = [f"/api/v1/endpoint_tests/{check.public_id}", f"/api/v1/collections/{collection.public_id}", PLACE]
    parts = ("", "/chatbots", "/prompts", "/gold", "/judgments", "/skips", "/judgments.csv", "/judgments.jsonl")
    exports = ("/skips.csv", "/skips.jsonl", "/known_ties.jsonl")
    of_campaign = [f"/api/v1/campaigns/{campaign.slug}{part}" for part in (*parts, *exports)]
    return [*of_endpoint, *others, *of_campaign, "/api/v1/campaigns"]


def console_addresses(endpoint: Endpoint, campaign: Campaign) -> list[str]:
    own = "/console/chatbots/endpoints/"
    of_endpoint = [f"{own}{endpoint.public_id}/{rest}" for rest in ("", "live/", "change/")]
    chatbot = [f"/console/chatbots/{endpoint.version.chatbot.public_id}/"]
    pages = [f"/console/{page}" for page in ("", "chatbots/", "chatbots/new/", "prompt-sets/", "notices/")]
    steps = [f"/console/{campaign.slug}/setup/{step}/" for step in console_pages.STEPS]
    parts = [f"/console/{campaign.slug}/{page}" for page in ("", "prompts/", "chatbots/", "log/")]
    return [*of_endpoint, *chatbot, *pages, *steps, *parts]


def test_no_answer_page_or_export_holds_the_secret(
    api: Api, owner: Client, endpoint: Endpoint, draft: Campaign, log: io.StringIO
) -> None:
    found = read(api.get, api_addresses(endpoint, draft)) | read(owner.get, console_addresses(endpoint, draft))
    for words in (("campaign", "export", draft.slug), ("dumpdata", "--all", "-v0")):
        written = io.StringIO()
        call_command(*words, stdout=written)
        found[" ".join(words)] = written.getvalue()
    assert "endpoints.secret" in found["dumpdata --all -v0"], "it is there, encrypted"
    found |= {"log": log.getvalue(), "audit": str(list(AuditEntry.objects.values()))}
    assert "register_endpoint" in found["audit"]
    assert [name for name, text in found.items() if SECRET in text] == []


def test_no_error_tells_the_secret_that_was_sent(
    api: Api, owner: Client, server: ChatbotServer, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {"name": "Anna", "adapter": "openai", "url": server.url, "model": "parrot", "secret": SECRET}
    bodies: list[dict[str, Any]] = [
        {**good, "url": "ftp://x"},
        {**good, "model": ""},
        {**good, "adapter": "x"},
        {**good, "daily_cap": 0},
        {**good, "secret": [SECRET]},
        {**good, "secret": f"{SECRET}\nX"},
        {**good, "secret": SECRET * 200},
        {**good, "wrong": SECRET},
    ]
    errors = [api.post(PLACE, body) for body in bodies]
    errors += [api.raw(PLACE, f'{{"secret": "{SECRET}"'.encode()), Api().post(PLACE, good)]
    errors += [owner.post("/console/chatbots/new/", {**FORM, "secret": SECRET, "url": url}) for url in ("", "ftp://x")]
    monkeypatch.setattr(endpoint_views, "live_chatbot_register", lambda **given: 1 / 0)
    errors.append(api.post(PLACE, good))
    assert {answer.status_code for answer in errors} >= {400, 403, 500}
    assert all(answer.status_code >= 400 for answer in errors)
    answers = [f"{answer.headers}{answer.content.decode()}" for answer in errors]
    assert [number for number, text in enumerate(answers) if SECRET in text] == []
    assert "ZeroDivisionError" in log.getvalue()
    assert SECRET not in log.getvalue()
    assert not Endpoint.objects.exists()
