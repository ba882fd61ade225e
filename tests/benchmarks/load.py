"""How much a site bears, while refits go on: either form, its own processes and databases, on loopback.

    python -m tests.benchmarks.load [--form embedded|production] [--seconds 20] [--sizes 1000 10000 100000] [--million]

*Saturation*: 16 connections claim blocks of ten and answer without a pause. Judgments a second stand beside inserts a
second through a bare Django REST view, on the same server and database in the same run; the block's claim is part of
the judgments' time. *Offered load*: 200 annotators answer when their time has come (a mean pause of 4 s, an open loop,
about 50 answers a second); times count from when an answer was due. With the workers stopped and with refits one after
another, in turns, while somebody asks for the board ten times a second. A phase's p99 is the median of its turns': one
stall of a shared machine's disk is no refit's, and a refit's are in every turn.
*Delay*: from a batch's closing to the first public board that has it; under that load, where most batches close while
a refit of earlier ones runs, and one batch at a time.

Client, server, database and workers share this machine: where other work shares it too, ratios tell more than numbers,
and the load average stands beside them. Most is told then by the processor time that a judgment and a bare insert take
of the web processes and the database, whoever else is at work: its ratio is checked beside that of the rates.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests import environment  # before Django reads its settings

from .load_traffic import EMPTY, Measured, Watch, enrol, median, offered, saturate, saturate_bare
from .report import Check, conclude, say, table

LEAST_RATIO = 0.5
MOST_P99_MS = {"embedded": 250, "production": 150}
MOST_BY_REFITS = 1.5
MOST_DELAY_S = 5.0
LEAST_OF_DUE = 0.95  # what was due in a minute varies by 2 %
REQUESTS = ("claim", "answer")


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how much. `sizes`: judgments stored at each step; the last but a million bears the offered load."""

    seconds: float = 20.0
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000)
    million: bool = False
    connections: int = 16
    annotators: int = 200
    pause_s: float = 4.0
    chatbots: int = 20
    prompts: int = 600
    turns: int = 6
    batches_alone: int = 5


@dataclass
class Found:
    """What was measured of one form."""

    form: str
    growth: list[tuple[str, ...]] = field(default_factory=list)
    ratio: float = math.nan  # the least of all sizes but a million
    ratio_of_work: float = math.nan  # the same
    of_due: float = math.nan  # answers that were taken, of those that were due while refits went on
    p99: float = math.nan
    p99_alone: float = math.nan
    delay: float = math.nan
    delay_alone: float = math.nan
    fits: int = 0
    troubles: dict[str, int] = field(default_factory=dict)

    def checks(self) -> list[Check]:
        most = MOST_P99_MS[self.form]
        by = self.p99 / self.p99_alone
        failed = sum(count for what, count in self.troubles.items() if what != EMPTY)
        return [
            Check(f"{self.form}: judgments, of bare inserts", f"{self.ratio:.2f}", f">= {LEAST_RATIO}",
                  self.ratio >= LEAST_RATIO),
            Check(f"{self.form}: the same by processor time", f"{self.ratio_of_work:.2f}", f">= {LEAST_RATIO}",
                  self.ratio_of_work >= LEAST_RATIO),
            Check(f"{self.form}: requests that were refused or broke", f"{failed}", "0",
                  bool(self.growth) and not failed),
            Check(f"{self.form}: answers under offered load, of those due", f"{self.of_due:.2f}", f">= {LEAST_OF_DUE}",
                  self.of_due >= LEAST_OF_DUE),
            Check(f"{self.form}: p99 under offered load, refits going on", f"{self.p99:.0f} ms", f"<= {most} ms",
                  self.p99 <= most),
            Check(f"{self.form}: p99 with refits, of p99 without", f"{by:.2f}", f"<= {MOST_BY_REFITS}",
                  by <= MOST_BY_REFITS),
            Check(f"{self.form}: from a batch's closing to the board, median, under offered load",
                  f"{self.delay:.1f} s", f"<= {MOST_DELAY_S:.0f} s", self.delay <= MOST_DELAY_S),
            Check(f"{self.form}: the same, one batch at a time", f"{self.delay_alone:.1f} s",
                  f"<= {MOST_DELAY_S:.0f} s", self.delay_alone <= MOST_DELAY_S),
        ]  # fmt: skip


