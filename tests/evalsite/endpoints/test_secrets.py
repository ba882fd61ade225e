"""A secret is sent to its endpoint and found nowhere else in clear: database, log, audit, answers, backup."""

import io
import json
import logging
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.forms.models import model_to_dict

from evalsite.accounts.models import User
from evalsite.chatbots.models import Chatbot
from evalsite.core import encryption
from evalsite.core.backup import backup_write, tables
from evalsite.core.errors import TouchstoneError, Unavailable
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Call, CallRequest, Endpoint, EndpointCheck, Secret
from evalsite.endpoints.selectors import check_result, endpoint_health
from evalsite.endpoints.services import endpoint_register, endpoint_update, secret_of, secret_set
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import SECRET, call_all, wanted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that is logged, at the finest level."""
    written, root = io.StringIO(), logging.getLogger()
    handler, level = logging.StreamHandler(written), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


class Echo(ChatServer):
    """A server that sends the request's headers back: in replies, model names and errors."""

    def _reply(self, asked: str) -> dict[str, Any]:
        heard = self.requests[-1]["headers"]["X-Key"]
        self.model = self.fingerprint = heard
        return super()._reply(f"{asked} {heard}")


def used(chatbot: Chatbot, prompt_set: PromptSet, alice: User, server: ChatServer) -> Endpoint:
    """An endpoint that did everything that an endpoint does, with good and bad calls."""
    server.fault = lambda number: (500, {"X-Echo": SECRET}) if number % 4 == 0 else None
    settings = wanted(url=server.url, headers={"X-Key": "{secret}"}, timeout_s=10)
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=settings, secret="an-earlier-secret-01", by=alice)
    secret_set(endpoint=endpoint, secret=SECRET, by=alice)
    endpoint_test(endpoint=endpoint, by=alice)
    call_all()
    collection_start(endpoint=endpoint, prompt_set=prompt_set, by=alice)
    call_all()
    endpoint_update(endpoint=endpoint, settings=wanted(url=server.url, headers={"X-Key": "{secret}"}), by=alice)
    return endpoint


def rows_in_clear() -> str:
    """Every row of every table, as text."""
    found = [model_to_dict(row) | {"str": str(row)} for model in tables() for row in model._base_manager.all()]
    with connection.cursor() as cursor:
        for model in tables():
            cursor.execute(f'SELECT * FROM "{model._meta.db_table}"')  # noqa: S608  a table of ours
            found += [{"raw": row} for row in cursor.fetchall()]
    return "\n".join(map(repr, found))


def test_secret_is_found_nowhere(
    chatbot: Chatbot, prompt_set: PromptSet, alice: User, log: io.StringIO, tmp_path: Path
) -> None:
    with Echo() as server:
        endpoint = used(chatbot, prompt_set, alice, server)
        assert any(SECRET in request["headers"]["X-Key"] for request in server.requests), "it is really sent"
    assert Call.objects.filter(error_class="").exists()
    assert Call.objects.exclude(error_class="").exists()
    shown = [repr(check_result(check)) for check in EndpointCheck.objects.all()]
    backup_write(tmp_path / "backup.zip")
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        kept = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert Secret.objects.get().token in kept
    places = {
        "database": rows_in_clear(),
        "log": log.getvalue(),
        "pages": "".join(shown) + repr(endpoint_health(endpoint)) + repr(model_to_dict(endpoint)),
        "backup": kept,
    }
    assert "server_error" in places["pages"]
    assert {name: SECRET in text for name, text in places.items()} == dict.fromkeys(places, False)


def test_errors_about_settings_do_not_repeat_the_secret(chatbot: Chatbot, endpoint: Endpoint) -> None:
    said = []
    for changes in ({"url": "ftp://x"}, {"headers": {"X-Key": "\n"}}, {"model": ""}, {"adapter": "x"}):
        with pytest.raises(TouchstoneError) as refused:
            endpoint_register(chatbot=chatbot, label="2", settings=wanted(**changes), secret=SECRET)
        said.append(f"{refused.value.message} {refused.value.hint}")
    assert len(said) == 4
    assert SECRET not in "".join(said)


def test_rotation_encrypts_with_the_first_key(endpoint: Endpoint, settings: Any) -> None:
    before = Secret.objects.get()
    settings.ENDPOINT_KEYS = ["the-second-key-of-these-tests-987654321", *settings.ENDPOINT_KEYS]
    assert secret_of(endpoint) == SECRET
    call_command("rotate_endpoint_keys", stdout=io.StringIO())
    after = Secret.objects.get()
    assert (after.token != before.token, after.key_id != before.key_id) == (True, True)
    settings.ENDPOINT_KEYS = settings.ENDPOINT_KEYS[:1]
    assert secret_of(endpoint) == SECRET


def test_rotation_tells_of_secrets_that_no_key_reads(endpoint: Endpoint, settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-second-key-of-these-tests-987654321"]
    said = io.StringIO()
    call_command("rotate_endpoint_keys", stdout=io.StringIO(), stderr=said)
    assert "1 secrets cannot be read" in said.getvalue()


def test_site_makes_its_own_key_and_rotates_it(chatbot: Chatbot, settings: Any, tmp_path: Path) -> None:
    settings.ENDPOINT_KEYS, settings.PRODUCTION, settings.DATA_DIR = [], False, tmp_path
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=wanted(), secret=SECRET)
    file = tmp_path / encryption.FILE
    first = file.read_text().split()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    call_command("rotate_endpoint_keys", stdout=io.StringIO())
    second = file.read_text().split()
    assert (len(second), second != first, stat.S_IMODE(file.stat().st_mode)) == (1, True, 0o600)
    assert secret_of(endpoint) == SECRET


def test_production_without_keys_keeps_no_secrets(chatbot: Chatbot, settings: Any) -> None:
    settings.ENDPOINT_KEYS, settings.PRODUCTION = [], True
    with pytest.raises(Unavailable) as refused:
        endpoint_register(chatbot=chatbot, label="1", settings=wanted(), secret=SECRET)
    assert "TOUCHSTONE_ENDPOINT_KEYS" in refused.value.hint
    assert not Endpoint.objects.exists()


def test_requests_keep_no_copy_of_what_was_sent(chatbot: Chatbot, server: ChatServer) -> None:
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=wanted(url=server.url), secret=SECRET)
    endpoint_test(endpoint=endpoint)
    call_all()
    stored = json.dumps(list(CallRequest.objects.values_list("messages", flat=True)))
    assert "favourite" in stored
    assert "Bearer" not in stored
