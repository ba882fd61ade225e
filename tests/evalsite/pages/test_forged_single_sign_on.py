"""ID tokens that single sign-on must refuse, from a server that signs whatever a test asks for."""

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.cache import cache
from django.test import Client

pytestmark = pytest.mark.django_db

KEY, OTHER_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PUBLIC = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())) | {"kid": "one", "alg": "RS256"}


class Provider(ThreadingHTTPServer):
    """Answers with `token`, whatever the code is."""

    token = ""

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        issuer = self.server.issuer
        described = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        }
        self._send({"keys": [PUBLIC]} if self.path == "/keys" else described)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send({"access_token": "access", "id_token": self.server.token, "token_type": "Bearer"})

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with Provider(("127.0.0.1", 0), Handler) as provider:
        Thread(target=provider.serve_forever, args=(0.01,), daemon=True).start()
        yield provider
        provider.shutdown()


@pytest.fixture
def provider(server: Provider, settings: Any) -> Iterator[Provider]:
    cache.clear()
    settings.OIDC_ISSUER = server.issuer
    settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = "touchstone", "secret"
    yield server
    cache.clear()


def status_with(client: Client, provider: Provider, make: Callable[[dict[str, Any]], str]) -> int:
    """Return the status of a log-in for which the provider issues the token that `make` makes of valid claims."""
    query = parse_qs(urlsplit(client.get("/account/single-sign-on/").headers["Location"]).query)
    now = int(time.time())
    valid = {
        "iss": provider.issuer,
        "aud": "touchstone",
        "sub": "somebody",
        "iat": now,
        "exp": now + 60,
        "nonce": query["nonce"][0],
    }
    provider.token = make(valid)
    back = {"state": query["state"][0], "code": "any"}
    return client.get("/account/single-sign-on/return/", back).status_code


def signed(claims: dict[str, Any], key: Any = KEY, algorithm: str = "RS256") -> str:
    return jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "one"})


def without(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda claims: signed({key: value for key, value in claims.items() if key != name})


def test_valid_token_logs_in(stranger: Client, provider: Provider) -> None:
    assert status_with(stranger, provider, signed) == 302
    assert "_auth_user_id" in stranger.session


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda claims: signed(claims | {"aud": "another"}), id="audience"),
        pytest.param(lambda claims: signed(claims | {"iss": "https://evil.example"}), id="issuer"),
        pytest.param(lambda claims: signed(claims | {"exp": claims["iat"] - 3600}), id="expired"),
        pytest.param(lambda claims: signed(claims | {"nonce": "another"}), id="nonce"),
        pytest.param(lambda claims: signed(claims | {"sub": "x" * 300}), id="long-subject"),
        pytest.param(lambda claims: signed(claims, OTHER_KEY), id="other-key"),
        pytest.param(lambda claims: signed(claims, None, "none"), id="unsigned"),
        pytest.param(lambda claims: signed(claims, "secret" * 8, "HS256"), id="shared-secret"),
        pytest.param(without("nonce"), id="no-nonce"),
        pytest.param(without("exp"), id="no-end"),
        pytest.param(without("sub"), id="no-subject"),
        pytest.param(lambda _: "not a token", id="no-token"),
    ],
)
def test_other_tokens_are_refused(stranger: Client, provider: Provider, make: Callable[[dict[str, Any]], str]) -> None:
    assert status_with(stranger, provider, make) in {400, 403}
    assert "_auth_user_id" not in stranger.session
