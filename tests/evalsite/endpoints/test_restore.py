"""A backup that is restored without its encryption key: the endpoint is paused, and asks for its secret again."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project
from django.core.management import call_command
from django.db import connection

from evalsite.chatbots.models import Chatbot
from evalsite.core.backup import backup_write
from evalsite.core.errors import Conflict
from evalsite.endpoints.checking import endpoint_test, unreadable_secrets_pause
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Call, Collection, Endpoint
from evalsite.endpoints.selectors import endpoint_health
from evalsite.endpoints.services import endpoint_register, endpoint_resume, secret_of, secret_set
from evalsite.prompts.models import PromptSet
from tests.databases import connected
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import SECRET, call_all, wanted
from tests.templates import seed


@pytest.mark.django_db(transaction=True)
def test_restored_without_its_key_it_asks_for_the_secret(
    chatbot: Chatbot, prompt_set: PromptSet, server: ChatServer, settings: Any, tmp_path: Path
) -> None:
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=wanted(url=server.url), secret=SECRET)
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    backup_write(tmp_path / "backup.zip")
    elsewhere = seed(tmp_path / "restored")
    settings.ENDPOINT_KEYS, settings.PRODUCTION, settings.DATA_DIR = [], False, elsewhere.parent
    with connected({**project.SQLITE, "NAME": elsewhere}):
        call_command("restore", str(tmp_path / "backup.zip"), verbosity=0)
        unreadable_secrets_pause()
        restored = Endpoint.objects.select_related("version__chatbot").get()
        health = endpoint_health(restored)
        assert (health.state, "Enter the secret again" in health.reason) == ("paused", True)
        for refused in (
            lambda: endpoint_test(endpoint=restored),
            lambda: endpoint_resume(endpoint=restored),
            lambda: secret_of(restored),
        ):
            with pytest.raises(Conflict) as error:
                refused()
            assert error.value.hint == "Enter the secret again."
        call_all()
        assert not server.requests, "nothing is called, and nothing is paid for"
        assert not Call.objects.exists()
        secret_set(endpoint=restored, secret=SECRET)
        call_all()
        assert Collection.objects.get().state == "complete", "the collection goes on by itself"
        assert restored.version.replies.count() == 12
        connection.close()
