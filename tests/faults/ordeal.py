"""One fault from beginning to end: people judge, something is hurt, and all must be well again by itself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from evalsite.campaigns.models import Campaign
from evalsite.core.models import Job
from evalsite.demo.services import SLUG
from tests.faults.annotators import Ledger, judging
from tests.faults.audit import problems, settled
from tests.faults.sites import Site
from tests.processes import wait_for

PATIENCE_S = 180  # for a very busy machine; what takes long here is told in the table


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

    def wait(self, condition: Callable[[], object], *, what: str, within_s: float = PATIENCE_S) -> None:
        wait_for(condition, within_s=within_s, what=what, every_s=0.02)


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
    now = wait_for(site.board_now, within_s=PATIENCE_S, what="the board")
    number = now["snapshot"]["number"] if now["snapshot"] else 0

    def later() -> bool:
        board = site.board_now()
        shown = board["snapshot"] if board else None
        return bool(shown and shown["number"] > number and shown["judgments"] > now["judgments"])

    wait_for(later, within_s=PATIENCE_S, what="a later judgment on a later board", every_s=0.1)
    return time.monotonic() - began


def a_running_job(under: Ordeal) -> Job:
    """A refit that is under way now."""
    with under.site.inside():
        running = Job.objects.filter(state=Job.State.RUNNING)
        found: Job = wait_for(running.first, within_s=PATIENCE_S, what="a running job", every_s=0.02)
    return found


def still_running(under: Ordeal, job: Job) -> bool:
    """Whether its row still names the worker that was killed: it had not come to its end."""
    with under.site.inside():
        same = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING)
        return same.filter(lease_owner=job.lease_owner, attempts=job.attempts).exists()


def until_nobody_is_answered(under: Ordeal) -> None:
    """Wait until all annotators wait for the server."""
    seen = -1
    while seen != under.ledger.recorded:
        seen = under.ledger.recorded
        time.sleep(0.7)
