"""Live chatbots by the API: register, test, collect, pause; and no secret in any answer."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot, Reply
from evalsite.core.models import IdempotencyKey
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.endpoints.adapters.base import MASK
from evalsite.endpoints.models import Endpoint
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.endpoints.steps import call_all
from tests.servers import LOCAL
from tests.shared import shared

SECRET = "sk-only-for-tests-4711"
PLACE = "/api/v1/organisations/alice/endpoints"


@pytest.fixture(autouse=True)
def server() -> Iterator[ChatbotServer]:
    with chatbots_served(api_key=SECRET) as running, override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield running


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=2, prompts=4, start=False)


@pytest.fixture
def api(alice: User, draft: Campaign) -> Api:
    return Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))


def wanted(server: ChatbotServer, **changes: Any) -> dict[str, Any]:
    settings = {"adapter": "openai", "url": server.url, "model": "parrot", "input_price": 1, "output_price": 2.5}
    return {"name": "Anna", "secret": SECRET, **settings, **changes}


@pytest.fixture
def endpoint(api: Api, server: ChatbotServer) -> Any:
    answer = api.post(PLACE, wanted(server, label="live"))
    assert answer.status_code == 201
    return answer.json()


def address(endpoint: Any, rest: str = "") -> str:
    return f"/api/v1/endpoints/{endpoint['id']}{rest}"


def test_registered_endpoint_has_settings_health_and_cost(api: Api, endpoint: Any, server: ChatbotServer) -> None:
    assert endpoint["chatbot"]["name"] == "Anna"
    assert endpoint["chatbot"]["version_label"] == "live"
    assert endpoint["settings"]["input_price"] == "1"
    assert endpoint["settings"]["output_price"] == "2.5"
    assert endpoint["health"]["state"] == "untested"
    assert endpoint["cost"]["total"] == "0"
    assert endpoint["secret_set_at"]
    assert api.get(address(endpoint)).json() == endpoint
    assert [one["id"] for one in api.get(PLACE).json()["results"]] == [endpoint["id"]]
    assert not server.calls, "nothing is called before it is tested"


def test_second_version_of_a_chatbot_gets_the_next_label(api: Api, endpoint: Any, server: ChatbotServer) -> None:
    second = api.post(PLACE, wanted(server)).json()
    assert second["chatbot"]["id"] == endpoint["chatbot"]["id"]
    assert second["chatbot"]["version_label"] == "1"
    again = api.post(PLACE, wanted(server, label="live"))
    assert (again.status_code, error_of(again)["field"]) == (409, "label")


def test_test_is_queued_and_polled(api: Api, endpoint: Any) -> None:
    answer = api.post(address(endpoint, "/tests"))
    assert answer.status_code == 202
    begun = answer.json()
    assert (begun["state"], begun["turns"], begun["expected_turns"]) == ("running", [], 3)
    call_all()
    test = api.get(f"/api/v1/endpoint_tests/{begun['id']}").json()
    assert test["state"] == "passed"
    first = test["turns"][0]
    assert first["request"]["headers"]["Authorization"] == f"Bearer {MASK}"
    assert first["reply"] == first["prompt"], "the parrot"
    assert float(first["cost"]) == pytest.approx((first["input_tokens"] + 2.5 * first["output_tokens"]) / 1e6)
    assert api.get(address(endpoint)).json()["health"]["state"] == "healthy"
    calls = api.get(address(endpoint, "/calls")).json()["results"]
    assert [(call["status"], call["error"], call["attempt"]) for call in calls] == [(200, "", 1)] * 3
    (day,) = api.get(address(endpoint, "/costs")).json()["days"]
    assert (day["calls"], day["failed"]) == (3, 0)


def test_failed_test_says_what_to_change(api: Api, server: ChatbotServer) -> None:
    endpoint = api.post(PLACE, wanted(server, model="nobody")).json()
    begun = api.post(address(endpoint, "/tests")).json()
    call_all()
    test = api.get(f"/api/v1/endpoint_tests/{begun['id']}").json()
    assert test["state"] == "failed"
    assert test["turns"][0]["error"] == "not_found"
    assert test["advice"] == "Check the path of the address, and the name of the model."


def test_replies_are_collected_paused_and_resumed(api: Api, endpoint: Any, draft: Campaign) -> None:
    answer = api.post(address(endpoint, "/collections"), {"prompt_set": str(draft.prompt_set.public_id)})
    assert answer.status_code == 201
    begun = answer.json()
    assert (begun["state"], begun["prompts"], begun["open"]) == ("running", 4, 4)
    assert float(begun["expected_cost"]) > 0
    place = f"/api/v1/collections/{begun['id']}"
    assert api.post(f"{place}/pause").json()["waits_for"] == "paused"
    call_all()
    assert api.get(place).json()["done"] == 0
    api.post(f"{place}/resume")
    call_all()
    ended = api.get(place).json()
    assert (ended["state"], ended["done"], ended["failed"], ended["open"]) == ("complete", 4, 0, 0)
    assert Reply.objects.filter(version__endpoint__public_id=endpoint["id"]).count() == 4
    assert api.get(address(endpoint, "/collections")).json()["results"] == [ended]
    refused = api.post(f"{place}/retry")
    assert (refused.status_code, error_of(refused)["field"]) == (409, "prompt_set")


def test_settings_change_in_part(api: Api, endpoint: Any) -> None:
    changed = patch(api, endpoint, {"timeout_s": 12, "daily_cap": 0.5})
    assert changed.status_code == 200
    assert changed.json()["settings"] == {**endpoint["settings"], "timeout_s": 12, "daily_cap": "0.5"}


def patch(api: Api, endpoint: Any, body: dict[str, Any]) -> Any:
    return api.client.patch(address(endpoint), body, content_type="application/json", headers=api.headers)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"url": "https://10.0.0.1@bot.example/"}, "url"),
        ({"url": "ftp://bot.example/"}, "url"),
        ({"model": ""}, "model"),
        ({"daily_cap": 0}, "daily_cap"),
        ({"daily_cap": 1, "input_price": None}, "input_price"),
        ({"adapter": "grpc"}, "adapter"),
        ({"adapter": "http_json", "body_template": '{"q": 1}'}, "body_template"),
        ({"adapter": "http_json", "reply_path": "a..b"}, "reply_path"),
        ({"headers": {"Authorization": "Bearer abc"}}, "headers"),
        ({"headers": {"X-Team": "a\nb"}}, "headers"),
        ({"secret": "short"}, "secret"),
        ({"temperature": 3}, "temperature"),
        ({"name": "a\u202eb"}, "name"),
    ],
)
def test_wrong_settings_name_the_field_and_leave_nothing(
    api: Api, server: ChatbotServer, changes: dict[str, Any], field: str
) -> None:
    answer = api.post(PLACE, wanted(server, **changes))
    assert answer.status_code == 400
    assert error_of(answer)["field"].split(".")[0] == field
    assert not Endpoint.objects.exists()
    assert not Chatbot.objects.filter(name="Anna").exists()


def test_another_server_needs_the_secret_again(api: Api, endpoint: Any) -> None:
    refused = patch(api, endpoint, {"url": "https://elsewhere.example/v1"})
    assert (refused.status_code, error_of(refused)["field"]) == (400, "secret")
    assert patch(api, endpoint, {"url": "https://elsewhere.example/v1", "secret": "sk-for-there"}).status_code == 200


def test_paused_endpoint_collects_nothing(api: Api, endpoint: Any, draft: Campaign) -> None:
    paused = api.post(address(endpoint, "/pause"), {"reason": "too dear"}).json()
    assert (paused["health"]["state"], paused["health"]["reason"]) == ("paused", "too dear")
    answer = api.post(address(endpoint, "/collections"), {"prompt_set": str(draft.prompt_set.public_id)})
    assert (answer.status_code, error_of(answer)["code"]) == (409, "endpoint_paused")
    assert api.post(address(endpoint, "/resume")).json()["health"]["state"] == "untested"


def test_no_answer_holds_the_secret(api: Api, endpoint: Any, draft: Campaign) -> None:
    test = api.post(address(endpoint, "/tests")).json()
    api.post(address(endpoint, "/collections"), {"prompt_set": str(draft.prompt_set.public_id)})
    call_all()
    paths = [PLACE, *(address(endpoint, rest) for rest in ("", "/calls", "/costs", "/collections"))]
    for path in [*paths, f"/api/v1/endpoint_tests/{test['id']}"]:
        assert SECRET not in api.get(path).content.decode()
    changed = api.put(address(endpoint, "/secret"), {"secret": "sk-another-one-4711"})
    assert changed.status_code == 200
    assert "4711" not in changed.content.decode()


def test_hash_of_a_request_does_not_let_secrets_be_tried(api: Api, server: ChatbotServer) -> None:
    body = wanted(server)
    assert [api.post(PLACE, body, key="k").status_code for _ in range(2)] == [201, 201]
    assert Endpoint.objects.count() == 1
    plain = hashlib.sha256(f"POST {PLACE}\n{json.dumps(body, sort_keys=True)}".encode()).hexdigest()
    assert IdempotencyKey.objects.get().sha256 != plain


def test_token_that_only_reads_changes_nothing(alice: User, endpoint: Any) -> None:
    reader = Api(api_token_issue(user=alice, name="r", scopes=[ApiToken.Scope.CAMPAIGNS], days=1))
    assert reader.get(address(endpoint)).status_code == 200
    for rest in ("/tests", "/pause", "/resume"):
        assert error_of(reader.post(address(endpoint, rest)))["code"] == "scope_missing"


def test_without_a_token_there_is_nothing(endpoint: Any) -> None:
    for rest in ("", "/calls", "/costs", "/collections"):
        assert Api().get(address(endpoint, rest)).status_code == 403
