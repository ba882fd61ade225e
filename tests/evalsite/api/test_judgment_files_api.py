"""Files of prompts and of replies by the API: the same rows as by the commands, each with its fate, or none at all."""

import io
import json
import threading
import uuid
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import api_token_issue, organisation_create, user_create
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.core import row_files
from evalsite.core.models import AuditEntry, IdempotencyKey
from evalsite.core.row_files import MOST_BYTES
from evalsite.prompts.models import Prompt, PromptSet
from tests.environment import FULL
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared

CSV, JSONL, NDJSON, TEXT = "text/csv", "application/jsonl", "application/x-ndjson", "text/plain"
OCTETS = "application/octet-stream"
ENDINGS = {CSV: "csv", JSONL: "jsonl", NDJSON: "jsonl", TEXT: "txt", OCTETS: "json"}
SCOPES = [ApiToken.Scope.PROMPTS, ApiToken.Scope.CHATBOTS]
PROMPTS = 'prompt_id,text,category\np1,"Why is the sky\nblue?",science\np2,"Ärger? ""Nein"".",\n'
REPLIES = 'prompt_id,reply,sample\np1,"Because,\n so.",1\np1,Well.,2\np2,=SUM(1),\n'
TURNS = [{"speaker": speaker, "text": "Hi?"} for speaker in ("user", "chatbot", "user")]
PROMPT_FILES = {
    CSV: PROMPTS,
    JSONL: json.dumps({"prompt_id": 1, "turns": TURNS}) + '\n\n{"prompt_id": "p2", "text": "x", "mood": "glad"}\n',
    NDJSON: '{"prompt_id": "p1", "text": "\\u00e9", "category": "c"}',
    TEXT: "First?\n\n  Second?\r\n",
    OCTETS: json.dumps(
        {"data": [{"prompt_id": "p1", "text": "x"}, {"instruction": "y", "prompt_id": "p2", "text": "z"}]}
    ),
}
REPLY_FILES = {
    CSV: REPLIES,
    JSONL: '{"prompt_id": "p1", "reply": "Because.", "sample": 2}\n{"prompt_id": "p2", "reply": "\\u00e9"}\n',
    NDJSON: '{"prompt_id": "p2", "reply": "x"}',
    TEXT: "Because.\nWell.\n",
    OCTETS: '[{"prompt_id": "p2", "reply": "x"}]',
}
pytestmark = pytest.mark.django_db


def program(user: User, scopes: list[ApiToken.Scope] | None = None) -> Api:
    return Api(api_token_issue(user=user, name=str(uuid.uuid4()), scopes=scopes or SCOPES, days=1))


def to(what: str, organisation: str = "alice", **query: str) -> str:
    return f"/api/v1/organisations/{organisation}/{what}?{urlencode(query)}"


def prompts_to(name: str = "Spring", **query: str) -> str:
    return to("prompts", set=name, **query)


def replies_to(name: str = "Anna", **query: str) -> str:
    return to("chatbots", **{"name": name, "set": "Spring", **query})


@shared
def token(alice: User) -> str:
    return api_token_issue(user=alice, name="sender", scopes=SCOPES, days=1)


@pytest.fixture
def sender(token: str) -> Api:
    return Api(token)


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(start=False)


@shared
def spring(token: str) -> PromptSet:
    assert Api(token).raw(prompts_to(), PROMPTS.encode(), CSV).status_code == 201
    return PromptSet.objects.get(name="Spring")


def counts() -> list[int]:
    return [model.objects.count() for model in (PromptSet, Prompt, Chatbot, Version, Reply)]


def prompts_of(name: str) -> list[Any]:
    rows = Prompt.objects.filter(prompt_set__name=name).order_by("pk")
    return list(rows.values("key", "revision", "category", "turns", "origin", "prompt_set__organisation__slug"))


def replies_of(name: str) -> list[Any]:
    rows = Reply.objects.filter(version__chatbot__name=name).order_by("pk")
    of_version = ("version__label", "version__kind", "version__chatbot__organisation__slug")
    return list(rows.values("prompt__key", "sample", "revision", "text", "sha256", "origin", *of_version))


