"""A backup holds everything: restored into nothing, on either database, it is the same service with the same board."""

import json
import os
import stat
import subprocess
import sys
import threading
import uuid
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import time_machine
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import connection

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.services import user_create
from evalsite.boards.selectors import board_get, board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.backup import MANIFEST, backup_read, backup_write, consistent_snapshot
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Judgment
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.environment import DATABASE_URL, PATIENCE_S, PRODUCTION, REDIS_PREFIX, REDIS_URL
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs
from tests.processes import ROOT, forget_redis_keys

pytestmark = pytest.mark.database

# Asked of the restored service: its rows, its board, and what a refit of its own makes of its judgments.
QUESTIONS = """
import json
from pathlib import Path
from evalsite.accounts.services import user_create
from evalsite.boards.models import Refit
from evalsite.boards.selectors import board_get, board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core import jobs
from evalsite.core.backup import backup_write, tables
from evalsite.judgments.models import Judgment
from django.db import IntegrityError, transaction
backup_write(Path({again!r}))
rows = {{model._meta.db_table: model._base_manager.count() for model in tables()}}
state = board_state_get(board_get(key="trial", user=None))
board = {{"sha256": state.snapshot.input_sha256, "rows": state.snapshot.rows, "reason": state.decision.reason}}
refit_request(Campaign.objects.get(slug="trial"))
while jobs.work_once("restored"): pass
try:
    with transaction.atomic(): Judgment.objects.update(late=True)
    immutable = False
except IntegrityError: immutable = True
print(json.dumps({{"rows": rows, "board": board, "refit": Refit.objects.order_by("pk").last().outcome,
    "immutable": immutable, "new": user_create(username="new", password=None).pk}}))
"""


@pytest.fixture
def lived_in(transactional_db: None, make_campaign: CampaignMaker) -> Campaign:
    """A campaign with one of everything that annotators do, written in committed transactions."""
    campaign = make_campaign()
    onboarding_set(campaign=campaign, comments=True)
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge(campaign, bob, blocks=2)
    first, second, *_ = assignment_claim(campaign=campaign, annotator=dora)
    given = judgment_record(
        annotator=dora, assignment_id=first.public_id, choices={"overall": "B"}, comment="Grüße, 日本語\u2028"
    ).judgment
    judgment_record(
        annotator=dora, assignment_id=first.public_id, choices={"overall": "tie"}, supersedes=given.public_id
    )
    assignment_skip(annotator=dora, assignment_id=second.public_id, reason="broken", note="cut off")
    run_jobs()
    return campaign


# Each lane of `make test` restores into the other lane's database.
TO_ITS_OWN_KIND = [pytest.mark.full]
ON_SQLITE = pytest.param("sqlite", marks=[] if PRODUCTION else TO_ITS_OWN_KIND)
ON_POSTGRESQL = pytest.param(
    "postgresql", marks=[pytest.mark.postgresql, pytest.mark.redis, *(TO_ITS_OWN_KIND if PRODUCTION else [])]
)


