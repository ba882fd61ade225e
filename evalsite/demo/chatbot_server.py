"""HTTP server of the demonstration's chatbots, to try live endpoints: OpenAI-compatible, Anthropic and plain JSON.

The model's name chooses the chatbot and how it behaves: `parrot`, or `parrot:failing`.
"""

import hmac
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any

from evalsite.demo.bots import BOTS, Bot
from evalsite.demo.chatbot_formats import FINGERPRINT, FORMATS, BadRequest, Completion, Question, question_of

MAX_BODY = 10_000_000
RAMBLING_WORDS = 3000
_BOTS: Mapping[str, Bot] = MappingProxyType({bot.key: bot for bot in BOTS})


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a model departs from a good server. `failing` is the share of its calls that end with status 503."""

    latency_s: float = 0.0
    failing: float = 0.0
    rambling: bool = False
    hanging: bool = False


BEHAVIOURS: Mapping[str, Behaviour] = MappingProxyType(
    {
        "slow": Behaviour(latency_s=3.0),
        "failing": Behaviour(failing=0.2),
        "down": Behaviour(failing=1.0),
        "rambling": Behaviour(rambling=True),
        "hanging": Behaviour(hanging=True),
    }
)
"""Suffix of a model's name -> behaviour."""


class Refused(Exception):
    """An answer other than a reply, in the shape of OpenAI's errors."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class ChatbotServer(ThreadingHTTPServer):
    """Serves every chatbot in threads of its own. `calls` counts requests by model, refused ones included.

    `usual` is the behaviour of models without a suffix. `fingerprint` may be changed while it runs, as the owner of a
    real model would change the model.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self, host: str = "127.0.0.1", port: int = 0, *, api_key: str = "", usual: Behaviour | None = None
    ) -> None:
        super().__init__((host, port), _Handler)
        self.api_key = api_key
        self.usual = usual or Behaviour()
        self.fingerprint = FINGERPRINT
        self.calls: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def host(self) -> str:
        return str(self.server_address[0])

    @property
    def url(self) -> str:
        """The address without a path."""
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    @property
    def models(self) -> list[str]:
        return [*_BOTS, *(f"{key}:{suffix}" for key in _BOTS for suffix in BEHAVIOURS)]

    def server_close(self) -> None:
        self._closing.set()
        super().server_close()

    def answer(self, question: Question) -> Completion:
        """Return the chatbot's reply, after its latency. Raises Refused."""
        key, _, suffix = question.model.partition(":")
        bot, behaviour = _BOTS.get(key), BEHAVIOURS.get(suffix) if suffix else self.usual
        if bot is None or behaviour is None:
            raise Refused(404, f"The model {question.model[:100]!r} does not exist.")
        fails = self._count(question.model, behaviour.failing)
        if self._closing.wait(None if behaviour.hanging else behaviour.latency_s):
            raise Refused(503, "The server is shutting down.")
        if fails:
            raise Refused(503, "The model is overloaded.")
        speakers = {"user": "user", "assistant": "chatbot"}
        turns = [{"speaker": speakers[role], "text": text} for role, text in question.messages if role in speakers]
        return self._written(question, bot.reply(turns), behaviour)

    def _count(self, model: str, share: float) -> bool:
        """Count a call, and return whether it fails. With a share of 1/5 it is every fifth one, never two in a row."""
        with self._lock:
            self.calls[model] += 1
            return int(self.calls[model] * share) > int((self.calls[model] - 1) * share)

    def _written(self, question: Question, text: str, behaviour: Behaviour) -> Completion:
        words = text.split(" ")
        if behaviour.rambling:
            words = [word for _ in range(RAMBLING_WORDS // len(words) + 1) for word in words]
        said = words[: question.max_tokens]
        return Completion(
            model=question.model,
            text=" ".join(said),
            prompt_tokens=sum(len(content.split()) for _, content in question.messages),
            completion_tokens=len(said),
            truncated=len(said) < len(words),
            fingerprint=self.fingerprint,
        )


@contextmanager
def chatbots_served(
    *, api_key: str = "", usual: Behaviour | None = None, host: str = "127.0.0.1", port: int = 0, poll_s: float = 0.01
) -> Iterator[ChatbotServer]:
    """Run the server in a thread, on a free port of this machine unless one is given."""
    with ChatbotServer(host, port, api_key=api_key, usual=usual) as server:
        thread = threading.Thread(target=server.serve_forever, args=(poll_s,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ChatbotServer
    protocol_version = "HTTP/1.1"
    timeout = 60
    wbufsize = -1  # one segment for a response

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            rows = [{"id": model, "object": "model", "owned_by": "touchstone"} for model in self.server.models]
            self._send(200, {"object": "list", "data": rows})
        else:
            self._send(404, _error("There is nothing at this address."))

    def do_POST(self) -> None:
        try:
            self._send(200, self._reply())
        except Refused as error:
            self._send(error.status, _error(error.message))
        except BadRequest as error:
            self._send(400, _error(str(error)))

    def _reply(self) -> dict[str, Any]:
        value = self._body()  # read first, so that the connection can be used again
        written = FORMATS.get(self.path.partition("?")[0])
        if written is None:
            raise Refused(404, "There is nothing at this address.")
        self._authorize()
        return written(self.server.answer(question_of(value, default_model="concierge")))

    def _authorize(self) -> None:
        sent = self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.server.api_key and not hmac.compare_digest(sent.encode(), self.server.api_key.encode()):
            raise Refused(401, "The API key is wrong.")

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit() and int(length) <= MAX_BODY):
            self.close_connection = True
            raise BadRequest("The request has no Content-Length, or too large a body.")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise BadRequest("The body is not JSON.") from None

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
        except OSError:  # the caller has left
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the server is asked thousands of times."""


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "demonstration_error"}}
