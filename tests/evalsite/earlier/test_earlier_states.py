"""Migrations run forward on databases that were lived in: everything is kept, and the service goes on from there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import transaction
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from evalsite.accounts.models import User
from evalsite.adaptive.selectors import board_get, board_state_get, snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.backup import backup_write
from evalsite.judgments.leases import assignments_expire
from evalsite.judgments.models import Assignment, Candidate, Judgment
from evalsite.judgments.selectors import judgments_counted
from evalsite.judgments.services import annotator_enrol, assignment_claim, judgment_record
from tests.databases import connected, empty_postgresql, empty_sqlite
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.earlier.states import (
    FOLDER,
    MADE_BY_MIGRATE,
    Row,
    brought_forward,
    read,
)

BACKUPS = sorted(FOLDER.glob("*.backup"))
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
    database = empty_sqlite(folder) if request.param == "sqlite" else empty_postgresql()
    with django_db_blocker.unblock(), database as configured, connected(configured):
        brought_forward(backup)
        backup_write(folder / "now")
        yield Brought(read(backup), read(folder / "now"))


@pytest.fixture
def today(brought: Brought, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What a test does there is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def test_every_row_is_kept_with_every_value(brought: Brought) -> None:
    then, now = dict(brought.then), brought.now
    # One exception, by judgments 0003: what waits shows nothing yet, so its candidates were made too early.
    waiting = {row["id"] for row in then["judgments_assignment"] if row["state"] == "queued"}
    shown = [row for row in then["judgments_candidate"] if row["assignment_id"] not in waiting]
    assert len(then["judgments_judgment"]) > 100
    assert len(then["judgments_candidate"]) > len(shown) > 100
    then["judgments_candidate"] = shown
    for table in set(then) - MADE_BY_MIGRATE:
        columns = list(then[table][0]) if then[table] else []
        assert [{name: row[name] for name in columns} for row in now[table]] == then[table], table


def test_the_boards_stand_and_are_read(today: None, client: Client) -> None:
    standings = [board_state_get(board_get(key=key, user=None)) for key in ("trial", "ended", "imported")]
    assert all(one.snapshot and one.snapshot.judgments for one in standings)
    for key, name in (("trial", "trial bot 0"), ("ended", "ended bot 0"), ("imported", "made-up 0")):
        page = client.get(f"/boards/{key}/")
        assert page.status_code == 200
        assert name in page.content.decode()
        assert len(client.get(f"/api/v1/boards/{key}").json()["chatbots"]) >= 3


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
