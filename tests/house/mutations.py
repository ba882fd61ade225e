"""`python -m tests.house.mutations`: plant mistakes in the code, one at a time, and see whether the tests find them.

Each mutation is made in a copy of the checkout. First the tests that mirror its module run, which is fast. If they
pass, the lanes of `make test` do. It prints what caught each mutation, and fails if fewer than FEWEST are caught.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

ROOT = Path(__file__).resolve().parents[2]
FEWEST = 28
MIRROR_LIMIT_S, LANE_LIMIT_S = 3600, 4 * 3600  # a mutation may make something wait for ever
DATABASE_URL = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")
# Exit codes of pytest. A run that `-x` ends is FAILED, or under xdist STOPPED.
PASSED, FAILED, STOPPED, NO_TESTS = 0, 1, 2, 5
ON_POSTGRESQL = ("-m", "database")  # as in the production lane of `make test`


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mistake in `file`: `original`, which stands there once, becomes `replacement`; `mirrors` are its nearest tests.

    on_postgresql: what it changes has no effect on SQLite, so its nearest tests run in the production form.
    """

    name: str
    file: str
    original: str
    replacement: str
    mirrors: tuple[str, ...]
    on_postgresql: bool = False

    def applied_to(self, text: str) -> str:
        """Return the file's text with the mutation in it. Raises ValueError unless the original stands there once."""
        count = text.count(self.original)
        if count != 1:
            raise ValueError(f"{self.name}: its original stands {count} times in {self.file}, not once")
        return text.replace(self.original, self.replacement)


_JUDGMENTS, _REFITS = "tests/evalsite/judgments", "tests/evalsite/refits"
_SCHEDULER, _ENGINE = "tests/scheduler", "tests/irt_engine"