class TestTheSameRows:
    @pytest.mark.parametrize("media", PROMPT_FILES)
    def test_a_prompt_file_gives_the_same_rows_by_command_and_by_api(
        self, sender: Api, tmp_path: Path, media: str
    ) -> None:
        file = tmp_path / f"prompts.{ENDINGS[media]}"
        file.write_bytes(PROMPT_FILES[media].encode())
        call_command("import_prompts", file, set="By command", organisation="alice")
        answer = sender.raw(prompts_to("By API"), file.read_bytes(), media)
        assert answer.status_code == 201
        assert prompts_of("By API") == prompts_of("By command") != []

    @pytest.mark.parametrize("media", REPLY_FILES)
    def test_a_reply_file_gives_the_same_rows_by_command_and_by_api(
        self, sender: Api, spring: PromptSet, tmp_path: Path, media: str
    ) -> None:
        file = tmp_path / f"replies.{ENDINGS[media]}"
        file.write_bytes(REPLY_FILES[media].encode())
        for label in (None, "with search"):
            more = {"label": label} if label else {}
            call_command("import_chatbot", file, name="Command", set="Spring", organisation="alice", **more)
            assert sender.raw(replies_to("API", **more), file.read_bytes(), media).status_code == 201
        assert replies_of("API") == replies_of("Command") != []

    def test_what_the_command_refuses_the_api_refuses_by_the_same_lines_and_words(
        self, sender: Api, spring: PromptSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "replies.csv"
        file.write_text("prompt_id,reply\np1,Because.\np9,What?\np2,\np1,Again.\n")
        with pytest.raises(Exception, match="3 rows are refused; nothing was added"):
            call_command("import_chatbot", file, name="Anna", set="Spring", organisation="alice")
        told = capsys.readouterr().err.splitlines()
        error = error_of(sender.raw(replies_to(), file.read_bytes(), CSV))
        assert [f"line {row['line']}: {row['prompt_id']}: {row['problem']}" for row in error["rows"]] == told
        assert len(told) == 3


class TestFates:
    def test_prompts_make_a_set_and_the_answer_tells_of_each_row(self, sender: Api) -> None:
        content = (PROMPTS + "p3,x,\n").replace("category", "mood")
        answer = sender.raw(prompts_to(), content.encode(), CSV)
        made = PromptSet.objects.get()
        assert answer.status_code == 201
        assert answer.json() == {
            "prompt_set": {"id": str(made.public_id), "name": "Spring"},
            "add": 3,
            "same": 0,
            "refused": 0,
            "passed_over": ["mood"],
            "rows": [
                {"line": line, "prompt_id": key, "fate": "add", "problem": ""}
                for line, key in ((2, "p1"), (4, "p2"), (5, "p3"))
            ],
        }

    def test_prompts_that_are_there_stay_and_new_ones_come_to_them(self, sender: Api, spring: PromptSet) -> None:
        again = sender.raw(prompts_to(), PROMPTS.encode(), CSV)
        assert (again.status_code, again.json()["same"]) == (200, 2), "nothing was made"
        more = sender.raw(prompts_to(), b"prompt_id,text\np3,x\n", CSV)
        assert (more.status_code, more.json()["add"], spring.prompts.count()) == (201, 1, 3)
        assert PromptSet.objects.count() == 1

    def test_one_refused_row_refuses_the_file_and_leaves_nothing(self, sender: Api) -> None:
        answer = sender.raw(prompts_to(), (PROMPTS + ",no id,\np1,twice,\n").encode(), CSV)
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["field"]) == (400, "rows_refused", "file")
        assert error["message"] == "2 rows are refused; nothing was added."
        assert [(row["line"], row["prompt_id"], row["fate"]) for row in error["rows"]] == [
            (5, "", "refused"),
            (6, "p1", "refused"),
        ]
        assert error["rows"][1]["problem"] == "line 2 has the same prompt_id"
        assert counts() == [0] * 5

    def test_who_asks_for_a_part_gets_it_and_the_refused_rows_come_first(self, sender: Api) -> None:
        answer = sender.raw(prompts_to(partly="true"), (PROMPTS + ",no id,\n").encode(), CSV)
        told = answer.json()
        assert (answer.status_code, told["add"], told["refused"]) == (201, 2, 1)
        assert [row["line"] for row in told["rows"]] == [5, 2, 4]
        assert Prompt.objects.count() == 2

    def test_replies_make_a_version_and_prompts_without_one_are_named(self, sender: Api, spring: PromptSet) -> None:
        answer = sender.raw(replies_to(), b"prompt_id,reply\np2,Ha.\n", CSV)
        version = Version.objects.get()
        assert answer.status_code == 201
        assert answer.json() == {
            "chatbot": {"id": str(version.chatbot.public_id), "name": "Anna"},
            "version": {"id": str(version.public_id), "label": "1"},
            "add": 1,
            "refused": 0,
            "prompts": 2,
            "without_reply": 1,
            "missing": ["p1"],
            "passed_over": [],
            "rows": [{"line": 2, "prompt_id": "p2", "fate": "add", "problem": ""}],
        }

    def test_an_unknown_id_is_named_and_leaves_no_chatbot(self, sender: Api, spring: PromptSet) -> None:
        answer = sender.raw(replies_to(), (REPLIES + "p9,x,1\n").encode(), CSV)
        row = {"line": 6, "prompt_id": "p9", "fate": "refused", "problem": "no prompt has the id 'p9'"}
        assert (answer.status_code, error_of(answer)["rows"]) == (400, [row])
        assert counts()[2:] == [0, 0, 0]
        part = sender.raw(replies_to(partly="true"), (REPLIES + "p9,x,1\n").encode(), CSV)
        assert (part.status_code, part.json()["add"], part.json()["refused"]) == (201, 3, 1)

    def test_a_chatbot_that_is_there_gets_its_next_version(self, sender: Api, spring: PromptSet) -> None:
        labels = [
            sender.raw(replies_to(**more), REPLIES.encode(), CSV).json()["version"]["label"]
            for more in ({}, {}, {"label": "with search"})
        ]
        assert labels == ["1", "2", "with search"]
        assert Chatbot.objects.count() == 1
        answer = sender.raw(replies_to(label="2"), REPLIES.encode(), CSV)
        assert (answer.status_code, error_of(answer)["field"]) == (409, "label")
        assert Version.objects.count() == 3

    def test_a_version_that_was_sent_enters_a_running_campaign(self, alice: User, make_campaign: CampaignMaker) -> None:
        make_campaign(prompts=2)
        api = program(alice, [*SCOPES, ApiToken.Scope.ACTS])
        sent = api.raw(replies_to(set="trial"), b"prompt_id,reply\np0,x\np1,y\n", CSV).json()
        added = api.post("/api/v1/campaigns/trial/acts/add_entrant", {"version": sent["version"]["id"]})
        assert added.status_code == 200

    def test_of_very_many_rows_a_thousand_are_told_and_all_are_counted(self, sender: Api) -> None:
        content = "prompt_id,text\n" + "x,y\n" + ",y\n" * 1500
        told = sender.raw(prompts_to(partly="true"), content.encode(), CSV).json()
        assert (told["add"], told["refused"], len(told["rows"])) == (1, 1500, 1000)


