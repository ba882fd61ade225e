"""Whole sites to load, of either form: their own processes and databases, filled with as many judgments as wanted."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.utils import timezone

from evalsite.accounts.services import organisation_create
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import Design, campaign_create, entrant_add, refit_request
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.db import rows
from evalsite.core.models import Job
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Judgment, Place
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.faults.sites import SETTINGS, Embedded, Production, Site
from tests.processes import ROOT, children_of, processor_s, wait_for

CHUNK = 5_000
WEB_PROCESSES, WORKERS = 2, 1  # for what takes minutes docker/compose.yml has another worker, idle here
NICE = str(settings.WORKER_NICE)
ENVIRONMENT = {
    **SETTINGS,
    "DJANGO_SETTINGS_MODULE": "tests.benchmarks.load_settings",
    "TOUCHSTONE_JOB_LEASE_S": "60",
    "TOUCHSTONE_WORKER_NICE": NICE,
}
DESIGN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    seed=5,
    batch_size=500,  # a queue of a thousand and more: a hundred answers a second must not empty it during a refit
    batch_age_s=5,
    block_size=10,
    lease_s=1200,
    target_se=None,
)
SLUG = "load"
JUDGED_BY_ONE = 500  # of the judgments made up
MADE_UP_EVERY = timedelta(milliseconds=20)  # the site plans ahead by how fast answers came


class LoadedSite(Site):
    """What the load test needs of either form."""

    chatbots, prompts, votes_per_item = 20, 600, 2

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._spent: dict[int, float] = {}

    def fill(self) -> None:
        with self.inside():
            call_command("migrate", verbosity=0, interactive=False)
            campaign = _campaign(self.chatbots, self.prompts, replace(DESIGN, votes_per_item=self.votes_per_item))
            campaign_open(campaign=campaign)

    def worker_pids(self) -> list[int]:
        raise NotImplementedError

    def web_pids(self) -> list[int]:
        raise NotImplementedError

    def database_pids(self) -> list[int]:
        """Those of the database's processes that work for the web; none where it is part of the web process."""
        return []

    def spent_s(self) -> float:
        """Processor seconds that answering has taken so far: the web's, and the database's for it."""
        self._spent |= {pid: processor_s([pid]) for pid in [*self.web_pids(), *self.database_pids()]}
        return sum(self._spent.values())  # with those that have ended meanwhile, as they were last seen

    @contextmanager
    def without_workers(self) -> Iterator[None]:
        """Nobody fits meanwhile: the workers are stopped when they have nothing to do, and go on afterwards.

        One that is stopped within a transaction would keep everybody waiting for as long: it goes on to its end.
        """
        while True:
            self.wait_until_idle()
            stopped = self.worker_pids()
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            if not self.is_held_up():
                break
            self._go_on(stopped)
            time.sleep(0.1)
        try:
            yield
        finally:
            self._go_on(stopped)

    def _go_on(self, stopped: Sequence[int]) -> None:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)

    def is_held_up(self) -> bool:
        """Whether a worker that was stopped has a transaction open."""
        raise NotImplementedError

    def wait_until_idle(self, within_s: float = 600) -> None:
        with self.inside():
            waiting = Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])
            wait_for(lambda: not waiting.exists(), within_s=within_s, what="the end of all jobs")

    def wait_for_work(self, least: int) -> None:
        """Until so many assignments wait in the queue."""
        with self.inside():
            queued = Assignment.objects.filter(state=Assignment.State.QUEUED)
            wait_for(lambda: queued.count() >= least, within_s=600, what=f"a queue of {least}")

    def judgments(self) -> int:
        with self.inside():
            return Judgment.objects.count()

    def closings(self, since: float) -> list[tuple[float, int]]:
        """Each batch that was closed since then (wall clock), and how many judgments count with it."""
        with self.inside():
            batches = Batch.objects.filter(state=Batch.State.CLOSED).order_by("number")
            sizes = batches.annotate(held=models.Count("judgments")).values_list("closed_at", "held")
            totals = itertools.accumulate(size for _, size in sizes)
            closed = [(at.timestamp(), total) for (at, _), total in zip(sizes, totals, strict=True) if at]
        return [(at, total) for at, total in closed if at >= since]

    def closings_some(self, since: float) -> list[tuple[float, int]]:
        """The same, once there is one: a batch closes by its age where few judge."""
        wait_for(lambda: self.closings(since), within_s=120, what="a batch that closes")
        return self.closings(since)

    def fits_since(self, since: float) -> list[float]:
        """Seconds that the fits of this time took."""
        moment = timezone.now() - timedelta(seconds=time.time() - since)
        with self.inside():
            return list(Snapshot.objects.filter(created_at__gte=moment).values_list("seconds", flat=True))

    def store(self, wanted: int) -> None:
        """Fill up to so many judgments, made up, and wait for their board."""
        with self.inside():
            with self.without_workers():
                _store(Campaign.objects.get(slug=SLUG), wanted - Judgment.objects.count())
            campaign = Campaign.objects.get(slug=SLUG)
            refit_request(campaign)
            wait_for(
                lambda: (now := snapshot_current(campaign.default_board)) is not None and now.judgments >= wanted,
                within_s=1200,
                what=f"a board of {wanted} judgments",
            )
        self.wait_until_idle()