MUTATIONS = (
    # evalsite/judgments
    Mutation(
        "live leases expire",
        "evalsite/judgments/leases.py",
        "return Q(lease_until__lt=now) |",
        "return Q(lease_until__gt=now) |",
        (f"{_JUDGMENTS}/test_leases.py",),
    ),
    Mutation(
        "a late answer fills a place that somebody holds",
        "evalsite/judgments/services.py",
        "if states & {Assignment.State.ISSUED, Assignment.State.ANSWERED}:",
        "if states & {Assignment.State.ANSWERED}:",
        (f"{_JUDGMENTS}/test_record_judgment.py", f"{_JUDGMENTS}/test_leases.py"),
    ),
    Mutation(
        "claims do not lock what they take",
        "evalsite/judgments/claim_sql.py",
        'row_locks(" FOR UPDATE SKIP LOCKED")',
        'row_locks("")',
        (f"{_JUDGMENTS}/test_claim_assignments.py",),
        on_postgresql=True,
    ),
    Mutation(
        "a late answer does not lock its enrolment",
        "evalsite/judgments/services.py",
        "    Enrolment.objects.select_for_update(no_key=True).filter(campaign=campaign, annotator=annotator).first()\n",
        "",
        (f"{_JUDGMENTS}/test_claim_assignments.py", f"{_JUDGMENTS}/test_record_judgment.py"),
        on_postgresql=True,
    ),
    Mutation(
        "three skips close an item instead of two",
        "evalsite/judgments/skips.py",
        "return set(counted.filter(count__gte=SKIPS_THAT_CLOSE)",
        "return set(counted.filter(count__gt=SKIPS_THAT_CLOSE)",
        (f"{_JUDGMENTS}/test_skips.py", f"{_JUDGMENTS}/test_leases.py"),
    ),
    Mutation(
        "proposed exclusions count as exclusions",
        "evalsite/judgments/selectors.py",
        "facts = Exclusion.objects.filter(campaign__in=campaigns, proposed=False, provisional=False)",
        "facts = Exclusion.objects.filter(campaign__in=campaigns, provisional=False)",
        (f"{_REFITS}/test_screening.py",),
    ),
    Mutation(
        "the budget forgets what is issued",
        "evalsite/judgments/selectors.py",
        "return max(0, budget - judgments_spent(campaign) - issued)",
        "return max(0, budget - judgments_spent(campaign))",
        (f"{_JUDGMENTS}/test_claim_assignments.py",),
    ),
    Mutation(
        "removed judgments are added to their batch",
        "evalsite/judgments/judgment_removal.py",
        'update(size=F("size") - count)',
        'update(size=F("size") + count)',
        (f"{_JUDGMENTS}/test_remove_judgments.py",),
    ),
    # evalsite/refits
    Mutation(
        "a lost lease publishes what follows from a refit",
        "evalsite/refits/refit.py",
        "    rest = None\n    with write_transaction():\n        lease.confirm()\n",
        "    rest = None\n    with write_transaction():\n",
        (f"{_REFITS}/test_refit_under_change.py", f"{_REFITS}/test_queue.py"),
    ),
    Mutation(
        "an outdated plan is put into the queue",
        "evalsite/refits/refit.py",
        "    if planned.planner.is_outdated(now):\n        refit_request(now)\n        return None\n",
        "",
        (f"{_REFITS}/test_refit_under_change.py", f"{_REFITS}/test_refit.py"),
    ),
    Mutation(
        "who is excluded comes back without showing care",
        "evalsite/refits/screening.py",
        'return advice.decision == "exclude" or (now.out and advice.decision != "keep")',
        'return advice.decision == "exclude"',
        (f"{_REFITS}/test_screening.py", f"{_REFITS}/test_gold_screening.py"),
    ),
    Mutation(
        "gold judges after one answer more",
        "evalsite/refits/gold_findings.py",
        "if given < LEAST_GOLD:",
        "if given <= LEAST_GOLD:",
        (f"{_REFITS}/test_gold_screening.py",),
    ),
    Mutation(
        "retired prompts are asked about",
        "evalsite/refits/mapping.py",
        '        in_use = in_use.exclude(pk__in=campaign.retirements.values("prompt"))\n',
        "",
        ("tests/evalsite/campaigns/test_acts.py", "tests/evalsite/boards/test_rows.py", f"{_REFITS}/test_refit.py"),
    ),
    Mutation(
        "known ties are asked about",
        "evalsite/refits/mapping.py",
        "np.flatnonzero((a == b) | (a < 0) | (b < 0))",
        "np.flatnonzero((a < 0) | (b < 0))",
        (f"{_REFITS}/test_known_ties.py",),
    ),
    Mutation(
        "a pilot ends before its last batch is in the board",
        "evalsite/refits/refit.py",
        "return judgments_spent(campaign) >= campaign.pilot.judgments and not waiting.exists()",
        "return judgments_spent(campaign) >= campaign.pilot.judgments",
        ("tests/evalsite/campaigns/test_pilot.py",),
    ),
    # scheduler
    Mutation(
        "one judgment more than the budget",
        "scheduler/stopping/limits.py",
        "if state.judgments >= self.judgments:",
        "if state.judgments > self.judgments:",
        (f"{_SCHEDULER}/stopping/test_rules.py", f"{_SCHEDULER}/test_decide.py"),
    ),
    Mutation(
        "asks in flight are not spent",
        "scheduler/stopping/futility.py",
        "spent = state.judgments + len(state.pending)",
        "spent = state.judgments",
        (f"{_SCHEDULER}/stopping/test_feasibility.py", f"{_SCHEDULER}/stopping/test_rules.py"),
    ),
    Mutation(
        "one vote more than a share",
        "scheduler/policies/exposure.py",
        "votes + 1 <= np.ceil(",
        "votes <= np.ceil(",
        (f"{_SCHEDULER}/policies/test_exposure.py",),
    ),
    Mutation(
        "prompts retire before they have votes",
        "scheduler/policies/retirement.py",
        "np.flatnonzero((votes >= rule.votes) & (may_tell",
        "np.flatnonzero((may_tell",
        (f"{_SCHEDULER}/policies/test_retirement.py",),
    ),
    Mutation(
        "retired prompts are subtracted twice",
        "scheduler/pool.py",
        "out = (self._shut | (self._counts >= self._wanted(self._codes))) & ~self.retired[self._codes % J]",
        "out = self._shut | (self._counts >= self._wanted(self._codes))",
        (f"{_SCHEDULER}/policies/test_retirement.py", f"{_SCHEDULER}/test_plan.py", f"{_SCHEDULER}/test_decide.py"),
    ),
    Mutation(
        "an expected answer makes pairs more valuable",
        "scheduler/belief.py",
        "(factor * squared * across_t - 2.0 * across_u)",
        "(factor * squared * across_t + 2.0 * across_u)",
        (f"{_SCHEDULER}/test_plan.py", f"{_SCHEDULER}/test_targets.py"),
    ),
    Mutation(
        "a newcomer's first meetings are one too many",
        "scheduler/policies/placement.py",
        "return [np.array([self.anchor]), *groups] if votes < self.placement.anchor else groups",
        "return [np.array([self.anchor]), *groups] if votes <= self.placement.anchor else groups",
        (f"{_SCHEDULER}/policies/test_placement.py",),
    ),
    Mutation(
        "a block shows a prompt twice",
        "scheduler/blocks.py",
        "if len(taken) < count and ask.prompt not in used and",
        "if len(taken) < count and",
        (f"{_SCHEDULER}/test_blocks.py",),
    ),
    # irt_engine
    Mutation(
        "halves of net ratings are rounded down",
        "irt_engine/responses/cells.py",
        "size = (6 * np.abs(net) + votes) // (2 * votes)",
        "size = (6 * np.abs(net) + votes - 1) // (2 * votes)",
        (f"{_ENGINE}/models/test_graded_response.py", f"{_ENGINE}/responses/test_cells.py"),
    ),
    Mutation(
        "the weaker chatbot opens a class",
        "irt_engine/posterior/sequential_tests.py",
        "if opener < 0 or better[opener, m]:",
        "if opener < 0 or better[m, opener]:",
        (f"{_ENGINE}/posterior/test_sequential_tests.py",),
    ),
    Mutation(
        "the prior counts twice for a difference",
        "irt_engine/posterior/sequential_tests.py",
        "information = np.maximum(precision - 0.5 * ability_sd**-2.0, 0.0)",
        "information = np.maximum(precision + 0.5 * ability_sd**-2.0, 0.0)",
        (f"{_ENGINE}/posterior/test_sequential_tests.py",),
    ),
    Mutation(
        "an annotator agrees with themselves",
        "irt_engine/agreement/shared_cells.py",
        "y = np.round((total[use] - x) / (size[use] - 1), 12)",
        "y = np.round(total[use] / size[use], 12)",
        (f"{_ENGINE}/agreement/test_screening.py",),
    ),
    Mutation(
        "smaller parts of a board come first",
        "irt_engine/models/comparison_graph.py",
        "order = np.lexsort((roots, -size))",
        "order = np.lexsort((roots, size))",
        (f"{_ENGINE}/models/test_comparison_graph.py",),
    ),
    Mutation(
        "discriminations stay in conditional logits",
        "irt_engine/posterior/marginal_logits.py",
        "values |= {name: getattr(posterior, name) * unit for name in _SLOPES}",
        "values |= {name: getattr(posterior, name) for name in _SLOPES}",
        (f"{_ENGINE}/posterior/test_marginal_logits.py",),
    ),
    Mutation(
        "a rating below an edge raises its score",
        "irt_engine/fitting/compiled/ratings.py",
        "won * (1.0 - F + above) - lost * (F + below)",
        "won * (1.0 - F + above) + lost * (F + below)",
        (f"{_ENGINE}/fitting/test_kernels.py",),
    ),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation: the first test that failed, "" where none did."""

    mutation: Mutation
    found_by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy of the checkout with a database of its own."""

    folder: Path
    database_url: str
    processes: int

    def tests(self, *arguments: str, limit_s: float, production: bool = False) -> str:
        """Run pytest there; return the first test that failed, or "".

        Raises RuntimeError where the tests did not run, since then nothing was found.
        """
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["TEST_DATABASE_URL"] = self.database_url
        if production:
            environment["TEST_FORM"] = "production"
            arguments = (*ON_POSTGRESQL, *arguments)
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "-x", *arguments],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"(no end in {limit_s / 60:.0f} minutes)"
        return "" if process.returncode in {PASSED, NO_TESTS} else _first_failure(process.returncode, said)

    def lanes(self) -> str:
        """Run what `make test` runs; return the first test that failed, or ""."""
        together = ("-n", str(self.processes), "--dist", "loadfile", "--no-loadscope-reorder")
        return self.tests(*together, limit_s=LANE_LIMIT_S) or self.tests(
            *together, "tests/evalsite", "tests/attacks", limit_s=LANE_LIMIT_S, production=True
        )