@pytest.fixture(params=[ON_SQLITE, ON_POSTGRESQL])
def nowhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a service that has no data yet."""
    environment = {"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path / "restored")}
    if request.param == "sqlite":
        yield environment
        return
    name = f"touchstone_restored_{uuid.uuid4().hex[:8]}"
    production = {
        "DATABASE_URL": urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}")),
        "REDIS_URL": REDIS_URL,
        "TOUCHSTONE_REDIS_PREFIX": f"{REDIS_PREFIX}-restored",
        "SECRET_KEY": "restored-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJ",
        "ALLOWED_HOSTS": "127.0.0.1",
    }
    with psycopg.connect(DATABASE_URL, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        yield environment | production
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    forget_redis_keys(REDIS_URL, production["TOUCHSTONE_REDIS_PREFIX"])


def manage(environment: dict[str, str], *arguments: str) -> str:
    """What the command says; it must end well."""
    result = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_restored_into_nothing_it_is_the_same_service(
    lived_in: Campaign, nowhere: dict[str, str], tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    manifest = backup_write(first)
    standing = board_state_get(board_get(key="trial", user=None))
    assert standing.snapshot is not None
    assert standing.decision is not None

    manage(nowhere, "restore", str(first))
    asked = QUESTIONS.format(again=str(second))
    restored = json.loads(manage(nowhere, "shell", "-v0", "-c", asked).splitlines()[-1])
    assert contents(first) == contents(second), "a backup of it is the same backup"
    assert restored["rows"] == dict(manifest.rows)
    assert manifest.rows["judgments_judgment"] == Judgment.objects.count() == 8
    assert restored["board"]["rows"] == standing.snapshot.rows
    assert restored["board"]["sha256"] == standing.snapshot.input_sha256
    assert restored["board"]["reason"] == standing.decision.reason
    assert restored["refit"] == "unchanged", "the same judgments have the same input hash there"
    assert restored["immutable"], "the restored facts are as immutable as the first ones"
    assert restored["new"] > max(User.objects.values_list("pk", flat=True)), "new rows get new numbers"


def contents(path: Path) -> dict[str, list[Any]]:
    with zipfile.ZipFile(path) as archive:
        tables = (name for name in archive.namelist() if name != MANIFEST)
        return {name: [json.loads(line) for line in archive.read(name).decode().split("\n")[:-1]] for name in tables}


@pytest.fixture
def empty(transactional_db: None, tmp_path: Path) -> Path:
    """A backup of a database without a row."""
    path = tmp_path / "backup"
    backup_write(path)
    return path


def rewritten(path: Path, member: str, text: str) -> Path:
    """The backup with other text in one of its members."""
    other = path.with_name("rewritten")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, text if name == member else old.read(name))
    return other


def test_only_its_owner_reads_it(empty: Path) -> None:
    assert stat.S_IMODE(empty.stat().st_mode) == 0o600


def test_it_is_never_written_over(empty: Path) -> None:
    before = empty.read_bytes()
    with pytest.raises(Conflict):
        backup_write(empty)
    assert empty.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_named(transactional_db: None, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("backup", str(tmp_path / "nowhere" / "backup"))


def test_it_is_not_restored_over_what_is_there(empty: Path, alice: User) -> None:
    with pytest.raises(Conflict, match="not empty"):
        backup_read(empty)
    assert User.objects.get() == alice


def test_half_a_file_is_refused(empty: Path) -> None:
    empty.write_bytes(empty.read_bytes()[:-100])
    with pytest.raises(InvalidInput, match="not a complete backup"):
        backup_read(empty)


def test_backup_with_missing_row_restores_nothing(transactional_db: None, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    user_create(username="alice", password=None)
    backup_write(path)
    Membership.objects.all().delete()
    Organisation.objects.all().delete()
    User.objects.all().delete()
    header = json.dumps(contents(path)["accounts_membership.jsonl"][0])
    with pytest.raises(InvalidInput, match="accounts_membership has 0 rows, not 1"):
        backup_read(rewritten(path, "accounts_membership.jsonl", header + "\n"))
    assert not User.objects.exists()
    assert Permission.objects.exists()
    backup_read(path)
    assert User.objects.get().username == "alice"


@pytest.mark.skipif(not PRODUCTION, reason="SQLite holds a text of any length")
def test_restore_names_table_and_number_of_row_that_does_not_fit(transactional_db: None, tmp_path: Path) -> None:
    path = tmp_path / "backup"
    for name in ("alice", "bob", "dora"):
        user_create(username=name, password=None)
    backup_write(path)
    Membership.objects.all().delete()
    Organisation.objects.all().delete()
    User.objects.all().delete()
    names, *rows = contents(path)["accounts_user.jsonl"]
    rows[1][names.index("username")] = "x" * 400
    with pytest.raises(InvalidInput, match="cannot hold row 2 of accounts_user") as refused:
        backup_read(rewritten(path, "accounts_user.jsonl", "".join(json.dumps(one) + "\n" for one in [names, *rows])))
    assert refused.value.hint
    assert not User.objects.exists()


def test_the_backup_of_another_version_says_so(empty: Path) -> None:
    with zipfile.ZipFile(empty) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    manifest["migrations"].append("judgments.0099_future")
    with pytest.raises(Conflict, match="another version") as refused:
        backup_read(rewritten(empty, MANIFEST, json.dumps(manifest)))
    assert "judgments.0099_future" in refused.value.message


@pytest.mark.skipif(PRODUCTION, reason="one writer at a time is SQLite's way")
def test_writers_go_on_while_a_backup_reads(transactional_db: None) -> None:
    with consistent_snapshot():
        assert not User.objects.exists()
        thread = threading.Thread(target=_write)
        thread.start()
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the writer did not wait"
        assert not User.objects.exists(), "and the backup is of one moment"
    assert User.objects.exists()


def _write() -> None:
    user_create(username="meanwhile", password=None)
    connection.close()


class Ended(Exception):
    """Ends a command that goes on for ever, in place of a pause."""


@pytest.mark.django_db(transaction=True)
def test_backups_are_made_again_and_again_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            clock.shift(timedelta(days=1, seconds=1))
            if len(pauses) == 4:
                raise Ended

        monkeypatch.setattr("evalsite.core.management.commands.backup.time.sleep", pause)
        (tmp_path / "touchstone-broken.backup.partial").touch()
        (tmp_path / "another.backup").touch()
        with pytest.raises(Ended):
            call_command("backup", str(tmp_path), every_hours=24, keep=2, verbosity=0)
    assert len(list(tmp_path.glob("touchstone-*.backup"))) == 2
    assert not list(tmp_path.glob("*.partial"))
    assert (tmp_path / "another.backup").exists(), "files of others stay"


@pytest.mark.django_db(transaction=True)
def test_a_new_backup_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(seconds: float) -> None:
        raise Ended

    monkeypatch.setattr("evalsite.core.management.commands.backup.time.sleep", pause)
    for _ in range(2):
        with pytest.raises(Ended):
            call_command("backup", str(tmp_path), every_hours=24, verbosity=0)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(("folder", "options"), [("absent", {}), (".", {"keep": 0}), (".", {"every_hours": -1})])
def test_wrong_options_of_repeated_backups_are_refused(tmp_path: Path, folder: str, options: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match=r"no folder|at least 1"):
        call_command("backup", str(tmp_path / folder), **{"every_hours": 24, **options})
