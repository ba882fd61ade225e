"""`manage.py serve_chatbots`: the demonstration's chatbots as endpoints, to try live chatbots."""

import signal
import threading
from argparse import ArgumentTypeError
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.core import env
from evalsite.core.supervisor import follow_parent
from evalsite.demo.bots import BOTS
from evalsite.demo.chatbot_formats import FORMATS
from evalsite.demo.chatbot_server import BEHAVIOURS, Behaviour, ChatbotServer

KEY = "TOUCHSTONE_CHATBOTS_KEY"


class Command(BaseCommand):
    help = (
        "Serve the demonstration's chatbots as OpenAI-compatible endpoints (also Anthropic's format and plain JSON), "
        "to try live chatbots. The name of the model chooses the chatbot and its behaviour, like parrot or "
        f"parrot:failing. With {KEY} set, calls need this API key."
    )
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--port", type=int, default=8100, help="0 chooses a free port")
        parser.add_argument("--latency", type=number, default=0.0, help="seconds that a reply takes")
        parser.add_argument("--failing", type=share, default=0.0, help="share of calls that fail, 0 to 1")

    def handle(self, *args: Any, **options: Any) -> None:
        usual = Behaviour(latency_s=options["latency"], failing=options["failing"])
        try:
            server = ChatbotServer(options["host"], options["port"], api_key=env.text(KEY), usual=usual)
        except (OSError, OverflowError) as error:
            raise CommandError(f"{options['host']}:{options['port']} cannot be listened on ({error}).") from error
        with server:
            threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
            stop = _stop_on_signal()
            self._tell(server)
            stop.wait()
            server.shutdown()

    def _tell(self, server: ChatbotServer) -> None:
        self.stdout.write(f"Chatbots listen on {server.url} ({', '.join(FORMATS)}).")
        self.stdout.write(f"Models: {', '.join(bot.key for bot in BOTS)}; each also with :{', :'.join(BEHAVIOURS)}.")
        self.stdout.write("A site calls them if TOUCHSTONE_ENDPOINT_NETWORKS includes their address (127.0.0.0/8).")
        self.stdout.flush()


def _stop_on_signal() -> threading.Event:
    """Return an event that a signal to end sets."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    follow_parent()
    return stop


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 to 3600")
    return value


def share(text: str) -> float:
    if number(text) > 1:
        raise ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return number(text)
