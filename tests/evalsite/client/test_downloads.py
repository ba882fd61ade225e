"""Downloads of the client: written as they arrive, begun again after a broken connection, never cut short."""

import contextlib
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from django.http import StreamingHttpResponse
from django.middleware.gzip import GZipMiddleware
from django.test import RequestFactory

from evalsite.client import Client, ClientError, Patience
from tests.servers import RawServer, raw_server, response, sends

QUICK = Patience(first_s=0.0, most_s=0.0, attempts=3)
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PATH = "campaigns/trial/judgments.csv"


def chunk(text: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(text), text)


@contextlib.contextmanager
def reader_of(*answers: bytes) -> Iterator[tuple[Client, RawServer]]:
    """Yield a client of a site that sends one answer after another, and closes each connection."""
    left = list(answers)

    def behave(connection: socket.socket, ended: threading.Event) -> None:
        sends(left.pop(0) if len(left) > 1 else left[0])(connection, ended)

    with raw_server(behave) as server, Client(server.url.removesuffix("/chat"), patience=QUICK) as client:
        yield client, server


WHOLE = HEAD + chunk(b"a,b\n") + chunk(b"1,2\n") + chunk(b"")
CUT = HEAD + chunk(b"a,b,and more\n")
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\na,b\n"


def failed_export() -> bytes:
    """Return the response of an export that fails halfway, as a web server ends it: in good order."""

    def rows() -> Iterator[bytes]:
        yield b"a,b\n" * 5000
        raise ConnectionError("the database went away")

    response = StreamingHttpResponse(rows())
    request = RequestFactory(headers={"Accept-Encoding": "gzip"}).get("/")
    compressed = GZipMiddleware(lambda _request: response)(request)
    assert isinstance(compressed, StreamingHttpResponse)
    sent = b""
    with contextlib.suppress(ConnectionError):
        for block in compressed:
            sent += chunk(block)
    return HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + sent + chunk(b"")


@pytest.mark.parametrize(
    "broken",
    [CUT, SHORT, b"", failed_export()],
    ids=["in a chunk", "before its length", "before the answer", "by a failure behind the server"],
)
def test_broken_download_begins_again(broken: bytes, tmp_path: Path) -> None:
    with reader_of(broken, WHOLE) as (client, server):
        file = client.download(PATH, tmp_path / "judgments.csv")
    assert file.read_bytes() == b"a,b\n1,2\n"
    assert len(server.requests) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["judgments.csv"]


def test_download_that_never_completes_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "judgments.csv"
    file.write_text("old")
    with reader_of(CUT) as (client, _server), pytest.raises(ClientError, match="no answer"):
        client.download(PATH, file)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("judgments.csv", "old")]


def test_refused_download_leaves_no_file(tmp_path: Path) -> None:
    refusal = response(b'{"error": {"message": "Not yours.", "code": "not_allowed"}}', status=403)
    with reader_of(refusal) as (client, _server), pytest.raises(ClientError, match="Not yours"):
        client.download(PATH, tmp_path / "judgments.csv")
    assert list(tmp_path.iterdir()) == []


def test_broken_list_of_judgments_has_no_doubles() -> None:
    rows = chunk(b'{"n": 1}\n')
    whole = HEAD + rows + chunk(b'{"n": 2}\n') + chunk(b"")
    with reader_of(HEAD + rows, whole) as (client, _server):
        assert [one["n"] for one in client.judgments("trial")] == [1, 2]


class Blocks(httpx2.SyncByteStream):
    """Sixteen megabytes in blocks."""

    def __iter__(self) -> Iterator[bytes]:
        return (bytes(65_536) for _ in range(256))


def test_large_download_is_not_held_in_memory(tmp_path: Path) -> None:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Blocks()))
    with Client("", http=httpx2.Client(base_url="http://testserver", transport=transport)) as client:
        tracemalloc.start()
        file = client.download(PATH, tmp_path / "judgments.csv")
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert file.stat().st_size == 16 * 1024 * 1024
    assert peak < 2_000_000
