"""Sites to hurt: whole processes of either form, on databases and brokers of their own.

A site can be started, hurt and ended; `inside` lets the ORM of this process look into its database, and its ledger
knows everything that was confirmed to its annotators.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dj_database_url
import httpx2
from django.conf import settings

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design
from evalsite.demo.services import SLUG, demonstration_load
from tests.databases import connected
from tests.environment import PATIENCE_S
from tests.faults.annotators import Ledger
from tests.processes import (
    GRACE_S,
    ROOT,
    alive,
    children_of,
    free_port,
    postgresql_bin,
    start_manage,
    visit,
    wait_for,
)
from tests.templates import cluster_template, migrate, seed

# Small batches and short leases, so that a fault meets all of it; the campaign never ends by itself.
DESIGN = Design(
    visibility=Campaign.Visibility.PUBLIC,
    admission=Campaign.Admission.OPEN,
    vetting_votes=0,
    seed=5,
    batch_size=25,
    batch_age_s=1,
    block_size=3,
    lease_s=5,
    votes_per_item=50,
    target_se=None,
)
# As many annotators as a test likes from one address; a dead worker's job is taken over soon.
SETTINGS = {
    "TOUCHSTONE_ENROLMENTS_PER_HOUR": "100000",
    "TOUCHSTONE_NEWCOMER_PERCENT": "100",
    "TOUCHSTONE_ANSWERS_PER_MINUTE": "100000",
    "TOUCHSTONE_READS_PER_MINUTE": "100000",
    "TOUCHSTONE_JOB_LEASE_S": "6",
    "OMP_NUM_THREADS": "1",
    "DJANGO_SETTINGS_MODULE": "tests.faults.site_settings",
}


class Site:
    """What both forms have: an address, a database, processes."""

    name: str
    folder: Path
    database: dict[str, Any]
    environment: dict[str, str]

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ledger = Ledger()
        self.http = visit(self.url)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The ORM of this process speaks to this site's database."""
        with connected(self.database):
            yield

    def fill(self) -> None:
        """The campaign that is judged."""
        with self.inside():
            self.load()

    def load(self) -> None:
        demonstration_load(design=DESIGN)

    def start(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def board_now(self) -> dict[str, Any] | None:
        """The board as the API gives it; None while the site cannot."""
        try:
            answer = self.http.get(f"/api/v1/boards/{SLUG}")
        except httpx2.TransportError:
            return None
        board: dict[str, Any] | None = answer.json() if answer.is_success else None
        return board

    def ready(self, url: str = "") -> bool:
        try:
            return self.http.get(f"{url or self.url}/readyz").is_success
        except httpx2.TransportError:
            return False

    def wait_until_ready(self, url: str = "") -> None:
        wait_for(lambda: self.ready(url), what="an answer of the web process")

    def log(self) -> str:
        """What its processes said."""
        raise NotImplementedError


class Embedded(Site):
    """`manage.py serve` on a data directory of its own."""

    name = "embedded"

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.folder = folder
        self.file = seed(folder)
        self.database = {**settings.SQLITE, "NAME": self.file}
        self.environment = {**SETTINGS, **(environment or {})}
        self.process: subprocess.Popen[str] | None = None
        self._log = Path(tempfile.mkstemp(prefix="touchstone-faults-", suffix=".log")[1])

    def start(self) -> None:
        with self._log.open("a") as log:
            self.process = start_manage(self.folder, "serve", "--port", str(self.port), output=log, **self.environment)

    def pids(self, name: str) -> list[int]:
        """Ids of the child that runs this command, and of its own children."""
        assert self.process is not None
        for pid in children_of(self.process.pid):
            if name in _command(pid)[2:3]:
                return [pid, *children_of(pid)]
        return []

    def kill(self, name: str) -> None:
        """kill -9 of one child with its own children; the supervisor is to start it again."""
        _kill(wait_for(lambda: self.pids(name), what=f"the {name} process"))

    def kill_all(self) -> None:
        """kill -9 of the supervisor and of every child at once."""
        assert self.process is not None
        everybody = [self.process.pid, *children_of(self.process.pid)]
        _kill(everybody)
        self.process.wait()
        wait_for(lambda: not [pid for pid in everybody if alive(pid)], what="the end of all processes")

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE_S)
        self._log.unlink(missing_ok=True)

    def log(self) -> str:
        return self._log.read_text(errors="replace")


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Broker:
    """A Redis of one's own, which keeps nothing on disk."""

    def __init__(self, folder: Path) -> None:
        self.port, self.folder = free_port(), folder
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen([*command, "--dir", str(self.folder)], stdout=log, stderr=log)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


