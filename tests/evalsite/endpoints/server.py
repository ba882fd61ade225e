"""A chat server of this process, OpenAI-compatible, that counts what it is asked and can be told to fail."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Fault = Callable[[int], tuple[int, dict[str, str]] | None]


class ChatServer:
    """Replies to each message with an echo. `fault` maps the number of a call to a status and headers, or None.

    While `open` is cleared, calls wait.
    """

    def __init__(self, *, delay_s: float = 0.0, fault: Fault = lambda number: None) -> None:
        self.delay_s, self.fault = delay_s, fault
        self.model, self.fingerprint = "tiny-1", "fp-1"
        self.replies: Counter[str] = Counter()
        self.requests: list[dict[str, Any]] = []
        self.running, self.most_running = 0, 0
        self.open = threading.Event()
        self.open.set()
        self._lock = threading.Lock()
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                chat.reply_to(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.open.set()
        self._server.shutdown()
        self._server.server_close()

    def reply_to(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.requests.append({"headers": dict(handler.headers), "body": body})
            number = len(self.requests)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        time.sleep(self.delay_s)
        self.open.wait()
        found = self.fault(number)
        asked = body["messages"][-1]["content"]
        with self._lock:
            self.running -= 1
            if found is None:
                self.replies[asked] += 1
        status, headers = found or (200, {})
        content = json.dumps(self._reply(asked) if found is None else {"error": {"message": "no"}}).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _reply(self, asked: str) -> dict[str, Any]:
        return {
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": [{"message": {"role": "assistant", "content": f"Re: {asked}"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 20},
        }