def measure(form: str, plan: Plan, folder: Path) -> Found:
    """Make a site, load it step by step, and end it."""
    from .load_sites import SITES, SLUG  # models: only once Django is set up

    found, site = Found(form), SITES[form](folder)
    site.chatbots, site.prompts = plan.chatbots, plan.prompts
    if plan.million:
        site.votes_per_item = 2 + 1_000_000 // (plan.prompts * math.comb(plan.chatbots, 2))  # or nothing is left to ask
    try:
        site.fill()
        site.start()
        site.wait_until_ready()
        site.wait_for_work(plan.connections)
        for step, size in enumerate(plan.sizes):
            site.store(size)
            judges = enrol(site.port, SLUG, plan.connections, block=10, seed=step)
            ratio, of_work = _saturation(site, judges, plan, found)
            found.ratio, found.ratio_of_work = least(found.ratio, ratio), least(found.ratio_of_work, of_work)
        _offered(site, plan, found)
        _one_at_a_time(site, plan, found)
        if plan.million:
            site.store(1_000_000)
            judges = enrol(site.port, SLUG, plan.connections, block=10, seed=len(plan.sizes))
            _saturation(site, judges, plan, found)
    finally:
        site.end()
    return found


def least(before: float, now: float) -> float:
    """The smaller one; nan, which passes no check, where the newer is that, and never by what was not measured yet."""
    return now if math.isnan(before) or math.isnan(now) else min(before, now)


def _saturation(site, judges, plan: Plan, found: Found) -> tuple[float, float]:  # type: ignore[no-untyped-def]
    """Judgments a second of bare inserts a second, and the same by processor time. Bare, judgments, judgments, bare:
    what changes on the machine meanwhile meets both."""

    stored = site.judgments()
    half = plan.seconds / 2
    saturate(site.port, judges, min(1.0, half))  # the first requests of a process load what they need
    saturate_bare(site.port, judges, min(0.5, half))
    marks = [site.spent_s()]
    phases = []
    for run in (saturate_bare, saturate, saturate, saturate_bare):
        phases.append(run(site.port, judges, half))
        marks.append(site.spent_s())
    bare_1, ours_1, ours_2, bare_2 = phases
    bare = (bare_1.rate("bare") + bare_2.rate("bare")) / 2
    judged = (ours_1.rate("answer") + ours_2.rate("answer")) / 2
    ratio = judged / bare if bare else math.nan
    judgment_ms = _each_ms(marks[3] - marks[1], ours_1.count("answer") + ours_2.count("answer"))
    bare_ms = _each_ms(marks[1] - marks[0] + marks[4] - marks[3], bare_1.count("bare") + bare_2.count("bare"))
    of_work = bare_ms / judgment_ms
    _troubles(found, *phases)
    found.growth.append((
        f"{stored:,}", f"{judged:.0f}", f"{(ours_1.rate('claim') + ours_2.rate('claim')) / 2:.0f}", f"{bare:.0f}",
        f"{ratio:.2f}", f"{judgment_ms:.1f}", f"{bare_ms:.1f}", f"{of_work:.2f}",
        f"{ours_2.quantile(0.5, 'answer'):.0f}", f"{ours_2.quantile(0.99, 'answer'):.0f}",
        f"{ours_2.quantile(0.5, 'claim'):.0f}", f"{ours_2.quantile(0.99, 'claim'):.0f}", f"{os.getloadavg()[0]:.1f}",
    ))  # fmt: skip
    say(
        f"  {found.form}, {stored:,} stored: {judged:.0f} judgments/s, bare {bare:.0f}/s; "
        f"{judgment_ms:.1f} ms of processor time a judgment, {bare_ms:.1f} a bare insert; load {os.getloadavg()[0]:.1f}"
    )
    return ratio, of_work


def _each_ms(seconds: float, count: int) -> float:
    return 1000 * seconds / count if count else math.nan


