"""One fault from beginning to end: people judge, something is hurt, and all must be well again by itself."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from evalsite.boards.models import Refit
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT
from evalsite.core.models import Job
from evalsite.demo.services import SLUG
from tests.faults.annotators import Ledger, judging
from tests.faults.audit import lost, problems, settled
from tests.faults.sites import Site
from tests.faults.whereabouts import stack
from tests.processes import wait_for


@dataclass(frozen=True, slots=True)
class Outcome:
    """A line of the table. `recovered_s`: from the fault's end until a later judgment was on a later board."""

    site: str
    fault: str
    times: int
    confirmed: int
    retried: int
    recovered_s: float


OUTCOMES: list[Outcome] = []


@dataclass(frozen=True, slots=True)
class Fit:
    """A refit whose worker, the process `pid`, is in its fit. last: the last one that was published by then."""

    job: Job
    pid: int
    last: int


@dataclass
class Ordeal:
    """What a test may look at while it hurts a site. `times` counts how often the fault has struck."""

    site: Site
    times: int = 0

    @property
    def ledger(self) -> Ledger:
        return self.site.ledger

    @property
    def retried(self) -> int:
        """How many requests were sent again since the site was made."""
        return self.ledger.counts["retried"]

    def more_judgments(self, count: int = 10) -> None:
        """Wait until so many more were confirmed."""
        wanted = self.ledger.recorded + count
        self.wait(lambda: self.ledger.recorded >= wanted, what=f"{count} more judgments")

    def nothing_is_lost(self) -> None:
        """Whatever was confirmed until now is there exactly once and as it was given; the judging may go on."""
        confirmed = self.ledger.book()
        with self.site.inside():
            assert lost(Campaign.objects.get(slug=SLUG), confirmed)[:5] == []

    def wait(self, condition: Callable[[], object], *, what: str) -> Any:
        """The first true value of the condition."""
        return wait_for(condition, what=what, every_s=0.02)


@contextmanager
def ordeal(site: Site, fault: str, *, url: str = "") -> Iterator[Ordeal]:
    """People judge while the test hurts the site; then the loop goes on, all comes to rest, and nothing is wrong.

    `url`: where they reach it, if not directly.
    """
    under = Ordeal(site)
    before, sent_again = under.ledger.recorded, under.retried
    try:
        with judging(url or site.url, under.ledger):
            under.more_judgments()
            yield under
            assert under.times > 0, "the fault has never struck"
            recovered_s = goes_on(site)
        with site.inside():
            campaign = Campaign.objects.get(slug=SLUG)
            under.wait(lambda: settled(campaign), what=f"rest after {fault!r}")
            campaign.refresh_from_db()
            assert problems(campaign, under.ledger) == []
        assert under.ledger.told(500) == 0, "what is away for a while is told as 503"
    except BaseException:
        print(dict(under.ledger.counts), dict(under.ledger.troubles), site.log()[-6000:])  # noqa: T201  where it failed
        raise
    confirmed, retried = under.ledger.recorded - before, under.retried - sent_again
    OUTCOMES.append(Outcome(site.name, fault, under.times, confirmed, retried, recovered_s))


def goes_on(site: Site) -> float:
    """Wait until a judgment that comes now is on a later board; seconds that it took."""
    began = time.monotonic()
    now = wait_for(site.board_now, what="the board")
    number = now["snapshot"]["number"] if now["snapshot"] else 0

    def later() -> bool:
        board = site.board_now()
        shown = board["snapshot"] if board else None
        return bool(shown and shown["number"] > number and shown["judgments"] > now["judgments"])

    wait_for(later, what="a later judgment on a later board", every_s=0.1)
    return time.monotonic() - began


def struck_in_its_fit(
    under: Ordeal, strike: Callable[[int], None], mend: Callable[[int], None] = lambda _pid: None
) -> Fit:
    """Kill or halt a worker while it fits (`strike` is given its process); what it was at.

    A fit may end between its worker's word and the signal: such a blow does not count, what it did is mended, and the
    next fit is awaited.
    """

    def met() -> Fit | None:
        fit: Fit = under.wait(lambda: a_fit(under.site), what="a worker in the middle of a fit")
        strike(fit.pid)
        if broken_off(under.site, fit):
            return fit
        mend(fit.pid)
        return None

    struck: Fit = under.wait(met, what="a blow that meets a fit")
    under.times += 1
    return struck


def a_fit(site: Site) -> Fit | None:
    """A refit that is in its fit now, if there is one: its row says who is at it, and that one's own stack where."""
    with site.inside():
        job = Job.objects.filter(kind=REFIT, state=Job.State.RUNNING).first()
        last = last_refit()  # before the worker is asked: a later one may be its own
    if job is None:
        return None
    fit = Fit(job, int(job.lease_owner.rpartition(":")[2]), last)
    return fit if is_fitting(stack(site.folder, fit.pid)) else None


def last_refit() -> int:
    """The number of the last one that was published, slices' own aside."""
    last: int = Refit.objects.filter(board__slice_of=None).aggregate(last=Max("pk", default=0))["last"]
    return last


def is_fitting(frames: Sequence[str]) -> bool:
    """Whether a worker with these functions on its stack computes a posterior for a refit, and compiles nothing."""
    within = ("refits/refit.py refit_campaign", "scheduler/estimator.py estimate", "irt_engine/fitting/everyday.py fit")
    there = all(any(frame.endswith(wanted) for frame in frames) for wanted in within)
    return there and not any("numba/core" in frame for frame in frames)


def broken_off(site: Site, fit: Fit) -> bool:
    """Whether its worker was struck before the fit ended: the row still names it, and nothing of it was published."""
    with site.inside():
        same = Job.objects.filter(pk=fit.job.pk, state=Job.State.RUNNING)
        held = same.filter(lease_owner=fit.job.lease_owner, attempts=fit.job.attempts).exists()
        return held and last_refit() == fit.last


def done_by_another(under: Ordeal, broken_off: Fit) -> None:
    """Wait until a refit that broke off was taken up again and done."""
    job = broken_off.job
    with under.site.inside():
        again = Job.objects.filter(pk=job.pk, state=Job.State.DONE, attempts__gt=job.attempts)
        done = under.wait(again.first, what="the end of the refit that broke off")
    assert done.lease_owner != job.lease_owner


def until_nobody_is_answered(under: Ordeal) -> None:
    """Wait until all annotators wait for the server."""
    seen = -1
    while seen != under.ledger.recorded:
        seen = under.ledger.recorded
        time.sleep(0.7)
