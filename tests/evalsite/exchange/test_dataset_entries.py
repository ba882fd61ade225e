"""Every format of prompts and replies goes through every entry: commands, set-up, submission and API.

Its broken twin is refused with what is wrong, and nothing of it is stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply, Version
from evalsite.prompts.files import prompt_set_import
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.submissions.services import Accepted, submissions_accept
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.console.test_setup import draft, url
from tests.evalsite.exchange.test_dataset_files import ANSWERS, CHATS, FILES, OUTPUTS, QUESTIONS, SAID
from tests.evalsite.pages.test_pages import words

__all__ = ["draft"]

pytestmark = pytest.mark.django_db
# Of each format: prompts and replies with one fault, and what is said of it.
LESS = {key: value for key, value in OUTPUTS[0].items() if key != "output"}
BROKEN: dict[str, tuple[tuple[bytes, str], tuple[bytes, str]]] = {
    "mt_bench": ((QUESTIONS[:-20], "not JSON"), (ANSWERS[:-20], "not JSON")),
    "alpaca_eval": ((json.dumps(OUTPUTS).encode()[:-9], "not JSON"), (json.dumps([LESS]).encode(), "reply")),
    "chateval": ((b"\n \n", "no rows"), (b"Hello\n", "the set has 2 prompts")),
    "messages": ((CHATS[:-20], "not JSON"), (CHATS[:-20], "not JSON")),
}


@pytest.fixture
def api(alice: User) -> Api:
    return Api(
        api_token_issue(user=alice, name="files", scopes=[ApiToken.Scope.PROMPTS, ApiToken.Scope.CHATBOTS], days=1)
    )


@pytest.fixture
def prompt_set(organisation: Organisation, name: str) -> PromptSet:
    """The prompts of a format, as they are when replies come."""
    content, filename = FILES[name][0]
    return prompt_set_import(organisation=organisation, set_name=name, content=content, name=filename)[0]


def sent(content: bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def check_said(name: str) -> None:
    version = Version.objects.latest("pk")
    assert dict(Reply.objects.filter(version=version, sample=1).values_list("prompt__key", "text")) == SAID[name]


@pytest.mark.parametrize("name", FILES)
def test_commands_take_the_files(organisation: Organisation, tmp_path: Path, name: str) -> None:
    where = {"set": name, "organisation": organisation.slug}
    for command, more, (content, filename) in zip(
        ("import_prompts", "import_chatbot"), ({}, {"name": "finch"}), FILES[name], strict=True
    ):
        path = tmp_path / command / filename
        path.parent.mkdir()
        path.write_bytes(content)
        call_command(command, path, **where, **more)
    check_said(name)


@pytest.mark.parametrize("name", FILES)
def test_set_up_takes_the_files(owner: Client, draft: Campaign, name: str) -> None:
    prompts, replies = FILES[name]
    owner.post(url(draft, "prompts"), {"file": sent(*prompts), "pasted": ""})
    owner.post(url(draft, "prompts"), {"take": "yes"})
    assert set(draft.prompt_set.prompts.values_list("key", flat=True)) == SAID[name].keys()
    owner.post(url(draft, "chatbots"), {"file": [sent(*replies)]})
    owner.post(url(draft, "chatbots"), {"take": "yes"})
    check_said(name)


@pytest.mark.parametrize("name", FILES)
def test_api_takes_the_files(api: Api, organisation: Organisation, name: str) -> None:
    for place, more, (content, filename) in zip(
        ("prompts", "chatbots"), ({}, {"name": "finch"}), FILES[name], strict=True
    ):
        assert send(api, organisation, place, content, filename, set=name, **more).status_code == 201
    check_said(name)


@pytest.mark.parametrize("name", FILES)
def test_submission_takes_the_replies(
    owner: Client, make_campaign: CampaignMaker, prompt_set: PromptSet, alice: User, name: str
) -> None:
    Campaign.objects.filter(pk=(campaign := make_campaign()).pk).update(prompt_set=prompt_set, standing=True)
    submissions_accept(campaign=campaign, accepted=Accepted(admission="open"))
    sending = {"organisation": alice.personal_organisation.slug, "name": "Newcomer"}
    place = f"/boards/{campaign.slug}/submit/"
    content, said = BROKEN[name][1]
    filename = FILES[name][1][1]
    answer = owner.post(place, {**sending, "file": sent(content, filename)}, follow=True)
    assert said.casefold() in words(answer).casefold()
    assert not Reply.objects.filter(version__chatbot__name="Newcomer").exists()
    answer = owner.post(place, {**sending, "file": sent(*FILES[name][1])})
    assert answer.status_code == 302, words(answer)
    check_said(name)


def send(api: Api, organisation: Organisation, place: str, content: bytes, filename: str, **query: str) -> Any:
    address = f"/api/v1/organisations/{organisation.slug}/{place}?{urlencode(query)}"
    return api.raw(address, content, KINDS[filename.rpartition(".")[2]])


KINDS = {"jsonl": "application/x-ndjson", "json": "application/octet-stream", "txt": "text/plain"}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_prompts_are_refused_by_every_entry(
    owner: Client, draft: Campaign, api: Api, organisation: Organisation, tmp_path: Path, name: str
) -> None:
    (content, said), filename = BROKEN[name][0], FILES[name][0][1]
    path = tmp_path / filename
    path.write_bytes(content)
    with pytest.raises(CommandError):
        call_command("import_prompts", path, set=name, organisation=organisation.slug)
    page = owner.post(url(draft, "prompts"), {"file": sent(content, filename), "pasted": ""}, follow=True)
    assert said.casefold() in words(page).casefold()
    refused = send(api, organisation, "prompts", content, filename, set=name)
    assert refused.status_code == 400
    assert not Prompt.objects.exists()


@pytest.mark.parametrize("name", BROKEN)
def test_broken_replies_are_refused_by_commands_and_api(
    api: Api, organisation: Organisation, prompt_set: PromptSet, tmp_path: Path, name: str
) -> None:
    (content, _said), filename = BROKEN[name][1], FILES[name][1][1]
    path = tmp_path / filename
    path.write_bytes(content)
    with pytest.raises(CommandError):
        call_command("import_chatbot", path, name="finch", set=prompt_set.name, organisation=organisation.slug)
    assert send(api, organisation, "chatbots", content, filename, set=name, name="finch").status_code == 400
    assert not Reply.objects.exists()
