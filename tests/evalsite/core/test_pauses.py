"""Nobody who judges waits for housekeeping: the garbage collector's long looks, SQLite's checkpoints."""

import gc
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.services import organisation_create
from evalsite.campaigns.models import Campaign
from evalsite.core import jobs, worker
from evalsite.core.db import checkpoint, rows
from evalsite.judgments.queue import queue_state_read, queue_withdraw
from tests.processes import ROOT, wait_for

pytestmark = pytest.mark.database


@pytest.fixture
def thawed() -> Iterator[None]:
    """The collector looks at everything, and does so again afterwards."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_web_process_excludes_its_views_from_collection() -> None:
    code = "import gc, sys, evalsite.wsgi; print('evalsite.pages.views' in sys.modules, gc.get_freeze_count())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    loaded, frozen = done.stdout.split()
    assert loaded == "True"
    assert int(frozen) > 50_000


def test_worker_excludes_its_libraries_from_collection(monkeypatch: pytest.MonkeyPatch, thawed: None) -> None:
    monkeypatch.setattr(jobs, "preparations", [])
    before = gc.get_freeze_count()
    jobs.prepare().join(30)
    assert gc.get_freeze_count() > before + 50_000


@pytest.mark.skipif(settings.PRODUCTION, reason="PostgreSQL has a process for its checkpoints")
@pytest.mark.django_db(transaction=True)
def test_checkpoint_moves_the_write_ahead_log_without_a_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "CHECKPOINT_S", 0.01)
    file, stop = Path(connection.settings_dict["NAME"]), threading.Event()
    name = f"Written ahead {uuid.uuid4()}".encode()
    checkpoint()  # what others have written: the page that is one too many would be moved at once
    organisation_create(name=name.decode())
    assert name not in file.read_bytes()
    thread = threading.Thread(target=worker._checkpoint, args=(stop,))
    thread.start()
    try:
        wait_for(lambda: name in file.read_bytes(), what="a checkpoint")
    finally:
        stop.set()
        thread.join(30)


@pytest.mark.skipif(settings.PRODUCTION, reason="PostgreSQL chooses by how many rows there are")
def test_queued_rows_are_found_by_index_in_a_large_table(campaign: Campaign) -> None:
    with CaptureQueriesContext(connection) as asked:
        queue_state_read(campaign)
        queue_withdraw(campaign=campaign)
    statements = [one["sql"] for one in asked if "'queued'" in one["sql"] and "SELECT" in one["sql"]]
    assert len(statements) >= 2
    for statement in statements:
        assert "assignment_queue" in str(rows(f"EXPLAIN QUERY PLAN {statement}"))
