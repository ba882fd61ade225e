"""Every role and every act: who may do it, on the page and by the API; and docs/roles.md says the same."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue, user_create
from evalsite.adaptive.acts import PERFORMED
from evalsite.adaptive.models import Refit, Snapshot
from evalsite.adaptive.services import board_default
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.permissions import ALLOWED, Act, Role, as_markdown, role_of
from evalsite.campaigns.services import entrant_withdraw
from evalsite.core.models import AuditEntry
from evalsite.judgments.models import Exclusion
from evalsite.judgments.services import annotator_enrol
from evalsite.judgments.stewardship import annotator_hold
from evalsite.pages.console.acts import OF_ANNOTATOR
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker

ROOT = Path(__file__).resolve().parents[3]
OF_DRAFTS = {Act.PILOT, Act.LAUNCH, Act.SET_UP}
PEOPLE = [*[role.value for role in Role], "organisation's manager", "organisation's viewer", "annotator", "stranger"]


@dataclass(frozen=True)
class Stage:
    """A campaign in a state that fits the act, and what the act is done with."""

    campaign: Campaign
    given: dict[str, Any]


def rows(campaign: Campaign) -> QuerySet[Campaign]:
    return Campaign.objects.filter(pk=campaign.pk)


def fitted(campaign: Campaign) -> None:
    """As far as a check needs it to be, before its worker looks."""
    numbers = {"number": 1, "seed": 0, "judgments": 3, "annotators": 1, "seconds": 0.1, "converged": True}
    board = board_default(campaign=campaign)
    made = Snapshot.objects.create(board=board, input_sha256="x", engine="0", rows=[], posterior=b"", **numbers)
    Refit.objects.create(board=board, outcome="published", snapshot=made, started_at=timezone.now())


def annotator_for(campaign: Campaign, act: Act) -> dict[str, str]:
    annotator = annotator_enrol(campaign=campaign)
    if act == Act.RESUME_ANNOTATOR:
        annotator_hold(campaign=campaign, annotator=annotator, paused=True)
    if act == Act.READMIT:
        Exclusion.objects.create(campaign=campaign, annotator=annotator, reason="tapped one key")
    return {"annotator": str(annotator.public_id), "reason": "a reason"}


PLAIN: dict[Act, dict[str, Any]] = {
    Act.PILOT: {"judgments": 3},
    Act.EXTEND: {"target_se": 0.04},
    Act.SHARE: {"username": "charlie", "role": "viewer"},
}


def given_for(campaign: Campaign, act: Act) -> dict[str, Any]:
    if act in OF_ANNOTATOR:
        return annotator_for(campaign, act)
    entrant = campaign.entrants.all()[0]
    if act == Act.ADD_ENTRANT:
        entrant_withdraw(campaign=campaign, entrant=entrant, reason="by mistake")
        AuditEntry.objects.all().delete()
        return {"version": str(entrant.version.public_id)}
    if act == Act.WITHDRAW_ENTRANT:
        return {"entrant": str(entrant.public_id), "reason": "a reason"}
    if act == Act.RETIRE_PROMPT:
        return {"prompt": str(campaign.prompt_set.prompts.all()[0].public_id), "reason": "a reason"}
    if act == Act.WITHDRAW_GOLD:
        new = NewGold("g1", ("A",), prompt=campaign.prompt_set.prompts.all()[0].key, texts=("Good", "Bad"))
        item = gold_add(campaign=campaign, items=[new])[0]
        return {"gold": str(item.public_id), "reason": "a reason"}
    return PLAIN.get(act, {})


@pytest.fixture
def stage(make_campaign: CampaignMaker, charlie: User) -> Callable[[Act], Stage]:
    def make(act: Act) -> Stage:
        campaign = make_campaign(chatbots=3, prompts=2, start=False)
        rows(campaign).update(state={Act.RESUME: "paused"}.get(act, "running"))
        given = given_for(Campaign.objects.get(pk=campaign.pk), act)
        if act == Act.FULL_CHECK:
            fitted(campaign)
        if act in OF_DRAFTS:
            rows(campaign).update(state="draft")
        AuditEntry.objects.all().delete()
        return Stage(campaign, given)

    return make


def person(name: str, campaign: Campaign) -> User:
    user = user_create(username="someone", password=None, staff=name == "staff")
    if name.startswith("organisation's"):
        Membership.objects.create(organisation=campaign.organisation, user=user, role=name.split()[-1])
    elif name in Membership.Role.values:
        CampaignRole.objects.create(campaign=campaign, user=user, role=name)
    elif name == "annotator":
        annotator_enrol(campaign=campaign, user=user)
    return user


def may(name: str, act: Act) -> bool:
    role = name.removeprefix("organisation's ")
    return role in list(Role) and act in ALLOWED[Role(role)]


def refusal(name: str, act: Act) -> int:
    """A member whose role does not do is told so; for everybody else a draft is not there at all."""
    member = name.removeprefix("organisation's ") in list(Role)
    return 404 if act in OF_DRAFTS and not member else 403


@pytest.fixture(params=PERFORMED, ids=str)
def act(request: pytest.FixtureRequest) -> Act:
    return Act(request.param)


@contextmanager
def undone() -> Iterator[None]:
    """What happens inside has not happened afterwards: one stage serves every person."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def by_the_api(on: Stage, act: Act, user: User) -> int:
    token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
    answer = Api(token).post(f"/api/v1/campaigns/trial/acts/{act.value}", on.given)
    return int(answer.status_code)


