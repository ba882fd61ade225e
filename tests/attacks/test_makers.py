"""Attack: a chatbot is brought in by another organisation than the one that made it, whose members then judge it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue, user_create
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.models import Chatbot
from evalsite.core.models import AuditEntry, Upload
from evalsite.judgments.conflict_of_interest import own_entrants
from evalsite.prompts.models import PromptSet
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker

REPLIES = b"prompt_id,reply\np0,Forty-two.\n"
VOTES = "system_a,system_b,prompt_id,outcome\nant,bee,p1,-1\nbee,cow,p1,1\ncow,ant,p2,0\n"


@pytest.fixture
def maker(charlie: User) -> Organisation:
    """charlie's organisation; alice brings its chatbot in."""
    return charlie.personal_organisation


@pytest.fixture
def prompt_set(campaign: Campaign) -> PromptSet:
    return campaign.prompt_set


def by_command(name: str, slug: str, prompt_set: PromptSet, tmp_path: Path) -> None:
    file = tmp_path / "replies.csv"
    file.write_bytes(REPLIES)
    call_command("import_chatbot", file, name=name, set=prompt_set.name, organisation="alice", made_by=slug)


def by_api(alice: User) -> Callable[..., tuple[int, dict[str, object]]]:
    token = api_token_issue(user=alice, name="files", scopes=[ApiToken.Scope.CHATBOTS], days=1)

    def send(slug: str, **query: str) -> tuple[int, dict[str, object]]:
        address = f"/api/v1/organisations/alice/chatbots?name=Anna&set=trial&made_by={slug}"
        answer = Api(token).raw(
            address + "".join(f"&{key}={value}" for key, value in query.items()), REPLIES, "text/csv"
        )
        return answer.status_code, json.loads(answer.content)

    return send


def test_makers_members_are_not_asked_about_an_imported_chatbot(
    campaign: Campaign, maker: Organisation, charlie: User, alice: User, prompt_set: PromptSet, tmp_path: Path
) -> None:
    by_command("Anna", maker.slug, prompt_set, tmp_path)
    anna = Chatbot.objects.get(name="Anna")
    entrant = entrant_add(campaign=campaign, version=anna.versions.get())
    assert own_entrants(campaign, {charlie.pk}) == {entrant.pk}
    assert entrant.pk not in own_entrants(campaign, {user_create(username="erika", password=None).pk})


def test_api_submission_carries_its_maker(campaign: Campaign, alice: User, maker: Organisation) -> None:
    status, _ = by_api(alice)(maker.slug)
    assert (status, Chatbot.objects.get(name="Anna").made_by) == (201, maker)


@pytest.mark.parametrize("query", [{}, {"check": "true"}])
def test_unknown_maker_is_refused_by_name(campaign: Campaign, alice: User, query: dict[str, str]) -> None:
    status, answer = by_api(alice)("nobody-here", **query)
    error = answer["error"]
    assert isinstance(error, dict)
    assert (status, error["field"]) == (400, "made_by")
    assert "There is no organisation 'nobody-here'." in error["message"]
    assert not Chatbot.objects.filter(name="Anna").exists()


def test_second_maker_is_refused_and_a_missing_one_is_recorded(
    alice: User, maker: Organisation, prompt_set: PromptSet, tmp_path: Path
) -> None:
    by_command("Anna", "", prompt_set, tmp_path)
    by_command("Anna", maker.slug, prompt_set, tmp_path)
    anna = Chatbot.objects.get(name="Anna")
    assert anna.made_by == maker
    assert AuditEntry.objects.filter(subject=anna.public_id, act="record_maker").count() == 1
    with pytest.raises(CommandError, match="was made by charlie"):
        by_command(
            "Anna", user_create(username="erika", password=None).personal_organisation.slug, prompt_set, tmp_path
        )
    assert anna.versions.count() == 2


def test_console_asks_for_the_maker_of_each_file(
    owner: Client, make_campaign: CampaignMaker, maker: Organisation
) -> None:
    draft = make_campaign(start=False)
    page = f"/console/{draft.slug}/setup/chatbots/"
    owner.post(page, {"file": SimpleUploadedFile("anna.csv", REPLIES)})
    upload = Upload.objects.get()
    refused = owner.post(page, {"take": "yes", f"made_by-{upload.public_id}": "nobody-here"})
    assert (refused.status_code, "There is no organisation" in refused.content.decode()) == (400, True)
    owner.post(page, {"take": "yes", f"made_by-{upload.public_id}": maker.slug})
    anna = draft.entrants.latest("pk").version.chatbot
    assert anna.made_by == maker
    assert "Made by" in owner.get(f"/console/chatbots/{anna.public_id}/").content.decode()


class TestVotes:
    @pytest.fixture
    def votes(self, db: None, tmp_path: Path) -> Path:
        file = tmp_path / "votes.csv"
        file.write_text(VOTES)
        return file

    def test_flag_and_file_name_makers(self, votes: Path, maker: Organisation, alice: User, tmp_path: Path) -> None:
        makers = tmp_path / "makers.csv"
        makers.write_text(f"chatbot,organisation\nbee,{maker.slug}\n")
        call_command("import_votes", votes, campaign="Zoo", made_by=[("ant", "alice")], makers=makers)
        found = dict(Chatbot.objects.values_list("name", "made_by__slug"))
        assert found == {"ant": "alice", "bee": maker.slug, "cow": None}

    def test_importing_again_records_makers(self, votes: Path, maker: Organisation) -> None:
        call_command("import_votes", votes, campaign="Zoo")
        call_command("import_votes", votes, "--campaign=Zoo", f"--made-by=ant={maker.slug}")
        assert Chatbot.objects.get(name="ant").made_by == maker

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["ant=nobody-here"], "There is no organisation 'nobody-here'"),
            (["dog=charlie"], "The votes have no chatbot 'dog'"),
            (["ant=charlie", "ant=alice"], "has two makers"),
            (["ant"], "is not CHATBOT=SLUG"),
        ],
    )
    def test_wrong_makers_leave_nothing(
        self, votes: Path, maker: Organisation, alice: User, given: list[str], said: str
    ) -> None:
        with pytest.raises(CommandError, match=said):
            call_command("import_votes", votes, "--campaign=Zoo", *(f"--made-by={one}" for one in given))
        assert not Campaign.objects.exists()

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("chatbot\nant\n", "has no column organisation"),
            ("chatbot,organisation\nant,\n", "line 2: the name of the chatbot or of the organisation is empty"),
        ],
    )
    def test_wrong_makers_file_says_where(self, votes: Path, tmp_path: Path, text: str, said: str) -> None:
        makers = tmp_path / "makers.csv"
        makers.write_text(text)
        with pytest.raises(CommandError, match=said):
            call_command("import_votes", votes, campaign="Zoo", makers=makers)