class Cluster:
    """A PostgreSQL of one's own, in a temporary folder (it refuses to run as root: then as the user postgres).

    It has a migrated database: its folder is a copy of one that is made once.
    """

    def __init__(self, *, migrated: bool = True) -> None:
        programs = postgresql_bin()
        assert programs is not None
        self.programs, self.port = programs, free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="touchstone-cluster-"))
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self.user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        if migrated:
            shutil.copytree(cluster_template(programs.parent.name, migrated_cluster), self.folder, dirs_exist_ok=True)
        self._own()
        if not migrated:
            how = ("--auth=trust", "--no-sync", "--no-instructions", "--encoding=UTF8")
            self._run("initdb", "--username=postgres", *how)

    def _own(self) -> None:
        """Give its files to the user it runs as: a copy belongs to whoever copied."""
        self.folder.chmod(0o700)
        if self.user:
            for file in (self.folder, *self.folder.rglob("*")):
                shutil.chown(file, "postgres", "postgres")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "start", "--wait", "--silent", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode: str) -> None:
        """`mode` is pg_ctl's own: "fast" ends every connection, "immediate" is a crash."""
        self._run("pg_ctl", "stop", "--wait", "--silent", "--mode", mode)

    def end(self) -> None:
        if (self.folder / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), "-D", str(self.folder), *arguments]
        done = subprocess.run(
            command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **self.user
        )
        assert done.returncode == 0, done.stderr


def migrated_cluster(folder: Path) -> None:
    """Put the files of a stopped PostgreSQL with a migrated database into the folder."""
    cluster = Cluster(migrated=False)
    try:
        cluster.start()
        with tempfile.TemporaryDirectory() as data:
            migrate(Path(data), DATABASE_URL=cluster.url)
        cluster.stop("fast")
        shutil.copytree(cluster.folder, folder)
    finally:
        cluster.end()


class Production(Site):
    """Web, worker and beat on a PostgreSQL and a Redis of their own. `of_one`: what only that process is given."""

    name = "production"

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        of_one: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        super().__init__()
        self.folder, self.of_one = folder, of_one or {}
        self.cluster, self.broker = Cluster(), Broker(folder)
        self.cluster.start()
        self.broker.start()
        self.database = dict(dj_database_url.parse(self.cluster.url))
        self.environment = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": self.cluster.url,
            "REDIS_URL": self.broker.url,
            "SECRET_KEY": "faults-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEF",
            "ALLOWED_HOSTS": "127.0.0.1",
            "TOUCHSTONE_HTTPS": "no",
            "TOUCHSTONE_DATA_DIR": str(folder),
            "STATIC_ROOT": str(folder / "static"),
            **SETTINGS,
            **(environment or {}),
        }
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        self.second_port = free_port()
        self.second_url = f"http://127.0.0.1:{self.second_port}"

    def fill(self) -> None:
        super().fill()
        collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
        subprocess.run(collect, cwd=ROOT, env=self.environment, check=True)  # pages name their files by hash

    def start(self) -> None:
        for name in ("web", "worker", "beat"):
            self.start_one(name)

    def start_one(self, name: str) -> None:
        """One of the three commands of docs/operator.md; "web 2" and "worker 2" are others of their kinds."""
        kind, _, number = name.partition(" ")
        port = str(self.second_port if number else self.port)
        web = ("granian", "--interface", "wsgi", "--port", port, "--workers", "2", "--blocking-threads", "4")
        celery = ("celery", "-A", "evalsite")
        command: dict[str, tuple[str, ...]] = {
            "web": (*web, "evalsite.wsgi:application"),
            "worker": (*celery, "worker", "-n", f"worker{number}@%h", "--concurrency", "1", "--loglevel", "INFO"),
            "beat": (*celery, "beat", "--schedule", str(self.folder / "beat")),
        }
        environment = {**self.environment, **self.of_one.get(name, {})}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.started[name] = subprocess.Popen(
                [sys.executable, "-m", *command[kind]], cwd=ROOT, env=environment, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """kill -9 of one of them with its children."""
        _kill(self.pids(name))
        self.started[name].wait()

    def pids(self, name: str) -> list[int]:
        """One of them and its children."""
        process = self.started[name]
        return [process.pid, *children_of(process.pid)]

    def end_these(self, *names: str) -> None:
        """As whatever runs the containers would; killed if that takes long."""
        for name in names:
            self.started[name].terminate()
        for name in names:
            try:
                self.started[name].wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.kill(name)
            del self.started[name]

    def end(self) -> None:
        self.end_these(*self.started)
        self.broker.end()
        self.cluster.end()

    def log(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in sorted(self.folder.glob("*.log")))
