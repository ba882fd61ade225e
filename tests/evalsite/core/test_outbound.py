"""Outbound requests against servers that behave badly: each ends as documented, within its deadline.

A slow server here sends a valid response in the end, so that a test fails if the deadline does not hold.
"""

import datetime
import socket
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from evalsite.core.addresses import OutboundError
from evalsite.core.outbound import Response, post, system_resolver
from tests.environment import PATIENCE_S
from tests.servers import LOCAL, Behaviour, RawServer, hangs, raw_server, response, sends

HOST = "bot.example"
OK = response(b'{"reply": "Hello."}')


def here(host: str, port: int, timeout_s: float) -> Sequence[str]:
    return ["127.0.0.1"]


def asked(server: RawServer, *, timeout_s: float = PATIENCE_S, max_bytes: int = 10_000) -> Response:
    return post(server.url, headers={}, body=b"{}", timeout_s=timeout_s, max_bytes=max_bytes, networks=LOCAL)


def failure(behaviour: Behaviour, *, timeout_s: float = PATIENCE_S) -> OutboundError:
    with raw_server(behaviour) as server, pytest.raises(OutboundError) as caught:
        asked(server, timeout_s=timeout_s)
    return caught.value


def test_response_is_returned_with_its_first_byte() -> None:
    with raw_server(sends(response(b"{}", status=429, headers=["Retry-After: 3"]))) as server:
        found = asked(server)
    assert (found.status, found.body, found.headers["retry-after"]) == (429, b"{}", "3")
    assert found.first_byte_at.tzinfo is not None


def test_request_carries_no_more_than_it_was_given() -> None:
    given = {"X-Own": "1", "accept-encoding": "gzip", "Host": "other.example", "Transfer-Encoding": "chunked"}
    with raw_server(sends(OK)) as server:
        post(server.url, headers=given, body=b'{"a": 1}', timeout_s=PATIENCE_S, networks=LOCAL)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    names = [line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]]
    assert sorted(names) == [b"connection", b"content-length", b"host", b"x-own"]
    assert f"Host: 127.0.0.1:{server.port}".encode() in head
    assert body == b'{"a": 1}'


@pytest.mark.parametrize(
    ("behaviour", "stage"),
    [
        (hangs, "waiting for the response"),
        (sends(*(bytes([byte]) for byte in OK), pause_s=0.01), "reading the response"),
        (sends(b"HTTP/1.1 200 OK\r\n", *[b"X-Slow: 1\r\n"] * 60, b"\r\n", pause_s=0.01), "reading the response"),
        (sends(*[b"HTTP/1.1 102 Processing\r\n\r\n"] * 60, OK, pause_s=0.01), "reading the response"),
    ],
    ids=["hang", "one byte at a time", "slow headers", "informational responses"],
)
def test_total_deadline_ends_a_slow_response(behaviour: Behaviour, stage: str) -> None:
    error = failure(behaviour, timeout_s=0.1)
    assert error.kind == "timeout"
    assert stage in error.detail


def test_slow_body_times_out_with_its_status() -> None:
    slow = sends(response(b"x" * 60)[:-60], *[b"x"] * 60, pause_s=0.01)
    error = failure(slow, timeout_s=0.1)
    assert (error.kind, error.status) == ("timeout", 200)
    assert error.first_byte_at is not None


def test_slow_resolver_times_out() -> None:
    def slow(host: str, port: int, timeout_s: float) -> Sequence[str]:
        raise TimeoutError

    with pytest.raises(OutboundError) as caught:
        post("https://bot.example/", headers={}, body=b"", timeout_s=PATIENCE_S, resolver=slow)
    assert caught.value.kind == "timeout"
    assert "resolving" in caught.value.detail


def test_system_resolver_waits_no_longer_than_told(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **options: released.wait(PATIENCE_S) and [])
    with pytest.raises(TimeoutError):
        system_resolver("bot.example", 443, 0.01)
    released.set()


def test_unknown_host_is_unresolved() -> None:
    with pytest.raises(OutboundError) as caught:
        post("https://nobody.invalid/", headers={}, body=b"", timeout_s=PATIENCE_S)
    assert caught.value.kind == "unresolved"


@pytest.mark.parametrize(
    "url",
    [
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://0/",
        "https://127.1/",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://169.254.169.254/latest/meta-data/",
    ],
)
def test_system_resolver_finds_private_addresses_in_every_form(url: str) -> None:
    with pytest.raises(OutboundError) as caught:
        post(url, headers={}, body=b"", timeout_s=PATIENCE_S)
    assert caught.value.kind == "address_refused"


def test_second_look_up_cannot_change_the_address() -> None:
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    def changing(host: str, port: int, timeout_s: float) -> Sequence[str]:
        return answers.pop(0)

    with raw_server(sends(OK)) as server:
        url = f"http://{HOST}:{server.port}/chat"
        found = post(url, headers={}, body=b"", timeout_s=PATIENCE_S, networks=LOCAL, resolver=changing)
    assert found.status == 200
    assert answers == [["10.0.0.1"]]
    assert f"Host: {HOST}:{server.port}".encode() in server.requests[0]


