"""docker/: every command that stands there runs as it stands, on a real PostgreSQL and Redis, until a board is made.

No engine is needed. Of the image there is the folder that its COPY lines make and nothing else; of compose the
environment, with the addresses of this machine in place of the services' names.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.environment import PATIENCE_S, REDIS_URL
from tests.processes import ROOT, end_all, forget_redis_keys, free_port, visit, wait_for

pytestmark = [pytest.mark.postgresql, pytest.mark.redis, pytest.mark.full]

DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text().replace("\\\n", " ")
COMPOSE = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
SITE = "judge.example.org"
SCHEDULE = "/tmp/celerybeat-schedule"  # noqa: S108  of a container
GIVEN = {
    "SITE": SITE,
    "POSTGRES_PASSWORD": "none",
    "SECRET_KEY": "docker-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH",
}
PROXIED = {"Host": SITE, "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}  # what the proxy adds


def interpolated(text: str) -> str:
    """As compose does it: ${NAME:-else} and ${NAME:?or fail}, $$ for $."""
    inner = re.compile(r"\$\{(\w+)(?::([-?])([^${}]*))?\}")
    while found := inner.search(text):
        name, kind, other = found.groups()
        assert name in GIVEN or kind == "-", f"{name} is not given"
        text = text[: found.start()] + GIVEN.get(name, other or "") + text[found.end() :]
    return text.replace("$$", "$")


def target(name: str) -> str:
    """The lines of one target of the Dockerfile."""
    return DOCKERFILE.partition(f" AS {name}\n")[2].partition("\nFROM ")[0]


def words_of(name: str, keyword: str) -> list[str]:
    """The words of CMD, or of HEALTHCHECK's CMD, of a target."""
    line = next(line for line in target(name).splitlines() if line.startswith(keyword))
    found: list[str] = yaml.safe_load(line[line.index("CMD [") + len("CMD ") :])
    return found


class Image:
    """What a container of one target has: its files, the environment of compose, and of this machine only Python."""

    def __init__(self, name: str, folder: Path, database: str, redis: str, port: int) -> None:
        self.folder, self.port = folder / name, port
        for sources in re.findall(r"^COPY (.+) \S+$", target(name), re.MULTILINE):
            for source in sources.split():
                made = self.folder / source
                made.parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                copy(ROOT / source, made)
        environment = {key: interpolated(str(value)) for key, value in COMPOSE["x-environment"].items()}
        assert "@database:5432/" in environment["DATABASE_URL"]
        assert "//redis:6379/" in environment["REDIS_URL"]
        self.environment = environment | {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOSTNAME": socket.gethostname(),
            "DATABASE_URL": database,
            "REDIS_URL": redis,
            "TOUCHSTONE_REDIS_PREFIX": f"docker-{uuid.uuid4().hex[:8]}",
            "TOUCHSTONE_DATA_DIR": str(folder / "data"),
            "STATIC_ROOT": str(folder / "static"),
            "OMP_NUM_THREADS": "1",
            "NUMBA_CACHE_DIR": str(folder / "compiled"),
        }
        self.log = folder / "log"
        self.started: list[subprocess.Popen[bytes]] = []

    def here(self, words: list[str]) -> list[str]:
        """The words with this test's port and folder."""
        schedule, port = str(self.folder.parent / "celerybeat-schedule"), str(self.port)
        return [word.replace(SCHEDULE, schedule).replace("8000", port) for word in words]

    def run(self, words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.here(words), cwd=self.folder, env=self.environment | more, capture_output=True, text=True, check=False
        )

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            process = subprocess.Popen(self.here(words), cwd=self.folder, env=self.environment, stdout=log, stderr=log)
        self.started.append(process)
        return process

    def healthy(self, test: list[str]) -> bool:
        """As compose or the Dockerfile asks: by a shell or without one."""
        words = ["/bin/sh", "-c", interpolated(test[1])] if test[0] == "CMD-SHELL" else test[test[0] == "CMD" :]
        return self.run(words).returncode == 0

    def end(self) -> None:
        end_all(self.started)


