"""A database that an earlier version made and that was lived in: everything is kept, and the service goes on there."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.selectors import board_get, board_state_get, snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core import jobs
from evalsite.core.backup import backup_write
from evalsite.core.migration_history import EARLIER, initial
from evalsite.core.models import Inquiry, Job
from evalsite.exchange.board_verification import board_verify
from evalsite.judgments.batches import batches_close_aged
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Assignment, Candidate, Judgment
from evalsite.judgments.selectors import judgments_counted
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits.models import FullCheck
from tests.databases import connected, empty_postgresql, empty_sqlite
from tests.environment import FULL
from tests.evalsite.api.client import Api
from tests.evalsite.cast import assignment_claim, judge, run_jobs
from tests.evalsite.earlier.states import FOLDER, Row, fill, permissions, read, structure
from tests.templates import migrated_postgresql, migrated_sqlite

BACKUP = FOLDER / "9e9ac21b.backup"
# Django's own, which this service has no use for.
UNUSED = {
    "accounts_user_groups",
    "accounts_user_user_permissions",
    "auth_group",
    "auth_group_permissions",
    "django_admin_log",
    "django_session",
}
# As that version stored them: a job or a question that was queued then is to find its function today.
KINDS = {"refit", "findings", "slices", "pilot", "full_check", "mail", "inquiry"}
QUESTIONS = {"exclusion", "forecast"}
ON_POSTGRESQL = pytest.param("postgresql", marks=[pytest.mark.postgresql, pytest.mark.database])


@dataclass(frozen=True, slots=True)
class State:
    """A database of today: its structure and permissions, its rows by table, and its backup."""

    structure: dict[str, set[str]]
    permissions: set[tuple[str, str, str, str]]
    rows: dict[str, list[Row]]
    backup: Path


@pytest.fixture(scope="module", params=["sqlite", ON_POSTGRESQL])
def vendor(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture(scope="module")
def updated(
    vendor: str, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> Iterator[State]:
    """This process works on the earlier database, migrated to today's."""
    folder = tmp_path_factory.mktemp("updated")
    with django_db_blocker.unblock(), emptied(vendor, folder):
        fill(BACKUP)
        call_command("migrate", verbosity=0, interactive=False)
        backup_write(folder / "now")
        yield State(structure(), permissions(), read(folder / "now"), folder / "now")


@pytest.fixture(scope="module")
def restored(
    vendor: str, updated: State, tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker
) -> State:
    """A new database, into which a backup of the updated one was restored: a backup goes into its own version only."""
    folder = tmp_path_factory.mktemp("restored")
    new = migrated_sqlite(folder) if vendor == "sqlite" else migrated_postgresql()
    with django_db_blocker.unblock(), new as configured, connected(configured):
        given = permissions()
        call_command("restore", str(updated.backup), verbosity=0)
        backup_write(folder / "now")
        return State(structure(), given, read(folder / "now"), folder / "now")


@contextmanager
def emptied(kind: str, folder: Path) -> Iterator[None]:
    """This process works on an empty database of this kind."""
    database = empty_sqlite(folder) if kind == "sqlite" else empty_postgresql()
    with database as configured, connected(configured):
        yield


