"""A network between annotators and a site that sends requests twice, sends them late, and loses answers."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

from tests.faults.conftest import Rounds
from tests.faults.ordeal import ordeal
from tests.faults.sites import Site
from tests.processes import visit

PASSED_ON = ("Authorization", "Content-Type", "Idempotency-Key")


class Network:
    """What became of the requests that passed. Copies of answers come without their key now and then."""

    def __init__(self, url: str) -> None:
        self.http = visit(url)
        self.rng = random.Random(2)
        self.lock = threading.Lock()
        self.kept: list[tuple[str, bytes, dict[str, str]]] = []
        self.twice = self.late = self.lost = 0

    def send(self, path: str, body: bytes, headers: dict[str, str]) -> httpx2.Response | None:
        """The answer, or None when it is lost on its way back."""
        fate = self.rng.random()
        copy = dict(headers)
        if path.endswith("/judgment") and self.rng.random() < 0.5:
            copy.pop("Idempotency-Key", None)
        if fate < 0.15:
            self.twice += 1
            beside = threading.Thread(target=self.http.post, args=(path,), kwargs={"content": body, "headers": copy})
            beside.start()
            answer = self.http.post(path, content=body, headers=headers)
            beside.join()
        else:
            answer = self.http.post(path, content=body, headers=headers)
        if 0.15 <= fate < 0.3:
            with self.lock:
                self.kept.append((path, body, copy))
        self._bring_late_ones()
        if fate > 0.9:
            self.lost += 1
            return None
        return answer

    def _bring_late_ones(self) -> None:
        """A copy of an earlier request arrives after later ones."""
        with self.lock:
            due = self.kept.pop(self.rng.randrange(len(self.kept))) if len(self.kept) > 5 else None
        if due is not None:
            self.late += 1
            path, body, headers = due
            self.http.post(path, content=body, headers=headers)


@contextmanager
def unruly(url: str) -> Iterator[tuple[str, Network]]:
    """The address of such a network before the site, and what it did."""
    network = Network(url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name: self.headers[name] for name in PASSED_ON if name in self.headers}
            answer = network.send(self.path, body, headers)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", network
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        network.http.close()


def go_through_unruly(site: Site, rounds: Rounds) -> None:
    """Judge through such a network, as long as `rounds` go on; every way that it has must have been met."""
    with unruly(site.url) as (url, network), ordeal(site, "requests doubled, reordered", url=url) as under:
        for _ in rounds():
            under.more_judgments(60)
            under.times = network.twice + network.late + network.lost
    assert network.twice > 0
    assert network.late > 0
    assert network.lost > 0
