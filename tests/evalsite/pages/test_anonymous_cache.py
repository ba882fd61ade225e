"""A public board's pages are made once for all readers, and never for other eyes, in another language or state."""

import gzip
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.boards.models import Board
from evalsite.boards.selectors import board_state_get
from evalsite.boards.versions import BoardVersion, board_version_get
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add, entrant_withdraw
from evalsite.core.release import release
from evalsite.judgments.models import Annotator
from evalsite.presentation import anonymous_cache
from evalsite.presentation import page_cache as parts
from evalsite.presentation.anonymous_cache import CachedPage, cached_page
from evalsite.presentation.ranking import stamp
from tests.evalsite.cast import judge, run_jobs
from tests.shared import shared

BOARD = "/boards/trial/"
PAGES = (
    *("", "charts/intervals.csv"),
    *(pytest.param(page, marks=pytest.mark.full) for page in ("live/", "ranking/", "charts/")),
)


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    judge(campaign, bob, blocks=2)
    run_jobs()
    return campaign


@pytest.fixture
def read(judged: Campaign) -> bytes:
    """The board, as the first reader of it saw it."""
    return Client().get(BOARD).content


@pytest.fixture
def staff(db: None) -> User:
    return user_create(username="root", password="as-long-as-it-takes", staff=True)


@pytest.mark.database
@pytest.mark.parametrize("page", PAGES)
def test_the_next_reader_costs_one_query_and_no_template(
    page: str, read: bytes, django_assert_num_queries: Any
) -> None:
    first = Client().get(f"{BOARD}{page}")
    with django_assert_num_queries(1):
        again = Client().get(f"{BOARD}{page}")
    assert again.content == first.content
    assert [template.name for template in again.templates] == []


@pytest.mark.parametrize("page", PAGES)
def test_who_has_the_page_already_is_told_so_until_it_changes(
    page: str, read: bytes, campaign: Campaign, dora: Annotator
) -> None:
    etag = Client().get(f"{BOARD}{page}")["ETag"]
    same = Client().get(f"{BOARD}{page}", headers={"If-None-Match": etag})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", etag)
    judge(campaign, dora, blocks=2)
    run_jobs()
    assert Client().get(f"{BOARD}{page}", headers={"If-None-Match": etag}).status_code == 200


def test_it_travels_compressed_to_who_can_read_that(read: bytes) -> None:
    packed = Client(headers={"Accept-Encoding": "gzip"}).get(BOARD)
    assert packed["Content-Encoding"] == "gzip"
    assert len(packed.content) < len(read) / 2
    assert "Accept-Encoding" in packed["Vary"]
    assert "Accept-Encoding" in Client().get(BOARD)["Vary"]
    assert packed["ETag"].removeprefix("W/") == Client().get(BOARD)["ETag"]


def test_judgment_is_seen_within_seconds(
    read: bytes, campaign: Campaign, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anonymous_cache, "COUNTED_S", 600.0)
    judge(campaign, dora)
    assert Client().get(BOARD).content == read, "not every judgment has the page rendered"
    monkeypatch.setattr(anonymous_cache, "COUNTED_S", 0.0)
    assert Client().get(BOARD).content != read


def test_refit_and_the_owners_words_are_seen_at_once(read: bytes, campaign: Campaign, dora: Annotator) -> None:
    judged = read
    judge(campaign, dora, blocks=2)
    run_jobs()
    refitted = Client().get(BOARD).content
    assert refitted != judged
    Campaign.objects.update(description="What we found.")
    assert b"What we found." in Client().get(BOARD).content


@pytest.mark.database
def test_home_page_costs_one_query_until_something_is_listed(
    read: bytes, campaign: Campaign, staff: User, django_assert_num_queries: Any
) -> None:
    first = Client().get("/").content
    with django_assert_num_queries(1):
        again = Client().get("/")
    assert (again.content, [template.name for template in again.templates]) == (first, [])
    Campaign.objects.update(visibility=Campaign.Visibility.LINK)
    assert b"Trial" in first
    assert b"Trial" not in Client().get("/").content


def test_home_page_of_a_person_is_their_own(read: bytes, staff: User) -> None:
    Client().get("/")
    person = Client()
    person.force_login(staff)
    assert b"Your submissions" in person.get("/").content
    assert b"Your submissions" not in Client().get("/").content


def test_who_left_is_seen_at_once_also_where_as_many_had_left_before(read: bytes, campaign: Campaign) -> None:
    board, chatbots = Board.objects.get(), list(campaign.entrants.order_by("pk"))
    seen = []
    for gone, reason in ((0, "It was replaced."), (1, "Its maker asked."), (1, "It answers no more.")):
        for back in campaign.entrants.filter(state="withdrawn"):
            entrant_add(campaign=campaign, version=back.version)
        entrant_withdraw(campaign=campaign, entrant=chatbots[gone], reason=reason)
        standing = board_state_get(board)
        page = Client().get(f"{BOARD}ranking/").content.decode()
        assert re.findall(r"It was replaced|Its maker asked|It answers no more", page) == [reason.rstrip(".")]
        seen.append((board_version_get("trial"), standing.etag, stamp(standing)))
    assert [len({each[at] for each in seen}) for at in range(3)] == [3, 3, 3]


