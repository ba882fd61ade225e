"""`manage.py demo`: the complete demonstration on one machine, with no dependencies beside Python."""

import logging
import os
import threading
import time
import urllib.error
import urllib.request
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.core.env import private_file
from evalsite.core.management.commands.serve import check_host, check_port, in_address, serving_children
from evalsite.core.supervisor import Child, sole_supervisor, supervise
from evalsite.demo.finished_campaign import finished_campaign_load_after
from evalsite.demo.live_campaign import live_campaign_load, live_chatbots
from evalsite.demo.management.commands.simulate_annotators import nobody_or_how_many, speed
from evalsite.demo.services import (
    FINISHED_SLUG,
    LIVE_SLUG,
    OPEN_SLUG,
    SLUG,
    administrator_ensure,
    demonstration_load,
    open_campaign_load,
)

log = logging.getLogger(__name__)

FIRST_BOARD_S = 90.0  # wait for the first board before the finished campaign is created
FAST_START = "15"  # judgments of each annotator; then they judge at a human pace, and visitors see the board move
CHATTERS = "2"  # simulated people who chat: few, since they go on as long as nobody stops them
ADDRESSES = """
  Touchstone is running.

    Board         {url}/boards/{slug}/
    Judge         {url}/judge/{open_slug}/   (without an end; its board is at /boards/{open_slug}/)
    Chat          {url}/judge/{live_slug}/   (with live chatbots; its board is at /boards/{live_slug}/)
    Example       {url}/boards/{finished_slug}/   (a finished campaign, ready within a minute of the first start)
    Console       {url}/console/{finished_slug}/annotators/   (careless annotators; log in as {username} / {password})
    Admin         {url}/admin/   (the same account)

  {state}
  Press Ctrl-C to stop; the next `make demo` continues from here.
"""


class Command(BaseCommand):
    help = "Load the demonstration campaign, serve it, and let simulated annotators judge it until it stops."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument(
            "--annotators",
            type=nobody_or_how_many,
            default=12,
            help="number of simulated annotators; with 0, only you judge",
        )
        parser.add_argument("--fresh", action="store_true", help="delete the earlier demonstration and start again")
        parser.add_argument(
            "--speed", type=speed, default=1.0, help="1: each judges about once a second, and later every four"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("DATABASE_URL is set. Unset it: the demonstration runs on its own SQLite database.")
        host, port = options["host"], options["port"]
        check_host(host)
        with sole_supervisor(settings.DATA_DIR):
            check_port(host, port)
            self._run(host, port, options)

    def _run(self, host: str, port: int, options: dict[str, Any]) -> None:
        if options["fresh"]:
            _delete_database()
        call_command("migrate", verbosity=0, interactive=False)
        board = demonstration_load()
        open_campaign_load()
        with live_chatbots() as chatbots:
            nearby = _network_allow(chatbots.host)
            live_campaign_load(url=chatbots.url)
            self._serve(host, port, options, board, nearby)
        self.stdout.write("Touchstone has ended.")

    def _serve(self, host: str, port: int, options: dict[str, Any], board: Board, networks: str) -> None:
        url = f"http://{in_address(host)}:{port}"
        threading.Thread(target=self._announce, args=(url, board.default_of), daemon=True).start()
        threading.Thread(target=_finished_campaign_load, args=(board.default_of,), daemon=True).start()
        annotators = [_annotators(url, options)] if options["annotators"] else []
        supervise([*_serving(host, port, networks), *annotators])

    def _announce(self, url: str, campaign: Any) -> None:
        """Print the addresses when they respond."""
        administrator = administrator_ensure()
        if not _answers(f"{url}/readyz"):
            self.stderr.write("The web process does not answer; its messages are above.")
            return
        stopped = f"The demonstration has ended ({campaign.stop_reason}). Run `make demo FRESH=1` to start again."
        collecting = "Simulated annotators are judging; watch the board converge and stop."
        self.stdout.write(
            ADDRESSES.format(
                url=url,
                slug=SLUG,
                finished_slug=FINISHED_SLUG,
                open_slug=OPEN_SLUG,
                live_slug=LIVE_SLUG,
                username=administrator.username,
                password=administrator.password,
                state=collecting if campaign.collecting else stopped,
            )
        )
        self.stdout.flush()


def _finished_campaign_load(demonstration: Campaign) -> None:
    try:
        finished_campaign_load_after(demonstration, at_most_s=FIRST_BOARD_S)
    except Exception:  # The demonstration goes on without its example.
        log.exception("the finished campaign could not be created")
    finally:
        connection.close()


def _network_allow(host: str) -> str:
    """Allow calls of the chatbots' address, here and (by the value that is returned) in the processes of the site."""
    own = ip_network(host)
    if own not in settings.ENDPOINT_NETWORKS:
        settings.ENDPOINT_NETWORKS = (*settings.ENDPOINT_NETWORKS, own)
    return ",".join(str(network) for network in settings.ENDPOINT_NETWORKS)


def _serving(host: str, port: int, networks: str) -> list[Child]:
    """Run the processes of the site.

    The simulated annotators all come from one network as newcomers, so their limit is off.
    """
    own = {
        "TOUCHSTONE_NEWCOMER_PERCENT": os.environ.get("TOUCHSTONE_NEWCOMER_PERCENT", "100"),
        "TOUCHSTONE_ENDPOINT_NETWORKS": networks,
    }
    return [replace(child, environment={**child.environment, **own}) for child in serving_children(host, port)]


def _annotators(url: str, options: dict[str, Any]) -> Child:
    arguments = ("simulate_annotators", "--url", url, "--count", str(options["annotators"]), "--chatters", CHATTERS)
    # They need no numpy threads, and should not slow down the visitor's machine.
    environment = {"OMP_NUM_THREADS": "1"}
    pace = ("--speed", str(options["speed"]), "--fast-start", FAST_START)
    return Child("annotators", (*arguments, *pace), environment, may_end=True)


def _delete_database() -> None:
    """Remove the demonstration's database. Its port is free, so no process uses it."""
    for file in settings.DATA_DIR.glob("touchstone.sqlite3*"):
        file.unlink()
    private_file(settings.DATA_DIR / "touchstone.sqlite3")


def _answers(url: str, *, within_s: float = 60.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):  # noqa: S310  our own address
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False