def _offered(site, plan: Plan, found: Found) -> None:  # type: ignore[no-untyped-def]
    from .load_sites import SLUG

    judges = enrol(site.port, SLUG, plan.annotators, block=5, seed=1_000)
    _troubles(
        found, offered(site.port, judges, seconds=min(2 * plan.pause_s, plan.seconds), pause_s=plan.pause_s)
    )  # until everybody has a block in hand
    alone: list[Measured] = []
    with_refits: list[Measured] = []
    delays: list[float] = []
    for _ in range(plan.turns):
        with site.without_workers(), Watch(site.port, SLUG):
            alone.append(offered(site.port, judges, seconds=plan.seconds / 2, pause_s=plan.pause_s))
        began = time.time()
        with Watch(site.port, SLUG) as watch:
            with_refits.append(offered(site.port, judges, seconds=plan.seconds / 2, pause_s=plan.pause_s))
            closings = site.closings_some(began)
            site.wait_until_idle()
            time.sleep(0.5)
        delays += watch.delays(closings)
        found.fits += len(site.fits_since(began))
    found.p99_alone, found.p99 = _p99(alone), _p99(with_refits)
    found.delay = median(delays)
    found.of_due = _joined(with_refits).rate("answer") / (plan.annotators / plan.pause_s)
    _troubles(found, *alone, *with_refits)
    for name, turns in (("workers stopped", alone), ("refits going on", with_refits)):
        together = _joined(turns)
        each = ", ".join(f"{_p99([one]):.0f}" for one in turns)
        say(
            f"  {found.form}, offered load, {name}: {together.rate('answer'):.0f} answers/s; p50 "
            f"{together.quantile(0.5, *REQUESTS):.0f}, p95 {together.quantile(0.95, *REQUESTS):.0f}, "
            f"p99 {_p99(turns):.0f} ms ({each}; of all together {_p99([together]):.0f})"
        )
    say(f"  {found.form}: {found.fits} refits meanwhile, {len(delays)} batches watched, load {os.getloadavg()[0]:.1f}")


def _p99(turns: Sequence[Measured]) -> float:
    """Milliseconds: the median of what 99 of 100 requests took in each turn."""
    return statistics.median(one.quantile(0.99, *REQUESTS) for one in turns)


def _one_at_a_time(site, plan: Plan, found: Found) -> None:  # type: ignore[no-untyped-def]
    """A batch that closes while nothing else goes on, by its age, some times."""
    from .load_sites import SLUG

    judges = enrol(site.port, SLUG, 1, block=5, seed=2_000)
    delays: list[float] = []
    for _ in range(plan.batches_alone):
        site.wait_until_idle()
        began = time.time()
        with Watch(site.port, SLUG) as watch:
            _troubles(found, saturate(site.port, judges, 0.5))
            closings = site.closings_some(began)
            site.wait_until_idle()
            time.sleep(0.5)
        delays += watch.delays(closings)
    found.delay_alone = median(delays)
    say(f"  {found.form}, one batch at a time: {', '.join(f'{one:.1f}' for one in delays)} s")


def _joined(turns: Sequence[Measured]) -> Measured:
    """All turns of a phase as one."""
    together = Measured()
    for one in turns:
        for kind, seconds in one.seconds.items():
            together.seconds.setdefault(kind, []).extend(seconds)
        together.other.update(one.other)
        together.lasted_s += one.lasted_s
    return together


def _troubles(found: Found, *measured: Measured) -> None:
    for one in measured:
        for what, count in one.other.items():
            found.troubles[what] = found.troubles.get(what, 0) + count


HEAD = (
    "judgments stored", "judgments/s", "claims/s", "bare/s", "ratio", "CPU ms/judgment", "CPU ms/bare", "ratio of CPU",
    "answer p50 ms", "p99", "claim p50 ms", "p99", "load average",
)  # fmt: skip


def missing(form: str) -> str:
    """Why this form cannot be measured here; empty where it can."""
    import shutil

    from tests.processes import postgresql_bin

    if form == "embedded":
        return ""
    if postgresql_bin() is None:
        return "no initdb and pg_ctl of PostgreSQL here"
    return "" if shutil.which("redis-server") else "no redis-server to start here"


def run(forms: Sequence[str], plan: Plan) -> int:
    """Measure, print, judge."""
    checks: list[Check] = []
    for form in forms:
        reason = missing(form)
        if reason:
            checks.append(Check(f"{form}: everything", reason, "", None))
            continue
        with tempfile.TemporaryDirectory(prefix="touchstone-load-") as folder:
            found = measure(form, plan, Path(folder))
        say(f"\n{form}, {plan.connections} connections without a pause, refits going on:")
        say(table(HEAD, found.growth))
        say(f"what else came back: {found.troubles or 'nothing'}")
        checks += found.checks()
    return conclude(f"Load, on {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}", checks)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="load", description="How much a site bears while refits go on.")
    parser.add_argument("--form", choices=sorted(MOST_P99_MS), action="append", help="default: both")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each phase")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="judgments stored")
    parser.add_argument("--million", action="store_true", help="and a million (takes long to fill)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django

    django.setup()
    try:
        plan = Plan(seconds=options.seconds, sizes=tuple(options.sizes), million=options.million)
        return run(options.form or ["embedded", "production"], plan)
    finally:
        environment.pytest_unconfigure()


if __name__ == "__main__":
    sys.exit(main())
