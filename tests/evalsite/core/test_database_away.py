"""The database is away: every door says so in its own shape, nothing is half-written, and it comes back by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.errors import Unavailable
from evalsite.judgments.models import Annotator, Answer, Assignment, Comment, Judgment
from evalsite.judgments.services import token_issue
from tests.databases import connected, empty_sqlite
from tests.environment import DATABASE_URL, PRODUCTION
from tests.evalsite.api.client import CLAIMS, Api, answer, error_of, judgment_url
from tests.processes import free_port

pytestmark = pytest.mark.database

BOARD = "/api/v1/boards/trial"


@pytest.fixture
def api(bob: Annotator) -> Api:
    return Api(token_issue(annotator=bob))


@pytest.fixture(params=["sqlite", "postgresql"])
def away(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A context in which nothing is behind the database's address: no folder, or nobody who listens."""
    nothing = urlsplit(DATABASE_URL)._replace(netloc=f"postgres@127.0.0.1:{free_port()}").geturl()
    addresses: dict[str, dict[str, Any]] = {
        "sqlite": {**settings.SQLITE, "NAME": tmp_path / "nowhere" / "touchstone.sqlite3"},
        "postgresql": dict(dj_database_url.parse(nothing)),
    }
    return lambda: connected(addresses[request.param])


def test_the_api_says_so_in_its_one_shape_and_when_to_come_again(campaign: Campaign, api: Api, away: Any) -> None:
    enrol = {"campaign": "trial", "kind": "human"}

    def asked() -> list[Any]:
        return [Api().get(BOARD), api.post(CLAIMS), Api().post("/api/v1/annotators", enrol)]

    with away():
        refused = asked()
    for response in refused:
        assert response.status_code == 503
        assert error_of(response)["code"] == "unavailable"
        assert error_of(response)["hint"]
        assert int(response["Retry-After"]) == Unavailable.retry_after_s
        assert "no-store" in response["Cache-Control"]
    assert [response.status_code for response in asked()] == [200, 200, 201], "and it is back without anybody's help"


def test_a_page_says_so_in_words(campaign: Campaign, alice: User, away: Any) -> None:
    reader, owner = (Client(raise_request_exception=False) for _ in range(2))
    owner.force_login(alice)
    pages = [
        (reader, "/"),
        (reader, "/boards/trial/"),
        (reader, "/judge/trial/"),
        (owner, "/console/"),
        (owner, "/me/"),
    ]
    pages.append((owner, "/admin/"))  # its session is looked up before any view is called
    with away():
        for who, address in pages:
            response = who.get(address)
            assert response.status_code == 503, address
            assert "The database of this site does not answer" in response.content.decode()
            assert int(response["Retry-After"]) == Unavailable.retry_after_s
            assert "default-src" in response["Content-Security-Policy"]
        assert reader.get("/livez").status_code == 200
        assert reader.get("/readyz").status_code == 503
    assert [who.get(address).status_code for who, address in pages[:5]] == [200] * 5
    assert reader.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_table_that_is_missing_is_a_fault_of_ours(tmp_path: Path) -> None:
    client = Client(raise_request_exception=False)
    with empty_sqlite(tmp_path) as nothing_in_it, connected(nothing_in_it):
        assert client.get(BOARD).status_code == 500
        assert client.get("/boards/trial/").status_code == 500


@contextmanager
def full_disk() -> Iterator[None]:
    """SQLite may take no further page."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # pages that other tests have left would be taken first
        (most,) = cursor.execute("PRAGMA max_page_count").fetchone()
        (now,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count = {now}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA max_page_count = {most}")


def until_refused(api: Api) -> tuple[int, Any, Any]:
    """How many answers were taken, the assignment whose answer was not, and what was said. Claims have room."""
    given = 0
    while True:
        block = api.post(CLAIMS).json()["assignments"]
        assert block, "there is room for an answer on each page: ask for more of them"
        for assignment in block:
            with full_disk():
                response = api.post(judgment_url(assignment), answer(comment="x" * 2000), key=assignment["id"])
            if response.status_code == 503:
                return given, assignment, response
            given += 1


@pytest.mark.skipif(PRODUCTION, reason="PostgreSQL in the middle of a transaction: tests/faults")
def test_disk_full_during_an_answer_writes_nothing(transactional_db: None, campaign: Campaign, api: Api) -> None:
    onboarding_set(campaign=campaign, comments=True)
    given, refused, response = until_refused(api)
    assert error_of(response)["code"] == "unavailable"
    assert Judgment.objects.count() == Answer.objects.count() == Comment.objects.count() == given
    assert Assignment.objects.get(public_id=refused["id"]).state == Assignment.State.ISSUED
    again = api.post(judgment_url(refused), answer(comment="x" * 2000), key=refused["id"])
    assert again.status_code == 201, "the same request, under the same key, when there is room again"
    assert Judgment.objects.count() == Answer.objects.count() == Comment.objects.count() == given + 1