@pytest.fixture
def images(database: str, tmp_path: Path) -> Iterator[tuple[Image, Image]]:
    port = free_port()
    web, worker = (Image(name, tmp_path, database, REDIS_URL, port) for name in ("web", "worker"))
    worker.environment["TOUCHSTONE_REDIS_PREFIX"] = web.environment["TOUCHSTONE_REDIS_PREFIX"]
    yield web, worker
    web.end()
    worker.end()
    forget_redis_keys(REDIS_URL, web.environment["TOUCHSTONE_REDIS_PREFIX"])
    sys.stdout.write(web.log.read_text(errors="replace")[-6000:] if web.log.exists() else "")  # shown where it failed


def command_of(name: str) -> list[str]:
    return [interpolated(word) for word in COMPOSE["services"][name]["command"]]


def test_every_command_runs_and_judgments_become_a_board(images: tuple[Image, Image]) -> None:
    web, worker = images

    collect = next(line for line in target("web").splitlines() if "collectstatic" in line)
    built = subprocess.run(
        ["/bin/sh", "-c", collect.removeprefix("RUN ")],
        cwd=web.folder,
        env={name: web.environment[name] for name in ("PATH", "STATIC_ROOT", "TOUCHSTONE_DATA_DIR")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert (Path(web.environment["STATIC_ROOT"]) / "staticfiles.json").exists()

    assert "NUMBA_CACHE_DIR=/srv/touchstone/compiled" in target("worker"), "in the home of the user that it runs as"
    rehearse = next(line for line in target("worker").splitlines() if "warmup" in line)
    rehearsed = worker.run(["/bin/sh", "-c", rehearse.removeprefix("RUN ")])
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert list(Path(worker.environment["NUMBA_CACHE_DIR"]).rglob("*.nbi"))

    for service in ("database", "redis"):
        assert COMPOSE["services"][service]["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    migrated = web.run(command_of("migrate"))
    assert migrated.returncode == 0, migrated.stderr

    assert not web.healthy(words_of("web", "HEALTHCHECK")), "nobody answers yet"
    web.start(words_of("web", "CMD"))
    wait_for(lambda: web.healthy(words_of("web", "HEALTHCHECK")), what="a healthy web")

    services = COMPOSE["services"]
    assert not worker.healthy(services["worker"]["healthcheck"]["test"]), "nobody works yet"
    slow = worker.start(command_of("slow-worker"))  # alone first: here both would have one host's name
    asked = {name: services[name]["healthcheck"]["test"] for name in ("worker", "slow-worker")}
    wait_for(lambda: worker.healthy(asked["slow-worker"]), what="a healthy slow worker")
    slow.terminate()
    assert slow.wait(PATIENCE_S) == 0
    worker.start(command_of("worker"))
    wait_for(lambda: worker.healthy(asked["worker"]), what="a healthy worker")
    beat_is_healthy_while_it_ticks(worker)

    loaded = web.run(["python", "manage.py", "load_demonstration"])
    assert loaded.returncode == 0, loaded.stderr
    with visit(f"http://127.0.0.1:{web.port}", headers=PROXIED) as site:
        assert site.get("/", headers={"X-Forwarded-Proto": "http"}).headers["Location"] == f"https://{SITE}/"
        token = site.post("/api/v1/annotators", json={"campaign": "demonstration"}).json()["token"]
        as_annotator = {"Authorization": f"Bearer {token}"}

        def judged() -> Any:
            block = site.post("/api/v1/campaigns/demonstration/claims", json={}, headers=as_annotator).json()
            for row in block["assignments"]:
                said = {"answers": [{"aspect": "overall", "choice": "A"}]}
                site.post(f"/api/v1/assignments/{row['id']}/judgment", json=said, headers=as_annotator)
            return site.get("/api/v1/boards/demonstration").json()["snapshot"]

        shown = wait_for(judged, what="a board made by the worker")
        page = site.get("/boards/demonstration/")
    assert shown["judgments"] > 0
    assert page.status_code == 200
    assert "design." in page.text, "static files are named by their hash"
    assert (Path(worker.folder.parent) / "celerybeat-schedule").exists() or list(
        worker.folder.parent.glob("celerybeat-schedule*")
    )


def beat_is_healthy_while_it_ticks(worker: Image) -> None:
    asked = COMPOSE["services"]["beat"]["healthcheck"]["test"]
    assert not worker.healthy(asked), "nobody ticks yet"
    beat = worker.start(command_of("beat"))
    wait_for(lambda: worker.healthy(asked), what="a healthy beat")
    beat.send_signal(signal.SIGSTOP)  # as one that hangs, and has for a minute
    sent = worker.folder.parent / "celerybeat-schedule.sent"
    a_minute_ago = sent.stat().st_mtime - 60
    os.utime(sent, (a_minute_ago, a_minute_ago))
    assert not worker.healthy(asked)
    beat.send_signal(signal.SIGCONT)
    wait_for(lambda: worker.healthy(asked), what="a beat that ticks again")


@pytest.mark.caddy
def test_the_proxy_ends_tls_and_is_healthy_when_it_reaches_the_web_process(images: tuple[Image, Image]) -> None:
    """For localhost it makes a certificate of its own; for a public name it would ask for one."""
    web, _ = images
    web.environment["ALLOWED_HOSTS"] = "localhost"
    assert web.run(command_of("migrate")).returncode == 0
    plain, secure, asked = free_port(), free_port(), free_port()
    settings = (ROOT / "docker" / "Caddyfile").read_text()
    ours = f"admin off\n\tskip_install_trust\n\thttp_port {plain}\n\thttps_port {secure}"
    for there, here in (
        ("admin off", ours), ("web:8000", f"127.0.0.1:{web.port}"), (":443", f":{secure}"), (":8080", f":{asked}"),
    ):  # fmt: skip
        assert there in settings
        settings = settings.replace(there, here)
    (web.folder / "Caddyfile").write_text(settings)
    proxy = COMPOSE["services"]["proxy"]
    assert proxy["environment"] == {"SITE": "${SITE:?set SITE}"}
    web.environment |= {"SITE": "localhost", "HOME": str(web.folder), "XDG_DATA_HOME": str(web.folder)}
    assert proxy["volumes"][0] == f"./Caddyfile:{proxy['command'][-1]}:ro"
    test = [word.replace("8080", str(asked)) for word in proxy["healthcheck"]["test"]]

    assert not web.healthy(test), "nobody answers yet"
    web.start([*proxy["command"][:-1], "Caddyfile"])
    with visit("", verify=False) as visitor:  # its own certificate
        wait_for(lambda: visitor.get(f"https://localhost:{secure}/livez"), what="an answer of the proxy")
        assert not web.healthy(test), "it reaches nobody"
        web.start(words_of("web", "CMD"))
        wait_for(lambda: web.healthy(test), what="a healthy proxy")
        assert visitor.get(f"https://localhost:{secure}/livez").is_success
        told = visitor.get(f"http://localhost:{plain}/livez")
        assert (told.status_code, told.headers["Location"].startswith("https://localhost")) == (308, True)
    wait_for(lambda: "Started worker-2" in web.log.read_text(), what="all of web, else it does not end")


def test_the_worker_ends_by_itself_when_compose_stops_it(images: tuple[Image, Image]) -> None:
    """The Dockerfile's own command, without a queue named: it hears both, and ends on SIGTERM without an error."""
    web, worker = images
    assert web.run(command_of("migrate")).returncode == 0
    process = worker.start(words_of("worker", "CMD"))
    wait_for(
        lambda: worker.healthy(COMPOSE["services"]["worker"]["healthcheck"]["test"]),
        what="a healthy worker",
    )
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
