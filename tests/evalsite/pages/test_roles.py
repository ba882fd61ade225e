"""Every role and every act: who may do it, on the page and by the API; and docs/roles.md says the same."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import dropwhile, product, takewhile
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.accounts.services import api_token_issue, user_create
from evalsite.boards.models import Refit, Snapshot
from evalsite.boards.services import board_default
from evalsite.campaigns.gold import NewGold, gold_add
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.permissions import WORDS, Act, Role, as_markdown, role_of
from evalsite.campaigns.services import entrant_withdraw
from evalsite.console.action_pages import OF_ANNOTATOR
from evalsite.console.setup import STEPS
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.models import AuditEntry
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.judgments.annotator_actions import annotator_hold
from evalsite.judgments.models import Exclusion
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import PERFORMED
from evalsite.scorecards.services import conversation_set_open
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, skip_twice
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.shared import shared

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
    Act.CAP_CALLS: {"call_cap": 10},
    Act.EXTEND: {"target_se": 0.04},
    Act.SHOW: {"visibility": "link"},
    Act.SHARE: {"username": "charlie", "role": "viewer"},
}


def given_for(campaign: Campaign, act: Act) -> dict[str, Any]:
    if act in OF_ANNOTATOR:
        return annotator_for(campaign, act)
    entrant = campaign.entrants.all()[0]
    if act == Act.ADD_ENTRANT:
        entrant_withdraw(campaign=campaign, entrant=entrant, reason="by mistake")
        with deletion_permitted():
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


@shared
def unopened(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=3, prompts=2, start=False)


@pytest.fixture
def stage(unopened: Campaign, charlie: User) -> Callable[[Act], Stage]:
    """What brings the campaign into the state that fits an act, once in a test."""

    def make(act: Act) -> Stage:
        campaign = unopened
        rows(campaign).update(state={Act.RESUME: "paused"}.get(act, "running"))
        given = given_for(Campaign.objects.get(pk=campaign.pk), act)
        if act == Act.FULL_CHECK:
            fitted(campaign)
        if act == Act.REOPEN_SKIPPED:
            skip_twice(campaign)
        if act in OF_DRAFTS:
            rows(campaign).update(state="draft")
        with deletion_permitted():
            AuditEntry.objects.all().delete()
        return Stage(campaign, given)

    return make


@dataclass(frozen=True)
class Person:
    """Somebody with a role, a token that acts, and a session in a browser."""

    user: User
    token: str
    session: str

    @property
    def browser(self) -> Client:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = self.session
        return client


@shared
def people(unopened: Campaign) -> dict[str, Person]:
    """One person for each name in PEOPLE."""
    found = {}
    for name in PEOPLE:
        user, client = _user(name, unopened), Client()
        client.force_login(user)
        token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
        found[name] = Person(user, token, str(client.session.session_key))
    return found


def _user(name: str, campaign: Campaign) -> User:
    username = name.replace("'", "").replace(" ", "-")
    user = user_create(username=username, password=None, staff=name == "staff")
    if name.startswith("organisation's"):
        Membership.objects.create(organisation=campaign.organisation, user=user, role=name.split()[-1])
    elif name in Membership.Role.values:
        CampaignRole.objects.create(campaign=campaign, user=user, role=name)
    elif name == "annotator":
        annotator_enrol(campaign=campaign, user=user)
    return user


def table(after: str) -> dict[str, dict[str, str]]:
    """A table of docs/roles.md, the first below a line that begins so: act -> who -> cell."""
    lines = (ROOT / "docs" / "roles.md").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(after))
    below = dropwhile(lambda line: not line.startswith("|"), lines[start:])
    whole = takewhile(lambda line: line.startswith("|"), below)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in whole]
    return {act: dict(zip(rows[0][1:], cells, strict=True)) for act, *cells in rows[2:]}


OF_CAMPAIGNS, OF_ORGANISATIONS = table("# Who may do what"), table("In an organisation")


def column(name: str) -> str:
    role = name.removeprefix("organisation's ")
    return role if role in list(Role) else "everybody else"


def may(name: str, act: Act) -> bool:
    """As the guide says it: what is tested here is what people read."""
    return OF_CAMPAIGNS[str(WORDS[act])][column(name)] == "yes"


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


def by_the_api(on: Stage, act: Act, one: Person) -> int:
    answer = Api(one.token).post(f"/api/v1/campaigns/trial/acts/{act.value}", on.given)
    return int(answer.status_code)


def by_the_page(on: Stage, act: Act, one: Person) -> int:
    """The page asks (GET) whom it lets act (POST), and nobody else."""
    client = one.browser
    asks = client.get(f"/console/trial/act/{act.value}/", on.given).status_code
    assert AuditEntry.objects.count() == 0, "asking does nothing"
    does = client.post(f"/console/trial/act/{act.value}/", on.given).status_code
    assert (asks, does) in {(200, 302), (403, 403), (404, 404)}
    return asks


DOORS = {"the API": by_the_api, "the page": by_the_page}
QUALITY = {"votes_per_item": 2, "block_size": 3, "lease_s": 600, "batch_size": 5}
PAGES = ["", "pairs/", "prompts/", "chatbots/", "annotators/", "judgments/", "fits/", "log/", "check/", "check/state/"]
# Acts that have pages of their own: what each is asked, and sent.
OWN_PAGES: dict[Act, list[tuple[str, str, dict[str, Any]]]] = {
    Act.SUBMISSIONS: [
        ("GET", "submissions/settings/", {}),
        ("POST", "submissions/settings/", {"admission": "open", "takes": "both"}),
    ],
    Act.MODERATE: [("GET", "submissions/", {})],
    Act.WEBHOOKS: [
        ("GET", "webhooks/", {}),
        ("POST", "webhooks/", {"url": "https://hooks.example/", "events": ["board.published"]}),
    ],
    Act.SEE: [("GET", "", {}), ("POST", "notices/seen/", {})],
    Act.GOLD: [("GET", "gold/", {}), ("POST", "gold/", {"take": "yes"})],
    Act.PAY: [("GET", "payments/", {}), ("POST", "payments/", {"take": "yes"}), ("POST", "payments.csv", {})],
    Act.INVITE: [("GET", "invitations/", {}), ("POST", "invitations/", {"invite": "yes", "name": "a", "days": "3"})],
    Act.EXCLUDE: [("POST", "preview/", {})],
    Act.SET_UP: [
        ("GET", "setup/", {}),
        *(("GET", f"setup/{step}/", {}) for step in STEPS),
        ("GET", "qualification/", {}),
        ("POST", "qualification/", {"pass_mark": "0"}),
        ("POST", "forecast/", {"target_se": "0.3"}),
    ],
}


def test_only_who_has_a_role_sees_the_pages_of_the_console(
    stage: Callable[[Act], Stage], people: dict[str, Person]
) -> None:
    stage(Act.SEE)
    for name in PEOPLE:
        with undone():
            client = people[name].browser
            statuses = {client.get(f"/console/trial/{page}").status_code for page in PAGES}
            assert statuses == {200 if may(name, Act.SEE) else 403}, name


def test_only_who_may_set_up_opens_a_draft(stage: Callable[[Act], Stage], people: dict[str, Person]) -> None:
    stage(Act.SET_UP)
    for name in PEOPLE:
        with undone():
            client = people[name].browser
            allowed, refused = may(name, Act.SET_UP), refusal(name, Act.SET_UP)
            assert client.get("/console/trial/setup/goal/").status_code == (200 if allowed else refused), name
            saved = client.post("/console/trial/setup/quality/", QUALITY).status_code
            assert (saved, AuditEntry.objects.count()) == ((302, 1) if allowed else (refused, 0)), name


def test_every_act_has_a_row_and_every_row_is_tested() -> None:
    assert set(OF_CAMPAIGNS) == {str(WORDS[act]) for act in Act}
    assert set(Act) == {Act(name) for name in PERFORMED} | set(OWN_PAGES)
    assert all(list(cells) == [*Role, "everybody else"] for cells in OF_CAMPAIGNS.values())


@pytest.mark.parametrize("act", OWN_PAGES, ids=str)
def test_the_pages_of_an_act_are_for_whom_the_table_says(
    stage: Callable[[Act], Stage], people: dict[str, Person], act: Act
) -> None:
    on = stage(act)
    assert OWN_PAGES[act]
    for name in PEOPLE:
        with undone():
            client = people[name].browser
            for method, path, sent in OWN_PAGES[act]:
                given = {**sent, **(on.given if act == Act.EXCLUDE else {})}
                ask = client.get if method == "GET" else client.post
                status = ask(f"/console/trial/{path}", given).status_code
                done = status in {200, 302} if may(name, act) else status == refusal(name, act)
                assert done, f"{name}: {method} {path} {status}"


def test_gold_by_the_api_is_for_whom_the_table_says(stage: Callable[[Act], Stage], people: dict[str, Person]) -> None:
    campaign = stage(Act.GOLD).campaign
    prompt = campaign.prompt_set.prompts.all()[0].key
    item = {"id": "g9", "prompt_id": prompt, "reply_a": "Good", "reply_b": "Bad", "right": ["A"]}
    for name in PEOPLE:
        with undone():
            token = api_token_issue(user=people[name].user, name="g", scopes=list(ApiToken.Scope), days=1)
            status = Api(token).post("/api/v1/campaigns/trial/gold", {"items": [item]}).status_code
            assert status == (201 if may(name, Act.GOLD) else 403), name


def test_a_drafts_limits_by_the_api_are_for_whom_the_table_says(
    stage: Callable[[Act], Stage], people: dict[str, Person]
) -> None:
    stage(Act.SET_UP)
    for name in PEOPLE:
        with undone():
            status = Api(people[name].token).put("/api/v1/campaigns/trial/limits", {"budget": 50}).status_code
            assert status == (200 if may(name, Act.SET_UP) else refusal(name, Act.SET_UP)), name


def test_the_health_page_is_for_staff_alone(stage: Callable[[Act], Stage], people: dict[str, Person]) -> None:
    stage(Act.SEE)
    for name in PEOPLE:
        with undone():
            client = people[name].browser
            assert client.get("/console/health/").status_code == (200 if name == "staff" else 403), name


class TestInAnOrganisation:
    """What is done with no campaign, or before there is one: the guide's second table."""

    BEGIN, LIBRARY = "begin a campaign in it", "see its chatbots and prompt sets, and their log"
    CHOOSE = "choose one of its prompt sets for a draft"
    STUDY = "make a study of a draft of a live campaign"
    SEE_ENDPOINTS = "see its endpoints, their health, calls and costs"
    USE_ENDPOINTS = "register, change, test and pause endpoints, and collect replies"
    SEE_MEMBERS = "see its members"
    VOTES = "import files of votes by the API"
    MANAGE_MEMBERS = "invite members by mail, change their roles and remove them"
    SEE_CONVERSATIONS = "see its imported conversations and their scorecards"
    CHANGE_CONVERSATIONS = "import and annotate conversations, erase users, delete sets of conversations"
    NAMES = ("staff", "owner", "manager", "viewer", "draft", "stranger")

    def cell(self, act: str, name: str) -> str:
        return OF_ORGANISATIONS[act]["in a draft: owner, manager" if name == "draft" else column(name)]

    @contextmanager
    def user(self, campaign: Campaign, name: str) -> Iterator[User]:
        """Somebody with this role, undone afterwards."""
        with undone():
            user = user_create(username="someone", password=None, staff=name == "staff")
            if name in Membership.Role.values:
                Membership.objects.create(organisation=campaign.organisation, user=user, role=name)
            if name == "draft":
                CampaignRole.objects.create(campaign=campaign, user=user, role="manager")
            yield user

    def test_every_row_is_tested(self) -> None:
        files = {f"send files of {what} by the API" for what in ("prompts", "replies")}
        endpoints = {self.SEE_ENDPOINTS, self.USE_ENDPOINTS}
        members = {self.SEE_MEMBERS, self.MANAGE_MEMBERS}
        conversations = {self.SEE_CONVERSATIONS, self.CHANGE_CONVERSATIONS}
        own = {self.BEGIN, self.LIBRARY, self.CHOOSE, self.STUDY, self.VOTES}
        assert set(OF_ORGANISATIONS) == own | endpoints | files | members | conversations

    def test_votes_are_imported_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        campaign = stage(Act.SET_UP).campaign
        path = f"/api/v1/organisations/{campaign.organisation.slug}/votes?campaign=Votes"
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
                status = Api(token).raw(path, b"model_a,model_b,winner\na,b,tie\n", "text/csv").status_code
                assert (status == 202) == (self.cell(self.VOTES, name) == "yes"), name
                assert status in {202, 403, 404}

    def test_a_campaign_is_begun_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        campaign = stage(Act.SET_UP).campaign
        sent = {"name": "Next", "question": "Which?", "organisation": str(campaign.organisation.public_id)}
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                client = Client()
                client.force_login(user)
                client.post("/console/new/", sent)
                made = Campaign.objects.filter(name="Next", organisation=campaign.organisation).exists()
                assert made == (self.cell(self.BEGIN, name) == "yes"), name

    def test_what_it_has_is_seen_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        campaign = stage(Act.SET_UP).campaign
        ids = [campaign.entrants.all()[0].version.chatbot.public_id, campaign.prompt_set.public_id]
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                client = Client()
                client.force_login(user)
                sees = self.cell(self.LIBRARY, name) == "yes"
                for page, public_id in zip(("chatbots", "prompt-sets"), ids, strict=True):
                    assert client.get(f"/console/{page}/{public_id}/").status_code == (200 if sees else 404), name
                    assert (str(public_id) in client.get(f"/console/{page}/").content.decode()) == sees, name

    def test_a_set_is_chosen_by_who_may(self, stage: Callable[[Act], Stage], make_campaign: CampaignMaker) -> None:
        campaign, other = stage(Act.SET_UP).campaign, make_campaign(slug="other", start=False).prompt_set
        page, sent = "/console/trial/setup/prompts/", {"use": "yes", "set": str(other.public_id)}
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                client = Client()
                client.force_login(user)
                chooses = self.cell(self.CHOOSE, name) == "yes"
                assert (str(other.public_id) in client.get(page).content.decode()) == chooses, name
                client.post(page, sent)
                assert (Campaign.objects.get(pk=campaign.pk).prompt_set == other) == chooses, name

    def test_a_study_is_made_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        draft = live_campaign_make(organisation=stage(Act.SET_UP).campaign.organisation, chatbots=2, start=False)
        given = {"campaign": str(draft.public_id), "name": "Study", "settings": ["soba", "sata_random"]}
        for name in self.NAMES:
            with self.user(draft, name) as user:
                token = api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS], days=1)
                status = Api(token).post("/api/v1/studies", given).status_code
                refused = 404 if name == "stranger" else 403
                assert status == (201 if self.cell(self.STUDY, name) == "yes" else refused), name

    def test_endpoints_are_seen_and_used_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        campaign = stage(Act.SET_UP).campaign
        chatbot, chosen = campaign.entrants.all()[0].version.chatbot, str(campaign.prompt_set.public_id)
        reached = EndpointSettings(adapter="openai", url="https://bot.example/v1", model="m")
        endpoint = endpoint_register(chatbot=chatbot, label="live", settings=reached, secret="sk-of-this-test")
        collection = collection_start(endpoint=endpoint, prompt_set=campaign.prompt_set)
        home, place = f"/api/v1/endpoints/{endpoint.public_id}", f"/api/v1/collections/{collection.public_id}"
        begin = f"/api/v1/organisations/{campaign.organisation.slug}/endpoints"
        more = {"name": "New", "adapter": "openai", "url": "https://bot.example/v1", "model": "m"}
        seen = [home, f"{home}/calls", f"{home}/costs", f"{home}/collections", place, begin]
        used: list[tuple[str, dict[str, Any]]] = [
            (begin, more),
            (f"{home}/tests", {}),
            (f"{home}/collections", {"prompt_set": chosen}),
            *((f"{place}/{act}", {}) for act in ("pause", "resume", "retry")),
            *((f"{home}/{act}", {}) for act in ("pause", "resume")),
        ]
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                api = Api(api_token_issue(user=user, name="t", scopes=list(ApiToken.Scope), days=1))
                sees, uses = (self.cell(row, name) == "yes" for row in (self.SEE_ENDPOINTS, self.USE_ENDPOINTS))
                assert {api.get(path).status_code for path in seen} == {200 if sees else 404}, name
                statuses = {api.post(path, body).status_code for path, body in used}
                assert statuses <= {200, 201, 202} if uses else statuses == {403 if sees else 404}, name
                changed = api.put(f"{home}/secret", {"secret": "sk-another-one"}).status_code
                assert changed == (200 if uses else 403 if sees else 404), name

    def test_conversations_are_seen_and_changed_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        found = conversation_set_open(organisation=stage(Act.SET_UP).campaign.organisation, name="Talks")
        home = f"/console/conversations/{found.public_id}/"
        for name in self.NAMES:
            with self.user(Campaign.objects.get(organisation=found.organisation), name) as user:
                client = Client()
                client.force_login(user)
                rows = (self.SEE_CONVERSATIONS, self.CHANGE_CONVERSATIONS)
                sees, changes = (self.cell(row, name) == "yes" for row in rows)
                assert client.get(home).status_code == (200 if sees else 404), name
                status = client.post(f"{home}erase/", {"user_id": "u1"}).status_code
                assert status == (302 if changes else 403 if sees else 404), name
                form = client.get(f"{home}annotate/").status_code
                assert form == (200 if changes else 403 if sees else 404), name

    def test_members_are_seen_and_managed_by_who_may(self, stage: Callable[[Act], Stage]) -> None:
        organisation = stage(Act.SET_UP).campaign.organisation
        Organisation.objects.filter(pk=organisation.pk).update(personal_of=None)
        other = user_create(username="other", password=None)
        Membership.objects.create(organisation=organisation, user=other, role="viewer")
        home = f"/account/organisations/{organisation.slug}/"
        acts = {
            home: {"email": "dana@example.org", "role": "viewer"},
            f"{home}role/": {"member": str(other.public_id), "role": "manager"},
            f"{home}members/{other.public_id}/remove/": {},
        }
        for name in self.NAMES:
            with self.user(Campaign.objects.get(organisation=organisation), name):
                client = Client()
                client.force_login(User.objects.get(username="someone"))
                sees, manages = (self.cell(row, name) == "yes" for row in (self.SEE_MEMBERS, self.MANAGE_MEMBERS))
                assert client.get(home).status_code == (200 if sees else 404), name
                statuses = {client.post(path, sent).status_code for path, sent in acts.items()}
                assert statuses <= {200, 302} if manages else statuses == {403 if sees else 404}, name

    @pytest.mark.parametrize(
        ("what", "address", "content"),
        [
            ("prompts", "prompts?set=trial", "prompt_id,text\nq1,x\n"),
            ("replies", "chatbots?set=trial&name=New", "prompt_id,reply\np0,x\n"),
        ],
        ids=["prompts", "replies"],
    )
    def test_files_are_sent_by_who_may(
        self, stage: Callable[[Act], Stage], what: str, address: str, content: str
    ) -> None:
        campaign = stage(Act.SET_UP).campaign
        path = f"/api/v1/organisations/{campaign.organisation.slug}/{address}"
        for name in self.NAMES:
            with self.user(campaign, name) as user:
                api = Api(api_token_issue(user=user, name="t", scopes=list(ApiToken.Scope), days=1))
                status = api.raw(path, content.encode(), "text/csv").status_code
                sends = self.cell(f"send files of {what} by the API", name) != "–"
                assert (status == 201) == sends, f"{name}: {status}"


