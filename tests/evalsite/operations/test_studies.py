"""Studies as people make, see and launch them: by their roles, in the console and by the API."""

import uuid
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import api_token_issue, user_create
from evalsite.boards.analysis_plans import plan_set
from evalsite.boards.models import AnalysisPlan
from evalsite.campaigns.models import Campaign, CampaignRole, Study
from evalsite.campaigns.studies import Arms
from evalsite.core.env import networks
from evalsite.dialogues.studies import arm_of
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.studies import studies_progress, study_build, study_open
from tests.evalsite.api.client import Api
from tests.evalsite.dialogues.steps import begin, choose, live_campaign_make, released
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def loopback(settings: Any) -> None:
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def draft(organisation: Organisation) -> Campaign:
    return live_campaign_make(organisation=organisation, slug="talk", chatbots=3, start=False)


@shared
def member(organisation: Organisation) -> User:
    """An owner of the organisation."""
    user = user_create(username="olga", password=None)
    Membership.objects.create(organisation=organisation, user=user, role="owner")
    return user


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def api_of(user: User) -> Api:
    return Api(api_token_issue(user=user, name="t", scopes=list(ApiToken.Scope), days=1))


def with_role(organisation: Organisation, role: str) -> User:
    user = user_create(username=role, password=None)
    Membership.objects.create(organisation=organisation, user=user, role=role)
    return user


def study_of(draft: Campaign, name: str = "How to select") -> Study:
    return study_build(campaign=draft, name=name, arms=Arms(("soba", "sata_random")))


def test_the_console_shows_arms_before_it_makes_them(draft: Campaign, member: User) -> None:
    client, page = client_of(member), f"/console/studies/new/?draft={draft.slug}"
    assert draft.name in words(client.get("/console/studies/new/"))
    first, second, _third = draft.entrants.order_by("pk")
    given = {"name": HOSTILE, "settings": ["soba", "sata_random"], "repetitions": "1"}
    given["set_0"] = [str(first.public_id), str(second.public_id)]
    shown = words(client.post(page, {**given, "show": "yes"}))
    assert "2 arms" in shown
    assert "talk speaker 0, talk speaker 1" in shown
    assert not Study.objects.exists()
    made = client.post(page, given)
    study = Study.objects.get()
    assert made.headers["Location"] == f"/console/studies/{study.public_id}/"
    body = client.get(made.headers["Location"]).content.decode()
    assert HOSTILE not in body
    assert "&lt;script&gt;" in body
    assert f"/studies/{study.public_id}/" in body


def test_the_form_says_what_is_wrong(draft: Campaign, member: User) -> None:
    page = f"/console/studies/new/?draft={draft.slug}"
    one_arm = {"name": "Study", "settings": ["soba"], "repetitions": "1"}
    answer = client_of(member).post(page, one_arm)
    assert answer.status_code == 400
    assert "has 2 to 24 arms" in words(answer)
    assert client_of(member).post(page, {"name": ""}).status_code == 400
    assert not Study.objects.exists()


def test_the_page_tells_progress_and_launches_together(draft: Campaign, member: User) -> None:
    plan_set(campaign=draft, values={"turns": 40})
    study, client = study_of(draft), client_of(member)
    home = f"/console/studies/{study.public_id}/"
    assert "2 arms, not launched yet." in words(client.get(home))
    assert f'href="{home}"' in client.get(f"/console/{draft.public_id}/conversations/").content.decode()
    assert client.post(f"{home}launch/").status_code == 302
    person = Annotator.objects.create()
    arm = arm_of(study=study, annotator=person)
    assert arm is not None
    shown = words(client.get(home))
    assert "2 arms, 2 collecting" in shown
    assert "0 of 40" in shown
    assert "Launch all arms" not in shown
    assert "No arm of the study waits" in words(client.post(f"{home}launch/", follow=True))


