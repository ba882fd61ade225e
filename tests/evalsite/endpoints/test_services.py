"""Endpoints are registered, changed, paused and resumed; wrong settings are refused, and nothing is called."""

from decimal import Decimal
from typing import Any

import pytest

from evalsite.accounts.models import User
from evalsite.chatbots.models import Chatbot, Version
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Endpoint, Secret
from evalsite.endpoints.services import (
    endpoint_pause,
    endpoint_register,
    endpoint_resume,
    endpoint_update,
    secret_remove,
    secret_set,
    version_follow,
)
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import SECRET, said, wanted, work

pytestmark = pytest.mark.django_db


def test_registered_endpoint_is_a_live_version(chatbot: Chatbot, alice: User) -> None:
    endpoint = endpoint_register(chatbot=chatbot, label="2026-11", settings=wanted(), secret=SECRET, by=alice)
    assert (endpoint.version.kind, endpoint.version.label) == (Version.Kind.LIVE, "2026-11")
    assert endpoint.state == Endpoint.State.UNTESTED
    entry = audit_of(chatbot.public_id)[0]
    assert (entry.act, entry.after["url"]) == ("register_endpoint", "https://chat.example.org/v1")
    assert SECRET not in str(entry.after)
    assert SECRET not in Secret.objects.get().token


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"adapter": "telepathy"}, "adapter"),
        ({"url": ""}, "url"),
        ({"url": "https://user:word@chat.example.org/v1"}, "url"),
        ({"url": "https://chat.example.org/v1?api_key=abcdef"}, "url"),
        ({"url": "https://chat.example.org/\0"}, "url"),
        ({"model": ""}, "model"),
        ({"temperature": 3.0}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"concurrency": 1000}, "concurrency"),
        ({"daily_cap": Decimal(0)}, "daily_cap"),
        ({"version_cap": Decimal(-1)}, "version_cap"),
        ({"daily_cap": Decimal(5), "output_price": None}, "output_price"),
        ({"version_cap": Decimal(5), "input_price": None}, "input_price"),
        ({"input_price": Decimal("NaN")}, "input_price"),
        ({"headers": {"X-Api-Key": "abcdef"}}, "headers"),
        ({"currency": "dollars"}, "currency"),
    ],
)
def test_settings_that_cannot_work_are_refused(chatbot: Chatbot, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        endpoint_register(chatbot=chatbot, label="1", settings=wanted(**changes), secret=SECRET)
    assert refused.value.field == field
    assert not Version.objects.filter(chatbot=chatbot).exists(), "nothing is half done"


@pytest.mark.parametrize("secret", ["short", "two\nlines-of-secret", "geheimnis-ä-0123"])
def test_secrets_that_no_header_carries_are_refused(chatbot: Chatbot, secret: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        endpoint_register(chatbot=chatbot, label="1", settings=wanted(), secret=secret)
    assert refused.value.field == "secret"
    assert secret not in f"{refused.value.message} {refused.value.hint}"


def test_label_is_unique_per_chatbot(endpoint: Endpoint, chatbot: Chatbot) -> None:
    with pytest.raises(Conflict, match="has a version"):
        endpoint_register(chatbot=chatbot, label="1", settings=wanted())


def test_update_changes_settings_and_records_them(endpoint: Endpoint, alice: User) -> None:
    endpoint_update(endpoint=endpoint, settings=wanted(timeout_s=20, model="large"), by=alice)
    endpoint.refresh_from_db()
    assert (endpoint.timeout_s, endpoint.model) == (20, "large")
    entry = audit_of(endpoint.version.chatbot.public_id)[0]
    assert (entry.before, entry.after) == ({"model": "tiny", "timeout_s": 60}, {"model": "large", "timeout_s": 20})


def test_settings_that_decide_replies_are_fixed_after_the_first(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, said())
    with pytest.raises(Conflict, match="mix replies of two versions"):
        endpoint_update(endpoint=endpoint, settings=wanted(model="large"))
    assert endpoint_update(endpoint=endpoint, settings=wanted(timeout_s=20)).timeout_s == 20


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "https://mine.example.org/v1"},
        {"url": "https://chat.example.org:8443/v1"},
        {"adapter": "anthropic"},
        {"headers": {"X-Echo": "{secret}"}},
    ],
)
def test_secret_goes_to_another_server_only_if_entered_again(endpoint: Endpoint, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        endpoint_update(endpoint=endpoint, settings=wanted(**changes))
    assert (refused.value.field, refused.value.code) == ("secret", "secret_needed")
    stored = Secret.objects.get().token
    endpoint_update(endpoint=endpoint, settings=wanted(**changes), secret="entered-again-0123")
    assert Secret.objects.get().token != stored


def test_path_of_the_same_server_changes_without_the_secret(endpoint: Endpoint) -> None:
    settings = wanted(url="https://chat.example.org/v2")
    assert endpoint_update(endpoint=endpoint, settings=settings).url == settings.url


def test_paused_endpoint_is_resumed(endpoint: Endpoint, alice: User) -> None:
    assert endpoint_pause(endpoint=endpoint, reason="too expensive", by=alice).state_text == "too expensive"
    resumed = endpoint_resume(endpoint=endpoint, by=alice)
    assert (resumed.state, resumed.state_reason) == (Endpoint.State.UNTESTED, "")
    acts = [entry.act for entry in audit_of(endpoint.version.chatbot.public_id)]
    assert acts == ["resume_endpoint", "pause_endpoint", "register_endpoint"]


def test_other_secret_replaces_the_first(endpoint: Endpoint) -> None:
    before = Secret.objects.get().token
    secret_set(endpoint=endpoint, secret="another-secret-0123")
    assert Secret.objects.get().token != before
    secret_remove(endpoint=endpoint)
    assert not Secret.objects.exists()


def test_following_version_takes_settings_and_secret_along(endpoint: Endpoint) -> None:
    follower = version_follow(endpoint=endpoint, label="2", model="tiny-2")
    assert (follower.model, follower.url, follower.version.follows) == ("tiny-2", endpoint.url, endpoint.version)
    assert Secret.objects.count() == 2