class TestCheck:
    def test_a_look_tells_the_same_and_writes_nothing(self, sender: Api) -> None:
        look = sender.raw(prompts_to(check="true"), (PROMPTS + ",x,\n").encode(), CSV)
        assert counts() == [0] * 5
        taken = sender.raw(prompts_to(partly="true"), (PROMPTS + ",x,\n").encode(), CSV)
        assert (look.status_code, taken.status_code) == (200, 201)
        assert look.json()["prompt_set"] == {"id": None, "name": "Spring"}
        assert {**look.json(), "prompt_set": taken.json()["prompt_set"]} == taken.json()

    def test_a_look_at_replies_tells_which_version_they_would_be(self, sender: Api, spring: PromptSet) -> None:
        look = sender.raw(replies_to(check="true"), b"prompt_id,reply\np9,x\n", CSV)
        assert (look.status_code, look.json()["add"], look.json()["refused"]) == (200, 0, 1)
        assert look.json()["chatbot"] == {"id": None, "name": "Anna"}
        assert counts()[2:] == [0, 0, 0]
        sender.raw(replies_to(), REPLIES.encode(), CSV)
        look = sender.raw(replies_to(check="true"), REPLIES.encode(), CSV).json()
        assert look["chatbot"]["id"] == str(Chatbot.objects.get().public_id)
        assert look["version"] == {"id": None, "label": "2"}
        there = sender.raw(replies_to(check="true", label="1"), REPLIES.encode(), CSV)
        assert (there.status_code, error_of(there)["field"]) == (409, "label")


ROLES = {"staff": 201, "owner": 201, "manager": 201, "viewer": 403, "campaign's manager": 403, "stranger": 404}
ACTS = ("prompts", "chatbots")


def person(role: str, organisation: Organisation) -> User:
    user = user_create(username="eve", password=None, staff=role == "staff")
    if role in Membership.Role.values:
        Membership.objects.create(organisation=organisation, user=user, role=role)
    if role == "campaign's manager":
        CampaignRole.objects.create(campaign=Campaign.objects.get(), user=user, role="manager")
    return user