@pytest.mark.parametrize("page", PAGES)
def test_a_board_that_is_made_private_is_gone_at_once(page: str, read: bytes) -> None:
    assert Client().get(f"{BOARD}{page}").status_code == 200
    Campaign.objects.update(visibility=Campaign.Visibility.LINK)
    assert Client().get(f"{BOARD}{page}").status_code == 404
    by_link = f"/boards/{Board.objects.get().public_id}/{page}"
    assert Client().get(by_link).status_code == 200
    Campaign.objects.update(visibility=Campaign.Visibility.PRIVATE)
    assert Client().get(by_link).status_code == 404


def test_another_language_or_sort_is_another_page(read: bytes) -> None:
    assert b'lang="de"' in Client(headers={"Accept-Language": "de"}).get(BOARD).content
    assert "board.html" in [template.name for template in Client().get(f"{BOARD}?sort=judgments").templates]


def test_no_reader_has_it_made_again_by_a_host_of_their_own(read: bytes) -> None:
    """Pages name the site's own address: each port or name that somebody writes would be made, and kept, once more."""
    written = Client(headers={"Host": "testserver:8080"}).get(BOARD)
    assert [template.name for template in written.templates] == []
    assert written.content == read
    assert f'content="{settings.SITE_URL}{BOARD}"'.encode() in read


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_another_release_made_is_not_shown(
    page: str, read: bytes, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    Client().get(f"{BOARD}{page}")
    monkeypatch.setattr(anonymous_cache, "release", lambda: "the-next-one")
    with CaptureQueriesContext(connection) as asked:
        Client().get(f"{BOARD}{page}")
    assert len(asked) > 1, "it is made, and not only looked up"
    with django_assert_num_queries(1):
        Client().get(f"{BOARD}{page}")


def test_a_part_of_a_page_that_another_release_made_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"part-{uuid.uuid4()}"
    assert parts.cached_part(name, lambda: "earlier") == parts.cached_part(name, lambda: "made twice") == "earlier"
    monkeypatch.setattr(parts, "release", lambda: "the-next-one")
    assert parts.cached_part(name, lambda: "newer") == "newer"


def test_a_release_is_known_by_every_file_that_pages_are_made_of(tmp_path: Path) -> None:
    (tmp_path / "evalsite").mkdir()
    (tmp_path / "frontend" / "templates").mkdir(parents=True)
    code, page = tmp_path / "evalsite" / "views.py", tmp_path / "frontend" / "templates" / "board.html"
    marks = []
    for file, text in ((code, "x = 1"), (page, "<p>"), (page, "<p>New"), (code, "x = 2"), (code, "x = 1")):
        file.write_text(text)
        release.cache_clear()
        with override_settings(BASE_DIR=tmp_path, FRONTEND_DIR=tmp_path / "frontend"):
            marks.append(release())
    release.cache_clear()
    assert len(set(marks)) == 4
    assert marks[4] == marks[2], "the same files are the same release, whenever they were written"


@pytest.mark.database
def test_a_board_has_one_address_by_its_id_however_that_may_be_written(read: bytes, campaign: Campaign) -> None:
    """What is kept is kept by its address: otherwise each spelling would be made, and kept, once more."""
    Campaign.objects.filter(pk=campaign.pk).update(visibility=Campaign.Visibility.LINK)
    key = str(Board.objects.get(default_of=campaign).public_id)
    assert Client().get(f"/boards/{key}/").status_code == 200
    for other in (key.replace("-", ""), f"{key}-", key.upper(), key.replace("-", "--")):
        assert Client().get(f"/boards/{other}/").status_code == 404


def test_who_is_logged_in_is_given_a_page_of_their_own(read: bytes, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert "board.html" in [template.name for template in client.get(BOARD).templates]


def test_what_a_reader_types_behind_the_address_is_not_kept(read: bytes) -> None:
    assert "board.html" in [template.name for template in Client().get(f"{BOARD}?&").templates]
    assert "board.html" in [template.name for template in Client().head(BOARD).templates]


class TestWhileAnotherIsMade:
    """A second reader comes at that moment: within the making of it."""

    def given(self, before: BoardVersion, now: BoardVersion) -> bytes:
        """What the second reader is given while the board goes from one mark to the other."""
        name, given = f"during-{uuid.uuid4()}", []

        def make() -> HttpResponse:
            given.append(cached_page(name, now, lambda: HttpResponse(b"made twice")))
            return HttpResponse(b"newer")

        cached_page(name, before, lambda: HttpResponse(b"earlier"))
        cached_page(name, now, make)
        (page,) = given
        assert isinstance(page, CachedPage)
        return gzip.decompress(page.compressed)

    def test_the_earlier_page_is_shown(self) -> None:
        assert self.given(BoardVersion(("public",), (1,)), BoardVersion(("public",), (2,))) == b"earlier"

    def test_but_not_where_its_owners_have_said_something_else(self) -> None:
        assert self.given(BoardVersion(("public",), (1,)), BoardVersion(("by link",), (1,))) == b"made twice"