def by_the_page(on: Stage, act: Act, user: User) -> int:
    """The page asks (GET) whom it lets act (POST), and nobody else."""
    client = Client()
    client.force_login(user)
    asks = client.get(f"/console/trial/act/{act.value}/", on.given).status_code
    assert AuditEntry.objects.count() == 0, "asking does nothing"
    does = client.post(f"/console/trial/act/{act.value}/", on.given).status_code
    assert (asks, does) in {(200, 302), (403, 403), (404, 404)}
    return asks


DOORS = {"the API": by_the_api, "the page": by_the_page}
QUALITY = {"votes_per_item": 2, "block_size": 3, "lease_s": 600, "batch_size": 5}
PAGES = ["", "pairs/", "prompts/", "chatbots/", "annotators/", "judgments/", "fits/", "log/"]


def test_only_who_has_a_role_sees_the_pages_of_the_console(stage: Callable[[Act], Stage]) -> None:
    campaign = stage(Act.SEE).campaign
    for name in PEOPLE:
        with undone():
            client = Client()
            client.force_login(person(name, campaign))
            statuses = {client.get(f"/console/trial/{page}").status_code for page in PAGES}
            assert statuses == {200 if may(name, Act.SEE) else 403}, name


def test_only_who_may_set_up_opens_a_draft(stage: Callable[[Act], Stage]) -> None:
    campaign = stage(Act.SET_UP).campaign
    for name in PEOPLE:
        with undone():
            client = Client()
            client.force_login(person(name, campaign))
            allowed, refused = may(name, Act.SET_UP), refusal(name, Act.SET_UP)
            assert client.get("/console/trial/setup/goal/").status_code == (200 if allowed else refused), name
            saved = client.post("/console/trial/setup/quality/", QUALITY).status_code
            assert (saved, AuditEntry.objects.count()) == ((302, 1) if allowed else (refused, 0)), name


def test_who_is_not_logged_in_is_led_to_the_login(stage: Callable[[Act], Stage]) -> None:
    stage(Act.SEE)
    for path in ["/console/", *[f"/console/trial/{page}" for page in PAGES]]:
        assert Client().get(path)["Location"] == f"/account/login/?next={path}"


@pytest.mark.parametrize("door", DOORS)
def test_a_person_does_what_the_role_allows_and_nothing_else(
    stage: Callable[[Act], Stage], act: Act, door: str
) -> None:
    """Allowed: done, and written down once. Refused: 403 (a draft to others: 404), and no trace of it."""
    on = stage(act)
    for name in PEOPLE:
        with undone():
            user = person(name, on.campaign)
            status, allowed = DOORS[door](on, act, user), may(name, act)
            log = [(entry.act, entry.actor, entry.subject) for entry in AuditEntry.objects.all()]
            written = [(act.value, user.public_id, on.campaign.public_id)] if allowed else []
            assert (status, log) == (200 if allowed else refusal(name, act), written), f"{name} by {door}"


def test_only_who_may_see_the_console_reads_judgments(stage: Callable[[Act], Stage]) -> None:
    campaign = stage(Act.SEE).campaign
    for name in PEOPLE:
        with undone():
            user = person(name, campaign)
            token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.JUDGMENTS], days=1)
            answer = Api(token).get("/api/v1/campaigns/trial/judgments")
            assert answer.status_code == (200 if may(name, Act.SEE) else 403), name


def test_a_private_campaign_is_not_even_there_for_who_has_no_role(stage: Callable[[Act], Stage], charlie: User) -> None:
    rows(stage(Act.PAUSE).campaign).update(visibility="private")
    token = api_token_issue(user=charlie, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
    assert Api(token).post("/api/v1/campaigns/trial/acts/pause").status_code == 404
    CampaignRole.objects.create(campaign=Campaign.objects.get(), user=charlie, role="manager")
    assert Api(token).post("/api/v1/campaigns/trial/acts/pause").status_code == 200


def test_a_token_that_only_reads_does_nothing(stage: Callable[[Act], Stage], alice: User) -> None:
    stage(Act.PAUSE)
    token = api_token_issue(user=alice, name="t", scopes=[ApiToken.Scope.CAMPAIGNS], days=1)
    answer = Api(token).post("/api/v1/campaigns/trial/acts/pause")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope_missing")


def test_without_a_name_nothing_is_done(stage: Callable[[Act], Stage]) -> None:
    stage(Act.PAUSE)
    assert Api().post("/api/v1/campaigns/trial/acts/pause").status_code == 403
    assert Client(enforce_csrf_checks=True).post("/api/v1/campaigns/trial/acts/pause").status_code == 403


def test_of_two_roles_the_higher_one_decides(stage: Callable[[Act], Stage], charlie: User) -> None:
    campaign = stage(Act.SEE).campaign
    assert role_of(charlie, campaign) is None
    Membership.objects.create(organisation=campaign.organisation, user=charlie, role="viewer")
    assert role_of(charlie, campaign) == Role.VIEWER
    CampaignRole.objects.create(campaign=campaign, user=charlie, role="manager")
    assert role_of(charlie, campaign) == Role.MANAGER


def test_the_guide_has_the_table_that_is_tested_here() -> None:
    assert (ROOT / "docs" / "roles.md").read_text() == as_markdown(), "run: manage.py roles > docs/roles.md"
