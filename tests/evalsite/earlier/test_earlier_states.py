"""Migrations run forward on databases that were lived in: everything is kept, and the service goes on from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.adaptive.selectors import board_get, board_state_get, snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.backup import backup_write
from evalsite.exchange.verifying import board_verify
from evalsite.judgments.batches import batches_close_aged
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import AnnotatorIdentity, Assignment, Candidate, Judgment
from evalsite.judgments.selectors import judgments_counted
from evalsite.judgments.services import annotator_enrol, assignment_claim, judgment_record
from tests.databases import connected, empty_postgresql, empty_sqlite
from tests.evalsite.api.client import Api
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.earlier.states import (
    FOLDER,
    MADE_BY_MIGRATE,
    Row,
    brought_forward,
    filled,
    migrated_to,
    migrations_of,
    read,
)

BACKUPS = sorted(FOLDER.glob("*.backup"))
FIRST = FOLDER / "2a4ac17.backup"
DRESSED_THE_QUEUE = ("judgments", "0003_plan_seed")
# Django's own, which this service has no use for.
UNUSED = {
    "accounts_user_groups",
    "accounts_user_user_permissions",
    "auth_group",
    "auth_group_permissions",
    "django_admin_log",
    "django_session",
}
ON_POSTGRESQL = pytest.param("postgresql", marks=[pytest.mark.postgresql])


@dataclass(frozen=True, slots=True)
class Brought:
    """Table -> rows, before and after."""

    then: dict[str, list[Row]]
    now: dict[str, list[Row]]


@pytest.fixture(scope="module", params=BACKUPS, ids=lambda path: str(path.stem))
def backup(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture(scope="module", params=["sqlite", ON_POSTGRESQL])
def brought(
    request: pytest.FixtureRequest,
    backup: Path,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[Brought]:
    """This process works on the earlier database, brought forward."""
    folder = tmp_path_factory.mktemp("earlier")
    with django_db_blocker.unblock(), emptied(request.param, folder):
        brought_forward(backup)
        backup_write(folder / "now")
        yield Brought(read(backup), read(folder / "now"))


@contextmanager
def emptied(kind: str, folder: Path) -> Iterator[None]:
    """This process works on an empty database of this kind."""
    database = empty_sqlite(folder) if kind == "sqlite" else empty_postgresql()
    with database as configured, connected(configured):
        yield


@pytest.fixture
def today(brought: Brought, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What a test does there is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_every_row_is_kept_with_every_value(backup: Path, brought: Brought) -> None:
    then, now = dict(brought.then), brought.now
    assert len(then["judgments_judgment"]) > 100
    if DRESSED_THE_QUEUE not in migrations_of(backup):
        then["judgments_candidate"] = shown_of(then)
    for table in set(then) - MADE_BY_MIGRATE:
        columns = list(then[table][0]) if then[table] else []
        assert [{name: row[name] for name in columns} for row in now[table]] == then[table], table


def shown_of(then: dict[str, list[Row]]) -> list[Row]:
    """The candidates that judgments 0003 keeps: what waits shows nothing yet, so its own were made too early."""
    waiting = {row["id"] for row in then["judgments_assignment"] if row["state"] == "queued"}
    shown = [row for row in then["judgments_candidate"] if row["assignment_id"] not in waiting]
    assert len(then["judgments_candidate"]) > len(shown) > 100
    return shown


def test_the_newest_state_has_rows_of_all_kinds() -> None:
    """Where a kind is missing here, no migration of its table meets a row."""
    newest = max(BACKUPS, key=lambda path: len(migrations_of(path)))
    assert {table for table, rows in read(newest).items() if not rows} == UNUSED
    given = read(newest)["judgments_judgment"]
    assert any(row["late"] for row in given)
    assert any(row["over_quota"] for row in given)
    assert any(row["supersedes_id"] for row in given)
    purposes = {row["purpose"] for row in read(newest)["judgments_assignment"]}
    assert {"measure", "gold"} <= purposes


def test_today_has_a_migration_for_all_that_its_models_say(today: None) -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("kind", ["sqlite", ON_POSTGRESQL])
def test_ids_that_stood_once_for_all_campaigns_stand_apart_after_the_update(
    kind: str, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    """judgments 0008, on a worker whom a platform sent to two campaigns before it."""
    with django_db_blocker.unblock(), emptied(kind, tmp_path):
        filled(FIRST)
        apps = migrated_to("judgments", "0007_payment")
        part = apps.get_model("judgments", "Enrolment")
        trial, ended = apps.get_model("campaigns", "Campaign").objects.filter(slug__in=["trial", "ended"])
        worker = part.objects.filter(campaign=trial).earliest("pk").annotator
        part.objects.create(campaign=ended, annotator=worker)
        part.objects.filter(annotator=worker).update(platform="prolific")
        apps.get_model("judgments", "AnnotatorIdentity").objects.create(
            annotator=worker, source="prolific", external_id="5f1e"
        )
        call_command("migrate", verbosity=0, interactive=False)
        known = AnnotatorIdentity.objects.filter(annotator=worker.pk)
        assert set(known.values_list("source", "external_id")) == {
            (f"prolific/{one.public_id}", "5f1e") for one in (trial, ended)
        }


def test_the_boards_stand_and_are_read(today: None, client: Client) -> None:
    standings = [board_state_get(board_get(key=key, user=None)) for key in ("trial", "ended", "imported")]
    assert all(one.snapshot and one.snapshot.judgments for one in standings)
    for key, name in (("trial", "trial bot 0"), ("ended", "ended bot 0"), ("imported", "made-up 0")):
        page = client.get(f"/boards/{key}/")
        assert page.status_code == 200
        assert name in page.content.decode()
        assert len(client.get(f"/api/v1/boards/{key}").json()["chatbots"]) >= 3


def test_a_board_is_what_a_fit_of_its_exported_judgments_gives(today: None, tmp_path: Path) -> None:
    alice = User.objects.get(username="alice")
    reader = Api(api_token_issue(user=alice, name="reader", scopes=ApiToken.Scope.values, days=1))
    batches_close_aged()
    for campaign in Campaign.objects.filter(organisation=alice.personal_organisation):
        refit_request(campaign)  # by today's engine
        run_jobs()
        path = tmp_path / f"{campaign.slug}.jsonl"
        path.write_bytes(reader.get(f"/api/v1/campaigns/{campaign.slug}/judgments.jsonl").getvalue())
        verified = board_verify(board=campaign.default_board, path=path)
        assert verified.same
        assert verified.judgments == judgments_counted([campaign]).count() > 0


def test_people_go_on_judging_and_the_board_with_them(today: None) -> None:
    campaign = Campaign.objects.get(slug="trial")
    before = Judgment.objects.count()
    shown = snapshot_current(campaign.default_board)
    assert shown is not None
    assignments_expire()  # what somebody held then is long over
    run_jobs()
    someone = annotator_enrol(campaign=campaign)
    block = assignment_claim(campaign=campaign, annotator=someone)
    assert block
    assert [one.candidates.count() for one in block] == [2] * len(block)
    judgment_record(annotator=someone, assignment_id=block[0].public_id, choices={"overall": "A"})
    assert Judgment.objects.count() == before + 1
    judge(campaign, someone, blocks=4)
    run_jobs()
    later = snapshot_current(campaign.default_board)
    assert later is not None
    assert later.number > shown.number
    assert later.judgments == judgments_counted([campaign]).count() > shown.judgments


def test_what_was_held_then_can_still_be_answered(today: None) -> None:
    held = Assignment.objects.filter(state=Assignment.State.ISSUED).select_related("annotator").first()
    assert held is not None
    assert held.annotator is not None
    assert Candidate.objects.filter(assignment=held).count() == 2
    given = judgment_record(annotator=held.annotator, assignment_id=held.public_id, choices={"overall": "B"})
    assert given.created
    assert given.judgment.late, "its lease ended long ago, and an answer is a fact"


def test_who_owned_then_may_set_up_now(today: None) -> None:
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    for address in ("/console/", "/console/trial/"):
        assert client.get(address).status_code == 200, address