def _first_failure(code: int, said: str) -> str:
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    if code not in {FAILED, STOPPED} or failed is None or "during collection" in said:
        raise RuntimeError(f"the tests did not run:\n{said[-4000:]}")
    return failed[1]


@contextmanager
def _copied(processes: int) -> Iterator[_Copy]:
    """Copy the files of the checkout, with their times and the compiled kernels: these need not compile anew."""
    with tempfile.TemporaryDirectory(prefix="touchstone-mutation-") as name, _own_database() as url:
        folder = Path(name) / "checkout"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        files = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for file in filter(None, files.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, folder / file)
        for package in ("irt_engine", "scheduler"):
            for kernel in (ROOT / package).rglob("*.nb[ic]"):
                copied = folder / kernel.relative_to(ROOT)
                copied.parent.mkdir(exist_ok=True)
                shutil.copy2(kernel, copied)
        for environment in (".venv", ".venv-bench"):
            if (ROOT / environment).exists():
                (folder / environment).symlink_to((ROOT / environment).resolve())
        for step in (["init", "--quiet"], ["add", "--all"]):  # a test asks git for the files
            subprocess.run(["git", *step], cwd=folder, check=True)
        yield _Copy(folder, url, processes)


@contextmanager
def _own_database() -> Iterator[str]:
    """Make a database on the tests' server by whose name those of a run are called, if the server is there."""
    name = f"touchstone_mutation_{uuid.uuid4().hex[:8]}"
    try:
        server = psycopg.connect(DATABASE_URL, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError:
        yield DATABASE_URL
        return
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
    try:
        yield urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(DATABASE_URL, autocommit=True) as server:
            made = server.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"%{name}%"]).fetchall()
            for (database,) in made:
                server.execute(f'DROP DATABASE "{database}" WITH (FORCE)')


