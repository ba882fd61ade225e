"""Every failure has one shape, also where no view of ours was reached; pages keep their pages."""

from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from evalsite.accounts.models import User
from evalsite.api import board_views
from evalsite.campaigns.models import Campaign
from tests.evalsite.api.client import CLAIMS, Api, error_of

BOARD = "/api/v1/boards/trial"


def test_another_content_type_is_refused(api: Api) -> None:
    response = api.raw(CLAIMS, b"count=1", "application/x-www-form-urlencoded")
    assert (response.status_code, error_of(response)["code"]) == (415, "unsupported_media_type")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(api: Api) -> None:
    body = b'{"count": 1' + b" " * settings.DATA_UPLOAD_MAX_MEMORY_SIZE + b"}"
    response = api.raw(CLAIMS, body)
    assert (response.status_code, error_of(response)["code"]) == (413, "too_large")


def test_a_body_of_the_largest_size_is_read(api: Api) -> None:
    body = b'{"count": 1'
    body += b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE - len(body) - 1) + b"}"
    assert api.raw(CLAIMS, body).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/boards/trial",
        "/api/v1/nothing",
        "/api/v1/assignments/1/judgment",
    ],
)
def test_an_unknown_address_answers_in_the_same_shape(path: str) -> None:
    for response in (Api().get(path), Api().post(path)):
        assert response.status_code == 404
        assert error_of(response)["code"] == "not_found"


@pytest.mark.django_db
def test_addresses_that_are_no_text_are_not_found() -> None:
    for path in ("/api/v1/boards/%00", "/api/v1/boards/%ff", "/api/v1/boards/" + "x" * 5000, "/api/v1/boards/ü"):
        response = Api().get(path)
        assert response.status_code == 404
        error_of(response)


def test_a_method_that_is_not_offered_is_refused(api: Api, campaign: Campaign) -> None:
    for method, path, headers in (
        ("GET", CLAIMS, api.headers),
        ("DELETE", BOARD, {}),
        ("OPTIONS", BOARD, {}),
        ("TRACE", BOARD, {}),
    ):
        response = api.client.generic(method, path, headers=headers)
        assert (response.status_code, error_of(response)["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(("path", "methods"), [(BOARD, {"GET", "HEAD"}), (CLAIMS, {"POST"})])
def test_what_is_allowed_is_what_is_answered(api: Api, campaign: Campaign, path: str, methods: set[str]) -> None:
    headers = api.headers if path == CLAIMS else {}
    assert set(api.client.delete(path, headers=headers)["Allow"].split(", ")) == methods
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        refused = api.client.generic(method, path, "{}", "application/json", headers=headers).status_code == 405
        assert refused == (method not in methods)


@pytest.mark.django_db
def test_what_only_json_answers_is_not_asked_for_html() -> None:
    response = Client().get(BOARD, headers={"Accept": "text/html"})
    assert (response.status_code, error_of(response)["code"]) == (406, "not_acceptable")


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["json", "xml", "api", ""])
def test_a_form_of_answer_is_no_parameter(form: str) -> None:
    response = Client().get(f"/api/v1/boards?format={form}")
    problem = error_of(response)
    assert (response.status_code, problem["code"], problem["field"]) == (400, "invalid", "format")


def test_a_host_that_is_not_ours_is_refused_in_the_same_shape() -> None:
    response = Client().get(BOARD, headers={"Host": "elsewhere.example"})
    assert (response.status_code, error_of(response)["code"]) == (400, "bad_request")


@pytest.mark.django_db
def test_a_fault_of_ours_says_so_and_tells_no_detail(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(board_views, "board_get", fail)
    response = Client(raise_request_exception=False).get(BOARD)
    assert (response.status_code, error_of(response)["code"]) == (500, "server_error")
    assert "secret" not in response.content.decode()


def test_a_session_without_its_csrf_token_is_told_what_to_send(campaign: Campaign, alice: User) -> None:
    browser = Api()
    browser.client.force_login(alice)
    response = browser.post("/api/v1/campaigns/trial/acts/pause")
    assert (response.status_code, error_of(response)["code"]) == (403, "permission_denied")
    assert "X-CSRFToken" in error_of(response)["hint"]
    assert error_of(response)["message"] == "The request has a session, and no sign that a page of this site sent it."
    browser.client.cookies["csrftoken"] = "a" * 32
    browser.headers = {"X-CSRFToken": "a" * 32}
    assert browser.post("/api/v1/campaigns/trial/acts/pause").status_code == 200


@pytest.mark.django_db
def test_pages_keep_their_error_pages() -> None:
    assert "<html" in Client().get("/nothing/").content.decode()
    assert "<html" in Client().get("/", headers={"Host": "elsewhere.example"}).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("cookie", [True, False])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded; charset=iso-8859-1", b"a=b"),
        ("application/x-www-form-urlencoded", b"&".join(b"a=b" for _ in range(1500))),
        ("multipart/form-data", b"a=b"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * 1500 + b"--x--",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/", "/nope/", "/livez", "/account/login/", "/api/v1/nothing"])
def test_a_form_that_cannot_be_read_is_no_fault_of_ours(path: str, kind: str, body: bytes, *, cookie: bool) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    if cookie:
        client.cookies["csrftoken"] = "a" * 32
    response = client.post(path, body, kind)
    assert response.status_code in {400, 403, 404, 405}
    assert response.content, "and it says so"
    assert path != "/nope/" or response.status_code == 404


@pytest.mark.django_db
def test_a_page_of_ours_that_broke_says_so_even_where_the_form_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("django.middleware.csrf.CsrfViewMiddleware.process_view", fail)
    client = Client(raise_request_exception=False)
    client.cookies["csrftoken"] = "a" * 32
    response = client.post("/", b"a=b", "application/x-www-form-urlencoded; charset=iso-8859-1")
    assert response.status_code == 500
    assert "This is our fault" in response.content.decode()
    assert "secret" not in response.content.decode()