class TestWho:
    @pytest.mark.parametrize("act", ACTS)
    @pytest.mark.parametrize("role", ROLES)
    def test_every_role_sends_what_it_may_and_nothing_else(
        self, draft: Campaign, spring: PromptSet, organisation: Organisation, role: str, act: str
    ) -> None:
        before = counts()
        address = prompts_to("Other") if act == "prompts" else replies_to()
        content = PROMPTS if act == "prompts" else REPLIES
        answer = program(person(role, organisation)).raw(address, content.encode(), CSV)
        assert answer.status_code == ROLES[role]
        assert (counts() == before) == (ROLES[role] != 201)
        if role == "viewer":
            assert error_of(answer)["hint"] == "Your role here is viewer. Ask its owner."

    def test_whose_role_is_in_a_draft_sends_for_its_set_what_its_set_up_takes(
        self, draft: Campaign, spring: PromptSet, organisation: Organisation
    ) -> None:
        eve = person("campaign's manager", organisation)
        sent = [
            program(eve).raw(to("prompts", set="trial"), b"prompt_id,text\np9,More?\n", CSV),
            program(eve).raw(to("chatbots", set="trial", name="Eve's"), b"prompt_id,reply\np9,Yes.\n", CSV),
        ]
        assert [answer.status_code for answer in sent] == [201, 201]
        page = Client()
        page.force_login(eve)
        assert "Eve&#x27;s" in page.get(f"/console/{draft.public_id}/setup/chatbots/").content.decode()
        CampaignRole.objects.update(role="viewer")
        assert program(eve).raw(to("prompts", set="trial"), PROMPTS.encode(), CSV).status_code == 404
        CampaignRole.objects.update(role="manager")
        Campaign.objects.update(state="running")
        late = program(eve).raw(to("chatbots", set="trial", name="Late"), REPLIES.encode(), CSV)
        assert late.status_code == 404

    def test_who_may_send_for_a_draft_learns_nothing_of_other_sets(
        self, draft: Campaign, spring: PromptSet, organisation: Organisation
    ) -> None:
        eve = program(person("campaign's manager", organisation))
        answers = [eve.raw(to("chatbots", set=name, name="Bot"), REPLIES.encode(), CSV) for name in ("Spring", "No")]
        assert [answer.status_code for answer in answers] == [403, 403]
        assert answers[0].content == answers[1].content
        assert error_of(answers[0])["hint"] == "Name the prompt set of a draft that you set up."

    def test_what_was_sent_stands_in_the_logs_with_who_and_when(
        self, sender: Api, alice: User, draft: Campaign
    ) -> None:
        since = AuditEntry.objects.count()
        assert sender.raw(to("prompts", set="trial", check="true"), PROMPTS.encode(), CSV).status_code == 200
        assert AuditEntry.objects.count() == since, "only looked at"
        more = b"prompt_id,text\np9,More?\n"
        assert sender.raw(to("prompts", set="trial"), more, CSV).status_code == 201
        assert sender.raw(to("prompts", set="trial"), more, CSV).status_code == 200
        made = sender.raw(to("chatbots", set="trial", name="Anna"), b"prompt_id,reply\np9,Yes.\n", CSV)
        assert made.status_code == 201
        entries = list(AuditEntry.objects.order_by("pk")[since:])
        assert [(one.act, one.subject, one.actor) for one in entries] == [
            ("add_prompts", draft.prompt_set.public_id, alice.public_id),
            ("add_prompts", draft.public_id, alice.public_id),
            ("add_version", Chatbot.objects.get(name="Anna").public_id, alice.public_id),
        ]
        assert (entries[0].before, entries[0].after) == ({"prompts": 6}, {"prompts": 7})
        assert entries[2].after == {"version": "1", "prompt_set": "trial", "replies": 1}
        page = Client()
        page.force_login(alice)
        assert "Add prompts" in page.get(f"/console/{draft.public_id}/log/").content.decode()
        anna = Chatbot.objects.get(name="Anna").public_id
        for path in (f"prompt-sets/{draft.prompt_set.public_id}", f"chatbots/{anna}"):
            assert "<bdi>alice</bdi>" in page.get(f"/console/{path}/").content.decode()

    @pytest.mark.parametrize("act", ACTS)
    def test_an_organisation_of_others_is_answered_like_one_that_never_was(
        self, charlie: User, spring: PromptSet, act: str
    ) -> None:
        query = {"set": "Spring", **({"name": "Anna"} if act == "chatbots" else {})}
        answers = [
            program(charlie).raw(to(act, organisation, **query), content, media)
            for organisation in ("alice", "nobody")
            for content, media in ((PROMPTS.encode(), CSV), (b"\xff", "image/png"), (b"", CSV))
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.content for answer in answers}) == 1

    def test_a_set_of_others_is_answered_like_one_that_never_was(self, charlie: User, spring: PromptSet) -> None:
        answers = [
            program(charlie).raw(to("chatbots", "charlie", set=name, name="Bot"), REPLIES.encode(), CSV)
            for name in ("Spring", "Nothing")
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].content == answers[1].content
        assert error_of(answers[0])["field"] == "set"

    def test_names_are_an_organisations_own(self, charlie: User, alice: User, spring: PromptSet) -> None:
        """A person of two organisations writes into the one that is named, and the other one's set stays."""
        Membership.objects.create(organisation=alice.personal_organisation, user=charlie, role="viewer")
        answer = program(charlie).raw(to("prompts", "charlie", set="Spring"), b"prompt_id,text\np7,x\n", CSV)
        assert answer.status_code == 201
        assert spring.prompts.count() == 2
        assert organisation_create(name="Acme", owner=alice).prompt_sets.count() == 0

    @pytest.mark.parametrize("act", ACTS)
    @pytest.mark.parametrize("scope", ApiToken.Scope)
    def test_a_token_needs_the_scope_of_the_act(
        self, alice: User, spring: PromptSet, scope: ApiToken.Scope, act: str
    ) -> None:
        address = prompts_to("Other") if act == "prompts" else replies_to()
        answer = program(alice, [scope]).raw(address, (PROMPTS if act == "prompts" else REPLIES).encode(), CSV)
        if scope == f"{act}:write":
            assert answer.status_code == 201
        else:
            assert (answer.status_code, error_of(answer)["code"]) == (403, "scope_missing")
            assert error_of(answer)["hint"] == f"Use one with {act}:write."

    @pytest.mark.parametrize("address", [prompts_to("Other"), replies_to()])
    def test_without_a_token_in_force_nothing_is_sent(self, sender: Api, spring: PromptSet, address: str) -> None:
        before = counts()
        assert Api().raw(address, PROMPTS.encode(), CSV).status_code == 403
        ApiToken.objects.update(expires_at=timezone.now())
        assert sender.raw(address, PROMPTS.encode(), CSV).status_code == 401
        assert counts() == before

    def test_a_session_without_its_csrf_token_sends_nothing(self, alice: User) -> None:
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(alice)
        assert browser.post(prompts_to(), PROMPTS.encode(), CSV).status_code == 403
        assert counts() == [0] * 5


