"""What charset a body is said to have is no matter of the address, and breaks nothing: the site as a server calls it.

Django's own test client makes requests of its own kind, so these are sent to the WSGI application.
"""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from evalsite.core.http import Handler
from tests.environment import PATIENCE_S
from tests.evalsite.api.operations import OPERATIONS, Tenant, right
from tests.processes import start_manage

CHARSETS = ["hex", "zlib", "rot13", "utf-16", "cp037", "idna", "undefined", "nonsense"]
pytestmark = pytest.mark.usefixtures("_one_connection")


@cache
def handler() -> Handler:
    """The site; made at the first request, since the static files of the production form are collected before it."""
    return Handler()


def answered(method: str, path: str, kind: str, *, body: bytes = b"", query: str = "", token: str = "") -> Any:
    """The status, and what was sent."""
    environ: dict[str, Any] = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": kind}
    environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), "HTTP_HOST": "localhost"}
    environ |= {"HTTP_AUTHORIZATION": f"Bearer {token}"} if token else {}
    setup_testing_defaults(environ)
    begun: list[int] = []
    response = handler()(environ, lambda status, headers, error=None: begun.append(int(status[:3])))
    content = b"".join(response)
    response.close()
    return begun[0], content


@pytest.mark.parametrize("charset", CHARSETS)
def test_an_address_is_utf_8_whatever_the_body_is_said_to_be(there: Tenant, charset: str) -> None:
    status, content = answered("GET", "/api/v1/campaigns", f"text/plain; charset={charset}", query="limit=1")
    assert (status, len(json.loads(content)["results"])) == (200, 1)
    assert answered("GET", "/", f"text/plain; charset={charset}", query="q=a")[0] == 200
    sent = right(there, OPERATIONS["POST /api/v1/organisations/{organisation}/prompts"])
    path, kind = sent.operation.path.format(**sent.path), f"text/csv; charset={charset}"
    status, content = answered("POST", path, kind, body=sent.body, query="set=Spring", token=sent.token)
    assert (status, json.loads(content)["error"]["code"]) == (415, "unsupported_media_type")


NO_CONTENT_TYPES = [
    "text/plain; title*=nonsense'en'%41",
    "text/plain; title*=hex'en'%41",
    "text/plain; charset*=undefined''%41",
    "text/plain; charset*=utf-8''%00",
    "text/plain; x*=idna''%ff",
    "text/plain; a*0*=x''b; a*2*=c",
    "text/plain; charset*0=utf; charset*0=8",
    "; charset=utf-8",
    ";",
]


@pytest.mark.django_db
@pytest.mark.parametrize("kind", NO_CONTENT_TYPES)
@pytest.mark.parametrize("path", ["/", "/api/v1/campaigns"])
def test_what_is_no_content_type_is_none(kind: str, path: str) -> None:
    assert answered("GET", path, kind)[0] == 200


@pytest.mark.django_db
@pytest.mark.parametrize("kind", NO_CONTENT_TYPES)
@pytest.mark.parametrize("body", [b"", b"{}"])
def test_nor_is_it_one_of_what_is_sent(kind: str, body: bytes) -> None:
    status, content = answered("POST", "/api/v1/annotators", kind, body=body)
    assert (status, json.loads(content)["error"]["field"]) in [(400, "campaign"), (415, "")], content


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["", "text/plain", "text/plain; charset=hex"])
def test_an_address_with_too_many_parameters_is_refused(kind: str) -> None:
    assert answered("GET", "/api/v1/campaigns", kind, query="a&" * 2000)[0] == 400


def test_it_is_what_serves_the_site(tmp_path: Path) -> None:
    """In a process of its own: as a server's, it warms up, and ends with its parent."""
    code = "from evalsite.wsgi import application; print(type(application).__module__)"
    process = start_manage(tmp_path, "shell", "-v", "0", "-c", code)
    assert process.communicate(timeout=PATIENCE_S)[0].split()[-1] == Handler.__module__


@pytest.mark.django_db
@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_form_in_another_charset_is_no_fault_of_ours(kind: str, charset: str) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--' if "multipart" in kind else b"a=b"
    for path in ("/account/login/", "/api/v1/annotators"):
        status, content = answered("POST", path, f"{kind}; charset={charset}", body=body, query="next=/me/")
        assert status in ({415} if path.startswith("/api/") else {400, 403})
        assert content
