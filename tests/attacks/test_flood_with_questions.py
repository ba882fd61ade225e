"""Attack: one account asks for forecast after forecast while another organisation's batch waits for its board."""

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from evalsite.boards.models import Snapshot
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.core import inquiries, jobs
from evalsite.core.errors import NotFound
from evalsite.core.inquiries import SUPERSEDED, answers, inquiry_ask, inquiry_get
from evalsite.core.jobs import Lane
from evalsite.core.models import Inquiry, Job
from evalsite.judgments.models import Annotator
from tests.environment import PATIENCE_S
from tests.evalsite.cast import judge
from tests.processes import ROOT, end, free_port, start_manage, wait_for, wait_until_ready
from tests.templates import seed

pytestmark = pytest.mark.django_db
EVE, MALLORY = uuid.uuid4(), uuid.uuid4()
FLOOD = 100


@pytest.fixture(autouse=True)
def asked() -> Iterator[list[Any]]:
    """A kind of question, and what was answered in which order."""
    done: list[Any] = []

    @answers("echo")
    def echo(args: Mapping[str, Any]) -> Mapping[str, Any]:
        done.append(args["n"])
        return {"n": args["n"]}

    yield done
    del inquiries._answerers["echo"]


def ask(n: Any, *, by: uuid.UUID = EVE, subject: uuid.UUID | None = None, topic: str = "") -> Inquiry:
    return inquiry_ask(kind="echo", args={"n": n}, by=by, subject=subject or uuid.uuid4(), topic=topic)


def work_apart() -> None:
    while jobs.work_apart("w", end=lambda: None):
        pass


def test_refits_do_not_wait_behind_questions(campaign: Campaign, bob: Annotator, asked: list[Any]) -> None:
    for n in range(FLOOD):
        ask(n)
    judge(campaign, bob, blocks=2)
    while jobs.work_once("worker", lane=Lane.PLAIN):
        pass
    assert Snapshot.objects.filter(board=board_default(campaign=campaign)).exists()
    assert asked == []
    assert Job.objects.filter(kind="inquiry", state=Job.State.QUEUED).count() == FLOOD


def test_a_flood_hides_no_refit_from_the_sweep(campaign: Campaign, bob: Annotator) -> None:
    for n in range(FLOOD + 20):
        ask(n, by=uuid.uuid4())
    judge(campaign, bob, blocks=2)
    refits = Job.objects.filter(kind="refit", state=Job.State.QUEUED).values_list("pk", flat=True)
    due = jobs.jobs_due()
    assert set(refits) <= {number for number, queue in due if queue == settings.QUEUE}
    assert 0 < sum(queue == settings.INQUIRY_QUEUE for _, queue in due) < FLOOD


def test_newer_questions_replace_older_ones(asked: list[Any]) -> None:
    campaign = uuid.uuid4()
    old = [ask(n, subject=campaign) for n in range(FLOOD)]
    assert Job.objects.filter(state=Job.State.QUEUED).count() == 1
    work_apart()
    assert asked == [FLOOD - 1]
    old[0].refresh_from_db()
    assert old[0].trouble == SUPERSEDED.text


def test_questions_on_other_topics_or_of_others_stay(asked: list[Any]) -> None:
    campaign = uuid.uuid4()
    ask("first", subject=campaign, topic="a")
    ask("second", subject=campaign, topic="b")
    ask("third", subject=campaign, topic="a", by=MALLORY)
    work_apart()
    assert sorted(asked) == ["first", "second", "third"]


def test_accounts_take_turns(asked: list[Any]) -> None:
    for n in range(10):
        ask(n)
    ask("other", by=MALLORY)
    work_apart()
    assert asked.index("other") <= 1
    assert len(asked) == 11


def test_an_answer_is_read_with_its_campaign_only() -> None:
    mine, other = uuid.uuid4(), uuid.uuid4()
    inquiry = ask(1, subject=mine)
    assert inquiry_get(kind="echo", public_id=inquiry.public_id, subject=mine) == inquiry
    with pytest.raises(NotFound):
        inquiry_get(kind="echo", public_id=inquiry.public_id, subject=other)


def test_the_same_question_of_two_campaigns_has_two_answers() -> None:
    assert ask(1).pk != ask(1).pk


@pytest.mark.django_db(transaction=True)
def test_a_question_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    @answers("endless")
    def endless(args: Mapping[str, Any]) -> Mapping[str, Any]:
        over.wait(PATIENCE_S)
        return {}

    inquiry = inquiry_ask(kind="endless", args={}, by=EVE, subject=uuid.uuid4())
    monkeypatch.setitem(jobs._apart, inquiries.KIND, replace(jobs._apart[inquiries.KIND], limit_s=0.05))
    jobs.work_apart("w", end=over.set)
    del inquiries._answerers["endless"]
    inquiry.refresh_from_db()
    assert (inquiry.result, inquiry.trouble[:22]) == (None, "This took longer than ")
    assert Job.objects.get().state == Job.State.DONE


@pytest.mark.full
@pytest.mark.django_db(transaction=True)
def test_a_board_comes_in_ten_seconds_while_a_hundred_forecasts_wait(tmp_path: Path) -> None:
    """Ten seconds, or on a machine that others use twice what a board takes there without any forecast."""
    seed(tmp_path)

    def rows(*what: str) -> str:
        command = [sys.executable, "-m", "tests.attacks.flooded_site", *what]
        clean = {"PATH": os.environ["PATH"], "TOUCHSTONE_DATA_DIR": str(tmp_path)}
        return subprocess.run(command, env=clean, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    rows("prepare")
    port = free_port()
    with (tmp_path / "said").open("w") as output:
        site = start_manage(tmp_path, "serve", "--port", str(port), output=output)
    try:
        wait_until_ready(f"http://127.0.0.1:{port}", site)
        rows("calm")
        calm, _ = wait_for(lambda: rows("board", "calm"), what="the first board").split()
        rows("flood")
        seconds, waiting = wait_for(lambda: rows("board", "victim"), what="the board").split()
        wait_for(lambda: int(rows("board", "victim").split()[1]) < 100, what="the answer to a forecast")
    finally:
        end(site)
    assert float(seconds) <= max(10, 2 * float(calm)), (seconds, calm, waiting)
    assert int(waiting) > 0, "the forecasts were over before the board"