class TestWhatStays:
    @pytest.mark.parametrize("state", ["pilot", "running", "paused", "stopped"])
    @pytest.mark.parametrize("check", ["true", "false"])
    def test_prompts_of_a_campaign_that_is_no_draft_stay(
        self, sender: Api, draft: Campaign, state: str, check: str
    ) -> None:
        new = b"prompt_id,text\nnew,x\n"
        Campaign.objects.update(state=state, stopped_at=timezone.now())
        before = counts()
        answer = sender.raw(prompts_to("trial", check=check), new, CSV)
        assert (answer.status_code, error_of(answer)["field"], counts()) == (409, "set", before)
        Campaign.objects.update(state="draft")
        assert sender.raw(prompts_to("trial"), new, CSV).status_code == 201

    def test_a_set_of_gold_takes_neither_prompts_nor_replies(self, sender: Api, draft: Campaign) -> None:
        turns = [{"speaker": "user", "text": "Two and two?"}]
        gold_add(campaign=draft, items=[NewGold("g", ("A",), turns=turns, texts=("4", "5"))])
        assert draft.gold_set is not None
        name, before = draft.gold_set.name, counts()
        assert sender.raw(prompts_to(name), PROMPTS.encode(), CSV).status_code == 409
        assert sender.raw(replies_to(set=name), REPLIES.encode(), CSV).status_code == 404
        assert counts() == before


