"""Adapters against a server that other people wrote: fakellm, in OpenAI's and in Anthropic's format."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsite.endpoints.adapters.base import AdapterOptions, Message
from evalsite.endpoints.call import CallOutcome, endpoint_call
from evalsite.endpoints.failures import ErrorClass
from tests.environment import PATIENCE_S
from tests.processes import end, free_port, wait_for

RULES = """
version: 1
defaults:
  fallback: deterministic_echo
rules:
  - name: greeting
    when:
      messages_contain: "hello"
    respond:
      content: "Hi there."
  - name: limited
    when:
      header.x-test-scenario: rate_limit
    respond:
      status: 429
      error: "Slow down."
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("fakellm")
    (folder / "fakellm.yaml").write_text(RULES)
    program, port = Path(sys.executable).with_name("fakellm"), free_port()
    process = subprocess.Popen(
        [program, "serve", "--port", str(port)],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: listens(port), what="fakellm")
    yield f"http://127.0.0.1:{port}"
    end(process)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def said(url: str, adapter: str, text: str, **headers: str) -> CallOutcome:
    options = AdapterOptions(url, "sk-of-this-test", model="some-model", max_tokens=50, headers=headers)
    return endpoint_call(adapter, options, [Message("user", text)], timeout_s=PATIENCE_S)


@pytest.mark.parametrize(("adapter", "reason"), [("openai", "stop"), ("anthropic", "end_turn")])
def test_reply_of_a_foreign_server_is_read(url: str, adapter: str, reason: str) -> None:
    reply = said(url, adapter, "hello you").reply
    assert reply is not None
    assert (reply.text, reply.finish_reason, reply.model, reply.flags) == ("Hi there.", reason, "some-model", ())
    assert reply.prompt_tokens
    assert reply.completion_tokens


@pytest.mark.parametrize("adapter", ["openai", "anthropic"])
def test_refusal_of_a_foreign_server_is_read(url: str, adapter: str) -> None:
    failure = said(url, adapter, "anything", **{"X-Test-Scenario": "rate_limit"}).failure
    assert failure is not None
    assert (failure.error_class, failure.detail) == (ErrorClass.RATE_LIMITED, "Status 429: Slow down.")