def test_who_is_not_logged_in_is_led_to_the_login(stage: Callable[[Act], Stage]) -> None:
    stage(Act.SEE)
    for path in ["/console/", *[f"/console/trial/{page}" for page in PAGES]]:
        assert Client().get(path)["Location"] == f"/account/login/?next={path}"


def test_a_person_does_what_the_role_allows_and_nothing_else(
    stage: Callable[[Act], Stage], people: dict[str, Person], act: Act
) -> None:
    """Allowed: done, and written down once. Refused: 403 (a draft to others: 404), and no trace of it."""
    on = stage(act)
    for name, door in product(PEOPLE, DOORS):
        with undone():
            one, allowed = people[name], may(name, act)
            status = DOORS[door](on, act, one)
            log = [(entry.act, entry.actor, entry.subject) for entry in AuditEntry.objects.all()]
            written = [(act.value, one.user.public_id, on.campaign.public_id)] if allowed else []
            assert (status, log) == (200 if allowed else refusal(name, act), written), f"{name} by {door}"


def test_only_who_may_see_the_console_reads_judgments(stage: Callable[[Act], Stage], people: dict[str, Person]) -> None:
    stage(Act.SEE)
    for name in PEOPLE:
        with undone():
            user = people[name].user
            token = api_token_issue(user=user, name="j", scopes=[ApiToken.Scope.JUDGMENTS], days=1)
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