def test_progress_counts_annotators_conversations_and_turns(draft: Campaign, member: User) -> None:
    Campaign.objects.filter(pk=draft.pk).update(visibility="public")
    draft.live.count_first_turn = True
    draft.live.save()
    study = study_of(draft)
    study_open(study=study)
    draft.refresh_from_db()
    person = annotator_enrol(campaign=draft)
    choose(released(begin(draft, person)))
    (progress,) = studies_progress([study], member)
    assert [(arm.annotators, arm.conversations, arm.turns) for arm in progress.arms] == [(0, 1, 1), (0, 0, 0)]


def test_every_arm_gets_the_analysis_plan_of_the_draft(draft: Campaign) -> None:
    plan_set(campaign=draft, values={"turns": 120, "difference": 0.07})
    study_of(draft)
    assert list(AnalysisPlan.objects.values_list("turns", "difference")) == [(120, 0.07)] * 2


@pytest.mark.parametrize(
    ("role", "makes", "launches"), [("owner", True, True), ("manager", True, False), ("viewer", False, False)]
)
def test_roles_in_the_organisation_decide(
    draft: Campaign, organisation: Organisation, role: str, makes: bool, launches: bool
) -> None:
    other = live_campaign_make(organisation=organisation, slug="other", chatbots=2, start=False)
    study, user = study_of(other), with_role(organisation, role)
    api, home = api_of(user), f"/api/v1/studies/{study.public_id}"
    assert api.get(home).status_code == 200
    assert client_of(user).get(f"/console/studies/{study.public_id}/").status_code == 200
    page = client_of(user).get(f"/console/studies/new/?draft={draft.slug}")
    assert page.status_code == (200 if makes else 403)
    given = {"campaign": draft.slug, "name": "By API", "settings": ["soba", "sata_random"]}
    assert api.post("/api/v1/studies", given).status_code == (201 if makes else 403)
    assert api.post(f"{home}/launch").status_code == (200 if launches else 403)


def test_a_stranger_finds_no_study_and_a_role_in_one_arm_shows_that_arm(draft: Campaign) -> None:
    study, guest = study_of(draft), user_create(username="guest", password=None)
    home = f"/api/v1/studies/{study.public_id}"
    api = api_of(guest)
    assert api.get(home).status_code == 404
    assert client_of(guest).get(f"/console/studies/{study.public_id}/").status_code == 404
    assert client_of(guest).post(f"/console/studies/{study.public_id}/launch/").status_code == 404
    CampaignRole.objects.create(campaign=draft, user=guest, role="owner")
    body = api.get(home).json()
    assert [arm["slug"] for arm in body["arms"]] == [draft.slug]
    assert api.post(f"{home}/launch").status_code == 403


def test_the_same_key_makes_one_study(draft: Campaign, member: User) -> None:
    given = {"campaign": draft.slug, "name": "Once", "settings": ["soba", "sata_random"], "repetitions": 2}
    api, key = api_of(member), uuid.uuid4().hex
    answers = [api.post("/api/v1/studies", given, key=key) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert Study.objects.count() == 1
    assert [arm["repetition"] for arm in answers[0].json()["arms"]] == [1, 2, 1, 2]
    assert api.get("/api/v1/studies").json()["results"] == [answers[0].json()]


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"settings": ["best"]}, 400, "settings.0"),
        ({"settings": ["soba"]}, 400, "settings"),
        ({"repetitions": 0}, 400, "repetitions"),
        ({"name": " "}, 400, "name"),
        ({"chatbot_sets": [["00000000-0000-4000-8000-000000000000"]]}, 400, "chatbot_sets"),
        ({"campaign": "nowhere"}, 404, ""),
    ],
)
def test_a_wrong_study_is_refused_by_name(
    draft: Campaign, member: User, change: dict[str, Any], status: int, field: str
) -> None:
    given = {"campaign": draft.slug, "name": "Study", "settings": ["soba", "sata_random"], **change}
    answer = api_of(member).post("/api/v1/studies", given)
    assert (answer.status_code, answer.json()["error"].get("field")) == (status, field)
    assert not Study.objects.exists()
