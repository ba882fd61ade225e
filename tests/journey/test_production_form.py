"""The production form with real parts: PostgreSQL, Redis, a web server, a Celery worker and beat."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from evalsite.demo.chatbot_server import chatbots_served
from tests.environment import REDIS_PREFIX, REDIS_URL
from tests.house.test_operator_guide import commands_of
from tests.processes import ROOT, end_all, forget_redis_keys, free_port, visit, wait_for

pytestmark = [pytest.mark.postgresql, pytest.mark.redis, pytest.mark.database]


def commands(program: str) -> list[list[str]]:
    """Return the commands of the operator's guide that start the production form and begin with this program."""
    return [one for one in commands_of("PostgreSQL and Redis") if one[0] == program]


class Site:
    """The processes of a production site; each is ended by its own id."""

    def __init__(self, database: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "PATH": os.environ["PATH"],
            "DJANGO_SETTINGS_MODULE": "evalsite.settings",
            "DATABASE_URL": database,
            "REDIS_URL": REDIS_URL,
            "TOUCHSTONE_REDIS_PREFIX": f"{REDIS_PREFIX}-journey",
            "SECRET_KEY": "journey-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEF",
            "ALLOWED_HOSTS": "127.0.0.1",
            "TOUCHSTONE_HTTPS": "no",
            "TOUCHSTONE_DATA_DIR": str(folder),
            "STATIC_ROOT": str(folder / "static"),
            "TOUCHSTONE_ENDPOINT_NETWORKS": "127.0.0.0/8",
            "TOUCHSTONE_ENDPOINT_KEYS": "the-key-of-the-journey-0123456789-abcdef",
        }
        self.logs = folder
        self.started: list[subprocess.Popen[bytes]] = []

    def run(self, *arguments: str) -> None:
        subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment, check=True)

    def said(self, *arguments: str) -> str:
        """What a command prints."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        with (self.logs / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], cwd=ROOT, env=self.environment, stdout=log, stderr=log
            )
        self.started.append(process)
        return process

    def end(self) -> None:
        end_all(self.started)
        for log in sorted(self.logs.glob("*.log")):  # shown where the test failed
            lines = log.read_text(errors="replace").splitlines()[-15:]
            sys.stdout.write("\n".join([f"--- {log.name}", *lines, ""]))


@pytest.fixture
def site(database: str, tmp_path: Path) -> Iterator[Site]:
    with_redis = Site(database, tmp_path)
    yield with_redis
    with_redis.end()
    forget_redis_keys(REDIS_URL, f"{REDIS_PREFIX}-journey")


LIVE = """
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.registration import live_chatbot_register
from evalsite.prompts.models import PromptSet
chosen = EndpointSettings("openai", {url!r}, model="parrot")
prompts = PromptSet.objects.order_by("pk").first()
endpoint = live_chatbot_register(
    organisation=prompts.organisation, name="Live", settings=chosen, secret="sk-only-for-tests-4711"
)
print(prompts.organisation.slug, prompts.name, sep="\\n")
"""


def replies_are_collected(site: Site) -> None:
    """A worker of its own for the calls queue collects the replies of a live chatbot, woken by the broker."""
    (calls,) = [one for one in commands("celery") if "touchstone-calls" in one]
    site.start("calls", *calls, "-n", "calls@%h", "--loglevel", "INFO")
    with chatbots_served(api_key="sk-only-for-tests-4711") as server:
        organisation, prompts = site.said("shell", "-v0", "-c", LIVE.format(url=server.url)).splitlines()
        site.run("collect_replies", "--organisation", organisation, "--chatbot", "Live", "--set", prompts)
        assert server.calls.total() > 1
    assert "run_calls[" in (site.logs / "calls.log").read_text()


def test_judgments_over_http_become_a_board_by_celery(site: Site) -> None:
    for _python, _manage, *arguments in commands("python"):
        site.run(*arguments, "--verbosity=0")
    site.run("load_demonstration")
    with redis.Redis.from_url(REDIS_URL) as broker:
        assert broker.llen(f"{REDIS_PREFIX}-journey:touchstone") > 0, "a command wakes the workers by the site's broker"
    (web,), (worker, *_others, beat) = commands("granian"), commands("celery")
    site.start("web", *(str(site.port) if word == "8000" else word for word in web))
    first_worker = site.start("worker", *worker, "--loglevel", "INFO")
    site.start("beat", *beat, "--schedule", str(site.logs / "beat"))
    get = visit(site.url)
    wait_for(lambda: get.get("/readyz").is_success, what="the web process")
    pace = ("--count", "6", "--speed", "6")
    annotators = site.start("annotators", "manage", "simulate_annotators", "--url", site.url, *pace)

    board = "/api/v1/boards/demonstration"
    second = wait_for(
        lambda: (b := get.get(board).json())["snapshot"] and b["snapshot"]["number"] >= 2 and b,
        what="the second snapshot",
    )
    assert second["snapshot"]["judgments"] >= 100
    assert len(second["chatbots"]) == 8
    end_all([annotators, first_worker])  # a worker of all queues might collect the replies itself
    replies_are_collected(site)
    page = get.get("/boards/demonstration/")
    assert "Concierge" in page.text
    style = next(line for line in page.text.splitlines() if "design." in line and ".css" in line)
    address = style.split('href="')[1].split('"')[0]
    assert get.get(address).headers["Cache-Control"].endswith("immutable"), "static files carry their hash"
    assert "Traceback" not in (site.logs / "worker.log").read_text()