class TestSentAgain:
    def test_under_one_key_a_file_is_taken_in_once(self, sender: Api, spring: PromptSet) -> None:
        first, again = (sender.raw(replies_to(), REPLIES.encode(), CSV, key="k") for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert ("Idempotent-Replayed" in first, again["Idempotent-Replayed"]) == (False, "true")
        assert Version.objects.count() == 1

    @pytest.mark.parametrize(
        ("address", "content", "media"),
        [
            (replies_to(), REPLIES + "\n", CSV),
            (replies_to("Ben"), REPLIES, CSV),
            (replies_to(), REPLIES, JSONL),
        ],
    )
    def test_another_file_name_or_type_under_the_same_key_is_refused(
        self, sender: Api, spring: PromptSet, address: str, content: str, media: str
    ) -> None:
        sender.raw(replies_to(), REPLIES.encode(), CSV, key="k")
        answer = sender.raw(address, content.encode(), media, key="k")
        assert (answer.status_code, error_of(answer)["code"]) == (409, "idempotency_key_reused")
        assert Version.objects.count() == 1

    def test_a_file_that_was_refused_leaves_its_key_free(self, sender: Api, spring: PromptSet) -> None:
        assert sender.raw(replies_to(), b"prompt_id,reply\np9,x\n", CSV, key="k").status_code == 400
        assert not IdempotencyKey.objects.exists()
        assert sender.raw(replies_to(), REPLIES.encode(), CSV, key="k").status_code == 201

    def test_the_first_answer_comes_again_although_the_set_is_asked_by_now(self, sender: Api, draft: Campaign) -> None:
        answers = []
        for state in ("draft", "running"):
            Campaign.objects.update(state=state)
            answers.append(sender.raw(prompts_to("trial"), b"prompt_id,text\nnew,x\n", CSV, key="k"))
        first, again = answers
        assert (first.status_code, again.status_code, again["Idempotent-Replayed"]) == (201, 201, "true")


class TestMeasures:
    @pytest.fixture(autouse=True)
    def _one_hour(self) -> Any:
        """An hour's end within a test would begin another count."""
        with time_machine.travel("2030-01-01T12:00:00Z", tick=False):
            yield

    @pytest.fixture
    def sender(self, _one_hour: None, alice: User) -> Api:
        return program(alice)

    def test_one_person_sends_so_many_files_in_an_hour_by_whatever_door(
        self, alice: User, charlie: User, settings: Any
    ) -> None:
        settings.UPLOADS_PER_HOUR = 2
        sender = program(alice)
        answers = [sender.raw(prompts_to(check="true"), PROMPTS.encode(), CSV) for _ in range(2)]
        answers.append(program(alice).raw(replies_to(), REPLIES.encode(), CSV))
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert 0 < int(answers[2]["Retry-After"]) <= 3600
        assert error_of(answers[2])["code"] == "too_many"
        other = program(charlie).raw(to("prompts", "charlie", set="Spring"), PROMPTS.encode(), CSV)
        assert other.status_code == 201

    @pytest.mark.parametrize("address", [prompts_to(), replies_to()])
    def test_a_file_too_long_is_refused_by_its_length_and_not_read(self, sender: Api, address: str) -> None:
        """What is announced is longer than what comes: whoever read it would wait for the rest."""
        headers = {"headers": sender.headers, "CONTENT_LENGTH": str(MOST_BYTES + 1)}
        answer = sender.client.generic("POST", address, b"x", CSV, **headers)  # type: ignore[arg-type]
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["field"]) == (413, "too_large", "file")
        assert "longer than 20 MB" in error["message"]

    def test_a_file_longer_than_a_body_of_json_may_be_is_read(self, sender: Api, settings: Any) -> None:
        content = "prompt_id,text\n" + "".join(f"p{n},{'x' * 100_000}\n" for n in range(15))
        assert len(content) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        assert sender.raw(prompts_to(), content.encode(), CSV).json()["add"] == 15

    def test_more_rows_than_are_read_are_too_many(self, sender: Api, monkeypatch: pytest.MonkeyPatch) -> None:
        assert row_files.MOST_ROWS == 200_000
        monkeypatch.setattr(row_files, "MOST_ROWS", 1000)
        rows = [f"p{number},x\n" for number in range(1001)]
        answer = sender.raw(prompts_to(), "".join(["prompt_id,text\n", *rows]).encode(), CSV)
        assert (answer.status_code, error_of(answer)["message"]) == (413, "The file has more than 1,000 rows.")
        fits = sender.raw(prompts_to(check="true"), "".join(["prompt_id,text\n", *rows[:1000]]).encode(), CSV)
        assert (fits.status_code, fits.json()["add"]) == (200, 1000)

    @pytest.mark.parametrize("used", [False, True])
    def test_a_set_holds_as_much_as_a_campaign_may(
        self, sender: Api, spring: PromptSet, make_campaign: CampaignMaker, settings: Any, used: bool
    ) -> None:
        if used:
            Campaign.objects.filter(pk=make_campaign(start=False).pk).update(prompt_set=spring)
        settings.CAMPAIGN_MEGABYTES = 0
        for address, content in ((prompts_to(), PROMPTS), (replies_to(), REPLIES)):
            answer = sender.raw(address, content.encode(), CSV)
            error = error_of(answer)
            assert (answer.status_code, error["code"], error["field"]) == (413, "too_large", "file")
            assert error["message"].startswith("The campaign holds" if used else "The prompts and their replies have")
        assert counts()[3:] == ([0, 0] if not used else [4, 24])


COLUMNS = ("prompt_id", "text", "turns", "reply", "sample", "category")
DEPTHS = (1, 100, *range(900, 1000, 7 if FULL else 49), 5000, 100_000)
UNKEPT = ('"\\u0000"', '"\\ud800"', '["\\ud800"]', "1e400", "NaN", "9" * 4000, "9" * 5000, "true")


def spread(values: Iterable[Any], columns: Iterable[str]) -> list[Any]:
    """Return each value with each column; every other pair in the full run only, so that each still meets several."""
    pairs = product(enumerate(values), enumerate(columns))
    return [
        pytest.param(value, column, marks=[pytest.mark.full] if (n + m) % 2 else [])
        for (n, value), (m, column) in pairs
    ]