class LoadedEmbedded(LoadedSite, Embedded):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, ENVIRONMENT)

    def worker_pids(self) -> list[int]:
        return self.pids("worker")

    def is_held_up(self) -> bool:
        with closing(sqlite3.connect(self.file, timeout=2.0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
        return False

    def web_pids(self) -> list[int]:
        return self.pids("web")


class LoadedProduction(LoadedSite, Production):
    """Several web processes and a worker, niced, as if it were on a machine of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.environment |= ENVIRONMENT

    def fill(self) -> None:
        super().fill()
        command = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True)

    def start_one(self, name: str) -> None:
        web = ("granian", "--interface", "wsgi", "--port", str(self.port), "--workers", str(WEB_PROCESSES))
        celery = ("celery", "-A", "evalsite")
        command: dict[str, tuple[str, ...]] = {
            "web": (*web, "--blocking-threads", "4", "evalsite.wsgi:application"),
            "worker": (*celery, "worker", "--concurrency", str(WORKERS), "--loglevel", "WARNING"),
            "beat": (*celery, "beat", "--schedule", str(self.folder / "beat")),
        }
        nice = ("nice", "-n", NICE) if name == "worker" else ()
        with (self.folder / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                [*nice, sys.executable, "-m", *command[name]],
                cwd=ROOT,
                env={**self.environment, "PGAPPNAME": name},  # by it the database's processes are told apart
                stdout=log,
                stderr=log,
            )

    def worker_pids(self) -> list[int]:
        worker = self.started["worker"].pid
        return [worker, *children_of(worker)]

    def is_held_up(self) -> bool:
        open_ones = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'worker' AND xact_start IS NOT NULL"
        with self.inside():
            return bool(rows(open_ones))

    def web_pids(self) -> list[int]:
        web = self.started["web"].pid
        return [web, *children_of(web)]

    def database_pids(self) -> list[int]:
        with self.inside():
            return [pid for (pid,) in rows("SELECT pid FROM pg_stat_activity WHERE application_name = 'web'")]


SITES = {"embedded": LoadedEmbedded, "production": LoadedProduction}


def _campaign(chatbots: int, prompts: int, design: Design) -> Campaign:
    organisation = organisation_create(name="Load")
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "general") for n in range(prompts)]
    prompt_set = prompt_set_create(organisation=organisation, name=SLUG, prompts=new)
    campaign = campaign_create(organisation=organisation, name="Load", slug=SLUG, prompt_set=prompt_set, design=design)
    asked = list(prompt_set.prompts.all())
    for n in range(chatbots):
        version = version_create(chatbot=chatbot_create(organisation=organisation, name=f"bot {n}"))
        replies = {prompt: f"Bot {n} has this to say on {prompt.key}. " * 5 for prompt in asked}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    return campaign


# Judgments made up --------------------------------------------------------------------------------------


def _store(campaign: Campaign, count: int) -> None:
    """So many more judgments of annotators who are known to nobody, in closed batches."""
    if count <= 0:
        return
    items = _items(campaign)
    aspect = campaign.rubric.aspects.first()
    assert aspect is not None
    first, end = _next_numbers(), timezone.now()
    stored = Judgment.objects.count()
    rng = np.random.default_rng(stored)
    ability = {entrant: 0.3 * n for n, entrant in enumerate(sorted({e for _, _, pair, _ in items for e in pair}))}
    for begin in range(0, count, CHUNK):
        numbers = range(begin, min(begin + CHUNK, count))
        people = {n // JUDGED_BY_ONE for n in numbers}
        annotators = {n: Annotator.objects.create(kind=Annotator.Kind.SIMULATED) for n in sorted(people)}
        with transaction.atomic():
            rows = _Rows(campaign, aspect.pk, _batch(campaign, end - MADE_UP_EVERY * (count - numbers.stop)))
            for n in numbers:
                rows.now = end - MADE_UP_EVERY * (count - n)
                rows.add(first + n, annotators[n // JUDGED_BY_ONE], items[(stored + n) % len(items)], ability, rng)
            rows.write()
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Place, Assignment, Candidate, Judgment]):
            cursor.execute(statement)


Item = tuple[str, int, tuple[int, int], tuple[int, int]]  # name, prompt, entrants, replies


def _items(campaign: Campaign) -> list[Item]:
    entrants = list(Entrant.objects.filter(campaign=campaign).order_by("pk"))
    replies = {
        (entrant, prompt): reply
        for entrant, prompt, reply in Reply.objects.filter(version__entrants__in=entrants).values_list(
            "version__entrants", "prompt_id", "pk"
        )
    }
    prompts = list(campaign.prompt_set.prompts.order_by("pk").values_list("pk", flat=True))
    items = [
        (item_of(prompt, [a.pk, b.pk]), prompt, (a.pk, b.pk), (replies[a.pk, prompt], replies[b.pk, prompt]))
        for prompt in prompts
        for a, b in itertools.combinations(entrants, 2)
    ]
    np.random.default_rng(0).shuffle(items)
    return items


def _next_numbers() -> int:
    """A number from which on all four tables are free."""
    return 1 + max(model._base_manager.order_by("-pk").values_list("pk", flat=True).first() or 0 for model in _NUMBERED)


_NUMBERED: tuple[type[models.Model], ...] = (Place, Assignment, Candidate, Judgment)


def _batch(campaign: Campaign, now: datetime) -> Batch:
    last = Batch.objects.filter(campaign=campaign).order_by("-number").first()
    number = last.number + 1 if last else 1
    if last is not None and last.state == Batch.State.OPEN:
        last.state, last.closed_at = Batch.State.CLOSED, now
        last.save(update_fields=["state", "closed_at"])
    return Batch.objects.create(campaign=campaign, number=number, state=Batch.State.CLOSED, closed_at=now)


class _Rows:
    """Rows of judgments, written together."""

    def __init__(self, campaign: Campaign, aspect: int, batch: Batch) -> None:
        self.campaign, self.aspect, self.batch, self.now = campaign, aspect, batch, batch.closed_at
        self.places: list[Place] = []
        self.assignments: list[Assignment] = []
        self.candidates: list[Candidate] = []
        self.judgments: list[Judgment] = []
        self.answers: list[Answer] = []

    def add(
        self, number: int, annotator: Annotator, item: Item, ability: dict[int, float], rng: np.random.Generator
    ) -> None:
        name, prompt, entrants, replies = item
        self.places.append(Place(pk=number, campaign=self.campaign, prompt_id=prompt, item=name))
        self.assignments.append(Assignment(
            pk=number, campaign=self.campaign, place_id=number, item=name, state=Assignment.State.ANSWERED,
            policy="adaptive", annotator=annotator, issued_at=self.now, lease_until=self.now, closed_at=self.now,
        ))  # fmt: skip
        sides = [0, 1] if rng.random() < 0.5 else [1, 0]
        for position, side in enumerate(sides):
            self.candidates.append(Candidate(
                pk=2 * number + position, assignment_id=number, position=position, entrant_id=entrants[side],
                reply_id=replies[side],
            ))  # fmt: skip
        self.judgments.append(Judgment(
            pk=number, assignment_id=number, annotator=annotator, batch=self.batch, client_ms=3000, answered_at=self.now
        ))  # fmt: skip
        better = 0 if rng.random() < 1 / (1 + np.exp(ability[entrants[1]] - ability[entrants[0]])) else 1
        self.answers.append(Answer(
            judgment_id=number, aspect_id=self.aspect, candidate_id=2 * number + sides.index(better),
            value=Answer.Value.CHOSEN,
        ))  # fmt: skip

    def write(self) -> None:
        Place.objects.bulk_create(self.places, batch_size=CHUNK)
        Assignment.objects.bulk_create(self.assignments, batch_size=CHUNK)
        Candidate.objects.bulk_create(self.candidates, batch_size=CHUNK)
        Judgment.objects.bulk_create(self.judgments, batch_size=CHUNK)
        Answer.objects.bulk_create(self.answers, batch_size=CHUNK)
