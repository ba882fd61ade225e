"""The demonstration's chatbots as endpoints: formats, keys, and the ways in which they misbehave."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import httpx2
import pytest

from evalsite.demo.chatbot_server import RAMBLING_WORDS, Behaviour, ChatbotServer, chatbots_served
from tests.environment import PATIENCE_S
from tests.processes import Start, end

# Without proxies and certificates: to load them takes longer than a test.
HTTP = httpx2.Client(trust_env=False, verify=False, timeout=PATIENCE_S, headers={"Connection": "close"})


@pytest.fixture
def server() -> Iterator[ChatbotServer]:
    with chatbots_served() as running:
        yield running


def asked(server: ChatbotServer, model: str = "parrot", *, path: str = "/v1/chat/completions", **body: Any) -> Any:
    value = {"model": model, "messages": [{"role": "user", "content": "Hello there, bird"}], **body}
    return HTTP.post(f"{server.url}{path}", json=value)


def test_it_replies_like_openai(server: ChatbotServer) -> None:
    found = asked(server).json()
    assert found["choices"][0]["message"] == {"role": "assistant", "content": "Hello there, bird"}
    assert found["choices"][0]["finish_reason"] == "stop"
    assert found["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    assert found["model"] == "parrot"


def test_it_lists_its_models(server: ChatbotServer) -> None:
    models = HTTP.get(f"{server.url}/v1/models").json()["data"]
    assert {"parrot", "concierge", "parrot:failing"} <= {one["id"] for one in models}


def test_limit_of_tokens_cuts_words_off(server: ChatbotServer) -> None:
    choice = asked(server, max_tokens=2).json()["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("Hello there,", "length")


def test_failing_model_fails_every_fifth_call_at_once(server: ChatbotServer) -> None:
    statuses = [asked(server, "parrot:failing").status_code for _ in range(10)]
    assert statuses == [200, 200, 200, 200, 503] * 2
    assert server.calls["parrot:failing"] == 10


def test_share_of_failures_is_exact(server: ChatbotServer) -> None:
    server.usual = Behaviour(failing=0.3)
    assert [asked(server).status_code for _ in range(10)].count(503) == 3


def test_rambling_model_does_not_stop_by_itself(server: ChatbotServer) -> None:
    words = asked(server, "parrot:rambling").json()["choices"][0]["message"]["content"].split()
    assert len(words) > RAMBLING_WORDS
    assert asked(server, "parrot:rambling", max_tokens=5).json()["choices"][0]["finish_reason"] == "length"


def test_hanging_model_answers_only_when_the_server_closes() -> None:
    with chatbots_served() as server:
        host, port = server.server_address[:2]
        hanging = HTTPConnection(str(host), port)
        body = json.dumps({"model": "parrot:hanging", "messages": [{"role": "user", "content": "Hi"}]})
        hanging.request("POST", "/v1/chat/completions", body=body)
        assert asked(server).status_code == 200, "it accepts connections in their order"
    assert hanging.getresponse().status == 503


def test_key_is_demanded_where_there_is_one() -> None:
    with chatbots_served(api_key="right") as server:
        assert asked(server).status_code == 401
        url = f"{server.url}/chat"
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        for headers in ({"Authorization": "Bearer right"}, {"x-api-key": "right"}):
            assert HTTP.post(url, json=body, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"model": "nobody"}, 404),
        ({"model": "parrot:unknown"}, 404),
        ({"model": 7}, 404),
        ({"messages": []}, 400),
        ({"messages": [{"role": "boss", "content": "x"}]}, 400),
        ({"messages": ["x"]}, 400),
        ({"max_tokens": 0}, 400),
    ],
)
def test_wrong_request_is_refused_with_a_message(server: ChatbotServer, body: dict[str, Any], status: int) -> None:
    found = asked(server, **({"model": "parrot"} | body))
    assert found.status_code == status
    assert found.json()["error"]["message"].endswith(".")


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_body_that_is_no_json_object_is_refused(server: ChatbotServer, content: bytes) -> None:
    assert HTTP.post(f"{server.url}/chat", content=content).status_code == 400


def test_command_serves_until_it_is_ended(manage: Start) -> None:
    process = manage("serve_chatbots", "--port", "0")
    assert process.stdout is not None
    url = process.stdout.readline().split()[3]
    assert HTTP.get(f"{url}/v1/models").status_code == 200
    assert end(process)[0] == 0