class TestHostileFiles:
    @pytest.mark.parametrize(
        ("address", "types"),
        [
            (place, "text/csv, application/jsonl, application/x-ndjson, text/plain or application/octet-stream")
            for place in (prompts_to(), replies_to())
        ],
    )
    @pytest.mark.parametrize(
        "media", ["application/json", "multipart/form-data", "text/html", "nonsense", "text/csv; charset=latin-1"]
    )
    def test_another_content_type_is_refused_and_told_which_are_read(
        self, sender: Api, address: str, types: str, media: str
    ) -> None:
        answer = sender.raw(address, PROMPTS.encode(), media)
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["field"]) == (
            415,
            "unsupported_media_type",
            "Content-Type",
        )
        assert error["hint"] == f"Send Content-Type: {types}, encoded as UTF-8."

    @pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
    def test_a_form_of_somebody_with_a_session_is_refused_as_well(self, alice: User, media: str) -> None:
        """Of them a CSRF token is looked for in a form, before anything else."""
        browser = Api()
        browser.client.force_login(alice)
        browser.client.cookies["csrftoken"] = "a" * 32
        for address, read in ((prompts_to(), TEXT), (replies_to(), CSV)):
            answer = browser.raw(address, b"First?", media)
            assert (answer.status_code, error_of(answer)["code"]) == (415, "unsupported_media_type")
            assert read in error_of(answer)["hint"]

    @pytest.mark.parametrize("media", ["text/csv; charset=utf-8", "Text/CSV", "text/csv; header=present"])
    def test_a_content_type_may_be_written_in_any_way(self, sender: Api, media: str) -> None:
        assert sender.raw(prompts_to(), PROMPTS.encode(), media).status_code == 201

    @pytest.mark.parametrize(
        ("media", "content", "words"),
        [
            (CSV, b" \r\n ", "no "),
            (CSV, b"prompt_id,text,reply\n", "no rows"),
            (CSV, b"prompt_id,text,reply\np1,x,\xff\n", "Line 2 is not UTF-8"),
            (CSV, b"prompt_id,text,reply\np1,\xed\xa0\x80,x\n", "Line 2 is not UTF-8"),
            (CSV, "prompt_id,text,reply\np1,x,y\n".encode("utf-16"), "not UTF-8"),
            (CSV, b"prompt_id,text,reply\np1,\x00,x\n", "NUL"),
            (CSV, b'prompt_id,text,reply\np1,"x,y\n', "Line 2 is not CSV"),
            (CSV, b'prompt_id,text,reply\np1,"x"y,z\n', "Line 2 is not CSV"),
            (CSV, b"prompt_id,text,text,reply,reply\np1,x,y,z,z\n", "same name"),
            (CSV, b"\n\n\n", "no "),
            (JSONL, b"[1, 2]", "There is no column"),
            (JSONL, b"\n" * 1000, "no rows"),
        ],
    )
    @pytest.mark.parametrize("address", [prompts_to("Other"), replies_to()])
    def test_a_file_that_cannot_be_read_says_why_and_leaves_nothing(
        self, sender: Api, spring: PromptSet, address: str, media: str, content: bytes, words: str
    ) -> None:
        before = counts()
        answer = sender.raw(address, content, media)
        assert (answer.status_code, counts()) == (400, before)
        assert words in error_of(answer)["message"]

    def test_an_empty_body_is_a_file_without_rows(self, sender: Api, spring: PromptSet) -> None:
        for address in (prompts_to(), replies_to()):
            headers = {**sender.headers, "Content-Type": CSV, "Content-Length": "0"}
            answer = sender.client.generic("POST", address, headers=headers)
            assert (answer.status_code, error_of(answer)["message"]) == (400, "The file has no rows.")

    @pytest.mark.parametrize("length", [None, "", "-1", "x", "9" * 5000])
    def test_a_body_of_no_told_length_is_not_taken_for_an_empty_file(self, sender: Api, length: str | None) -> None:
        """As when it comes in chunks."""
        headers = {**sender.headers, "Content-Type": CSV}
        extra = {} if length is None else {"CONTENT_LENGTH": length}
        answer = sender.client.generic("POST", prompts_to(), headers=headers, **extra)  # type: ignore[arg-type]
        assert (answer.status_code, error_of(answer)["field"]) == (400, "Content-Length")
        assert error_of(answer)["hint"] == "Send Content-Length, and not the body in chunks."

    @pytest.mark.parametrize("body", [b"", b"First?\nSecond pro"])
    def test_a_file_that_broke_off_is_not_taken_for_a_whole_one(self, sender: Api, body: bytes) -> None:
        """A server hands on what came before the connection ended, and the length that was told."""
        before = counts()
        headers = {**sender.headers, "Content-Type": TEXT}
        came = {"CONTENT_LENGTH": "5000", "wsgi.input": io.BytesIO(body)}
        answer = sender.client.generic("POST", prompts_to(), headers=headers, **came)  # type: ignore[arg-type]
        assert (answer.status_code, error_of(answer)["message"]) == (400, "The file broke off on its way.")
        assert counts() == before

    @pytest.mark.parametrize(("depth", "column"), spread(DEPTHS, [*COLUMNS, "other"]))
    def test_nesting_of_any_depth_is_a_refused_row(
        self, sender: Api, spring: PromptSet, depth: int, column: str
    ) -> None:
        cells = {"prompt_id": '"p1"', "text": '"x"', "reply": '"x"', column: "[" * depth + "]" * depth}
        line = "{" + ", ".join(f'"{name}": {cell}' for name, cell in cells.items()) + "}"
        for address in (prompts_to("Other"), replies_to()):
            assert sender.raw(address, line.encode(), JSONL).status_code in (201, 400, 409)

    @pytest.mark.parametrize(("cell", "column"), spread(UNKEPT, [*COLUMNS, "o\\ud800ther"]))
    def test_what_no_database_keeps_is_no_fault_of_ours(
        self, sender: Api, spring: PromptSet, cell: str, column: str
    ) -> None:
        cells = {"prompt_id": '"p1"', "text": '"x"', "reply": '"x"', column: cell}
        line = "{" + ", ".join(f'"{name}": {cell}' for name, cell in cells.items()) + "}"
        for address in (prompts_to("Other"), replies_to()):
            for partly in ("true", "false"):
                answer = sender.raw(f"{address}&partly={partly}", line.encode(), JSONL)
                assert answer.status_code in (200, 201, 400, 409)

    @pytest.mark.parametrize("column", [0, 1, 2])
    def test_a_cell_of_any_length_is_kept_whole_or_refused(self, sender: Api, spring: PromptSet, column: int) -> None:
        for length, kept in ((100_000, True), (200_001, False)):
            cells = ["p1", "x", "y"]
            cells[column] = "z" * length
            content = f"prompt_id,text,reply\n{','.join(cells)}\n".encode()
            name = f"{column} {length}"
            statuses = [
                sender.raw(address, content, CSV).status_code for address in (prompts_to(name), replies_to(name))
            ]
            takes = [kept or column == 2, kept or column == 1] if column else [False, False]
            assert statuses == [201 if one else 400 for one in takes]
        assert {len(text or "") for text in Reply.objects.values_list("text", flat=True)} <= {1, 100_000}

    def test_a_head_of_endless_names_gives_no_endless_answer(self, sender: Api, spring: PromptSet) -> None:
        head = ",".join(f"{number}{'x' * 100_000}" for number in range(20))
        cells = "," * 19
        for address in (prompts_to("Other"), replies_to()):
            refused = sender.raw(address, f"{head}\n{cells}\n".encode(), CSV)
            assert (refused.status_code, len(refused.content) < 2000) == (400, True)
            taken = sender.raw(address, f"prompt_id,text,reply,{head}\np1,x,y,{cells}\n".encode(), CSV)
            assert (taken.status_code, len(taken.content) < 10_000) == (201, True)

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ({}, "set"),
            ({"set": ""}, "set"),
            ({"set": "a\0b"}, "set"),
            ({"set": "x" * 201}, "set"),
            ({"set": "Spring", "partly": "yes"}, "partly"),
            ({"set": "Spring", "chek": "true"}, "chek"),
        ],
    )
    def test_a_query_that_cannot_be_is_refused_by_name(self, sender: Api, query: dict[str, str], field: str) -> None:
        answer = sender.raw(to("prompts", **query), PROMPTS.encode(), CSV)
        assert (answer.status_code, error_of(answer)["field"]) == (400, field)

    @pytest.mark.parametrize(("field", "value"), [("name", "x" * 201), ("name", "a\0b"), ("label", "x" * 101)])
    def test_names_are_kept_whole_or_refused(self, sender: Api, spring: PromptSet, field: str, value: str) -> None:
        answer = sender.raw(replies_to(**{field: value}), REPLIES.encode(), CSV)
        assert (answer.status_code, error_of(answer)["field"]) == (400, field)
        assert counts()[2:] == [0, 0, 0]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("there", [False, True])
def test_of_the_same_file_ten_times_at_once_each_row_is_taken_in_once(there: bool) -> None:
    alice = user_create(username="alice", password=None)
    if there:
        PromptSet.objects.create(organisation=alice.personal_organisation, name="Spring")
    sender = program(alice)
    together = threading.Barrier(10)
    statuses: list[int] = []

    def send(number: int) -> None:
        together.wait()
        statuses.append(sender.raw(prompts_to(), PROMPTS.encode(), CSV).status_code)
        statuses.append(sender.raw(replies_to(), REPLIES.encode(), CSV).status_code)
        connection.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 9 + [201] * 11
    assert (PromptSet.objects.count(), Prompt.objects.count(), Chatbot.objects.count()) == (1, 2, 1)
    labels = Version.objects.values_list("label", flat=True)
    assert sorted(map(int, labels)) == list(range(1, 11))