def test_next_address_is_tried_if_one_is_closed() -> None:
    def several(host: str, port: int, timeout_s: float) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with raw_server(sends(OK)) as server:
        url = f"http://{HOST}:{server.port}/"
        found = post(url, headers={}, body=b"", timeout_s=PATIENCE_S, networks=LOCAL, resolver=several)
    assert found.status == 200


def test_closed_port_is_a_connect_error() -> None:
    with raw_server(hangs) as server:
        pass
    with pytest.raises(OutboundError) as caught:
        asked(server)
    assert caught.value.kind == "connect"


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with raw_server(sends(OK)) as server, raw_server(hangs) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert asked(server).status == 200
    assert proxy.requests == []


@pytest.mark.parametrize(
    "behaviour",
    [
        sends(response(b"x" * 10_001)),
        sends(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 100_000] * 1000),
        sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1000\r\n" + b"x" * 4096 + b"\r\n"] * 1000),
        sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1;" + b"e" * 4090 + b"\r\nx\r\n"] * 1000),
        sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n" * 10_000] * 100),
        sends(*[b"HTTP/1.1 102 Processing\r\n\r\n" * 10_000] * 100),
    ],
    ids=["announced", "100 MB", "chunked", "chunk extensions", "tiny chunks", "informational responses"],
)
def test_large_response_is_cut_off(behaviour: Behaviour) -> None:
    assert failure(behaviour).kind == "too_large"


def test_redirect_is_not_followed() -> None:
    with raw_server(sends(OK)) as inside:
        redirect = sends(response(b"", status=302, headers=[f"Location: {inside.url}"]))
        error = failure(redirect)
    assert (error.kind, error.status) == ("redirect", 302)
    assert inside.requests == []


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "identity, gzip"])
def test_compressed_response_is_refused(coding: str) -> None:
    error = failure(sends(response(b"bomb", headers=[f"Content-Encoding: {coding}"])))
    assert (error.kind, error.status) == ("encoded", 200)


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (sends(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "protocol"),
        (sends(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"), "protocol"),
        (sends(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), "protocol"),
        (sends(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000000000000000\r\n\r\n"), "protocol"),
        (sends(b"HTTP/1.1 200 OK\r\n", *[b"X-Long: 1\r\n" * 10_000] * 100), "protocol"),
        (sends(), "connect"),
        (sends(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), "connect"),
    ],
    ids=["no HTTP", "upgrade", "transfer coding", "endless length", "endless headers", "closed", "cut off"],
)
def test_broken_response_has_a_kind(behaviour: Behaviour, kind: str) -> None:
    assert failure(behaviour).kind == kind


@pytest.mark.parametrize("value", ["top-secret\r\nX: y", "top-secret\x00", "top-secret \N{EURO SIGN}"])
def test_error_of_a_header_does_not_quote_it(value: str) -> None:
    with raw_server(sends(OK)) as server, pytest.raises(OutboundError) as caught:
        post(server.url, headers={"X-Key": value}, body=b"", timeout_s=PATIENCE_S, networks=LOCAL)
    assert caught.value.kind == "protocol"
    assert "top-secret" not in str(caught.value)


# TLS ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for HOST that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def secure(server: RawServer, *, host: str = HOST, trusted: Path | None = None) -> Response:
    context = ssl.create_default_context(cafile=trusted) if trusted else None
    url = f"https://{host}:{server.port}/"
    return post(url, headers={}, body=b"", timeout_s=PATIENCE_S, networks=LOCAL, resolver=here, tls=context)


def test_pinned_connection_keeps_the_name_for_tls_and_host(certificate: Path) -> None:
    with raw_server(sends(OK), tls=server_tls(certificate)) as server:
        assert secure(server, trusted=certificate).status == 200
    assert server.names == [HOST]
    assert f"Host: {HOST}:{server.port}".encode() in server.requests[0]


def test_certificate_of_another_host_is_refused(certificate: Path) -> None:
    with raw_server(sends(OK), tls=server_tls(certificate)) as server, pytest.raises(OutboundError) as caught:
        secure(server, host="other.example", trusted=certificate)
    assert caught.value.kind == "tls"
    assert "other.example" in caught.value.detail


def test_unknown_certificate_is_refused(certificate: Path) -> None:
    with raw_server(sends(OK), tls=server_tls(certificate)) as server, pytest.raises(OutboundError) as caught:
        secure(server)
    assert caught.value.kind == "tls"
    assert server.requests == []


def test_plain_http_where_tls_is_expected_is_a_tls_error() -> None:
    with raw_server(sends(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as server, pytest.raises(OutboundError) as caught:
        secure(server)
    assert caught.value.kind == "tls"