def _plant(mutation: Mutation, folder: Path) -> None:
    path = folder / mutation.file
    text = mutation.applied_to(path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    if "compiled" in text:  # kernels of other files hold the machine code of those that they call
        for package in ("irt_engine", "scheduler"):
            for kernel in (folder / package).rglob("*.nb[ic]"):
                kernel.unlink()


def tried(mutation: Mutation, *, processes: int, mirrors_only: bool = False) -> Outcome:
    """Plant a mutation in a copy and run the tests there."""
    clock = time.monotonic()
    with _copied(processes) as copy:
        _plant(mutation, copy.folder)
        found = copy.tests(*mutation.mirrors, limit_s=MIRROR_LIMIT_S, production=mutation.on_postgresql)
        if not (found or mirrors_only):
            found = copy.lanes()
    return Outcome(mutation, found, time.monotonic() - clock)


def check_unchanged(mutations: Sequence[Mutation], processes: int) -> None:
    """Exit where the mirrors fail without any mutation: then what fails with one says nothing."""
    with _copied(processes) as copy:
        for production in (False, True):
            files = sorted({file for one in mutations if one.on_postgresql is production for file in one.mirrors})
            found = copy.tests(*files, limit_s=LANE_LIMIT_S, production=production) if files else ""
            if found:
                sys.exit(f"{found} fails without any mutation. Correct that first.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the mutations and run nothing")
    parser.add_argument("--only", action="append", metavar="NAME", help="run those whose name contains this")
    parser.add_argument("--jobs", type=int, choices=(1, 2), default=1, help="mutations at a time")
    parser.add_argument("--mirrors", action="store_true", help="run only the nearest tests of each mutation")
    asked = parser.parse_args()
    chosen = [one for one in MUTATIONS if not asked.only or any(part in one.name for part in asked.only)]
    if asked.list or not chosen:
        sys.exit("\n".join(f"{one.file}: {one.name}" for one in chosen) or "No mutation has that name.")
    processes = max(1, (os.cpu_count() or 1) // asked.jobs)
    check_unchanged(chosen, processes)
    found = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for outcome in pool.map(lambda one: tried(one, processes=processes, mirrors_only=asked.mirrors), chosen):
            found += bool(outcome.found_by)
            verdict = f"caught by {outcome.found_by}" if outcome.found_by else "SURVIVED"
            sys.stdout.write(f"{outcome.mutation.name:60} {outcome.seconds:6.0f} s  {verdict}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{found} of {len(chosen)} mutations were caught.\n")
    sys.exit(found < min(FEWEST, len(chosen)))


if __name__ == "__main__":
    main()
