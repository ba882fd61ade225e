"""A live version of alice's, whose endpoint is a server of this process."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from evalsite.accounts.models import Organisation
from evalsite.chatbots.models import Chatbot
from evalsite.chatbots.services import chatbot_create
from evalsite.core.env import networks
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.services import endpoint_register
from evalsite.prompts.models import PromptSet
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import SECRET, wanted
from tests.shared import shared


@pytest.fixture(autouse=True)
def loopback(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow calls to this machine, and keep the keys of each test apart."""
    monkeypatch.setenv("TOUCHSTONE_ENDPOINT_NETWORKS", "127.0.0.0/8")
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@shared
def chatbot(organisation: Organisation) -> Chatbot:
    return chatbot_create(organisation=organisation, name="Live bot")


@shared
def prompt_set(organisation: Organisation) -> PromptSet:
    new = [NewPrompt(f"p{n:02}", [{"speaker": "user", "text": f"Question {n}?"}], "general") for n in range(12)]
    return prompt_set_create(organisation=organisation, name="Twelve", prompts=new)


@pytest.fixture
def endpoint(chatbot: Chatbot) -> Endpoint:
    """An endpoint with prices and a secret, where nobody listens, registered a minute ago."""
    made = endpoint_register(chatbot=chatbot, label="1", settings=wanted(), secret=SECRET)
    made.health_since = timezone.now() - timedelta(minutes=1)
    made.save(update_fields=["health_since"])
    return made