@pytest.fixture
def today(updated: State, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What a test does there is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_update_keeps_every_row(updated: State) -> None:
    assert updated.rows == read(BACKUP)


def test_restored_backup_has_every_row(restored: State, updated: State) -> None:
    assert restored.rows == read(BACKUP)
    assert restored.rows == updated.rows


def test_updated_database_is_built_like_a_new_one(updated: State, restored: State) -> None:
    assert len(updated.structure["trigger"]) == 45
    for kind, there in restored.structure.items():
        assert updated.structure[kind] == there, kind
    assert updated.structure.keys() == restored.structure.keys()
    assert updated.permissions == restored.permissions


def test_half_migrated_database_is_refused_unchanged(updated: State, django_db_blocker: DjangoDbBlocker) -> None:
    refused = 0
    with django_db_blocker.unblock():
        recorded = MigrationRecorder(connection).migration_qs
        all_of_them = list(recorded)
        for app, earlier in EARLIER.items():
            recorded.filter(app=app).exclude(name__in=earlier[:-1]).delete()
            if len(earlier) > 1:
                with pytest.raises(CommandError, match=f"{app} is at {earlier[-2]}, not at {earlier[-1]}"):
                    call_command("migrate", verbosity=0, interactive=False)
                refused += 1
            assert not {(app, earlier[-1]), initial(app)} & set(recorded.values_list("app", "name"))
            recorded.all().delete()
            recorded.bulk_create(all_of_them)
        assert refused == len(EARLIER) - 1, "only submissions had a single migration"
        assert structure() == updated.structure


def test_backup_has_rows_of_every_kind() -> None:
    """Where a kind is missing here, no migration of its table meets a row."""
    then = read(BACKUP)
    assert {table for table, rows in then.items() if not rows} == UNUSED
    given = then["judgments_judgment"]
    assert any(row["late"] for row in given)
    assert any(row["over_quota"] for row in given)
    assert any(row["supersedes_id"] for row in given)
    purposes = {row["purpose"] for row in then["judgments_assignment"]}
    assert {"measure", "gold"} <= purposes
    assert {row["kind"] for row in then["core_job"] if row["state"] == "queued"} == KINDS
    assert {row["kind"] for row in then["core_inquiry"] if row["answered_at"] is None} == QUESTIONS


def test_models_have_all_their_migrations(today: None) -> None:
    said = io.StringIO()
    call_command("makemigrations", check_changes=True, dry_run=True, stdout=said)
    assert "No changes detected" in said.getvalue()


def test_queued_job_of_every_earlier_kind_runs(today: None) -> None:
    if not FULL:  # the fit takes minutes: one that is finished is not made again
        FullCheck.objects.update(finished_at="2026-11-27T00:00Z", trouble="left out")
    queued = dict(Job.objects.filter(state=Job.State.QUEUED).values_list("pk", "kind"))
    assert set(queued.values()) == KINDS
    unanswered = Inquiry.objects.filter(answered_at=None)
    asked = list(unanswered.values_list("pk", flat=True))
    assert {inquiry.kind for inquiry in unanswered} == QUESTIONS
    for number, kind in queued.items():
        lease = jobs.job_claim(owner="test", job_id=number)
        assert lease is not None, kind
        assert jobs.job_run(lease), kind
    answered = Inquiry.objects.filter(pk__in=asked)
    assert [(inquiry.trouble, inquiry.result is None) for inquiry in answered] == [("", False)] * 2
    assert [message.to for message in mail.outbox] == [["erin@example.org"]]


def test_the_boards_stand_and_are_read(today: None, client: Client) -> None:
    standings = [board_state_get(board_get(key=key, user=None)) for key in ("trial", "ended", "imported")]
    assert all(one.snapshot and one.snapshot.judgments for one in standings)
    for key, name in (("trial", "trial bot 0"), ("ended", "ended bot 0"), ("imported", "made-up 0")):
        page = client.get(f"/boards/{key}/")
        assert page.status_code == 200
        assert name in page.content.decode()
        assert len(client.get(f"/api/v1/boards/{key}").json()["chatbots"]) >= 3


def forget_queued_jobs() -> None:
    """Leave them to their own test: the full check among them takes long."""
    Job.objects.filter(state=Job.State.QUEUED).delete()


def test_a_board_is_what_a_fit_of_its_exported_judgments_gives(today: None, tmp_path: Path) -> None:
    forget_queued_jobs()
    alice = User.objects.get(username="alice")
    reader = Api(api_token_issue(user=alice, name="reader", scopes=ApiToken.Scope.values, days=1))
    batches_close_aged()
    campaigns = Campaign.objects.filter(organisation=alice.personal_organisation)
    checked = list(campaigns if FULL else campaigns.filter(slug="trial"))
    assert checked
    for campaign in checked:
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
    forget_queued_jobs()
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
