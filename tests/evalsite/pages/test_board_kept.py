"""A public board is made once for all who read it, and never for somebody else's eyes, in another language or state."""

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from tests.evalsite.cast import judge, run_jobs

BOARD = "/boards/trial/"


@pytest.fixture
def read(campaign: Campaign) -> bytes:
    """The board, as the first reader of it saw it."""
    return Client().get(BOARD).content


def test_the_next_reader_is_given_the_same_page_without_its_being_made(read: bytes) -> None:
    again = Client().get(BOARD)
    assert again.content == read
    assert [template.name for template in again.templates] == []


def test_a_refit_makes_another_page(read: bytes, campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    run_jobs()
    assert Client().get(BOARD).content != read


def test_another_language_sort_or_host_is_another_page(read: bytes) -> None:
    assert b'lang="de"' in Client(headers={"Accept-Language": "de"}).get(BOARD).content
    assert "board.html" in [template.name for template in Client().get(f"{BOARD}?sort=judgments").templates]
    assert b"http://testserver:8080" in Client(headers={"Host": "testserver:8080"}).get(BOARD).content


def test_who_is_logged_in_is_given_a_page_of_their_own(read: bytes, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    assert "board.html" in [template.name for template in client.get(BOARD).templates]


def test_what_a_reader_types_behind_the_address_is_not_kept(read: bytes) -> None:
    assert "board.html" in [template.name for template in Client().get(f"{BOARD}?&").templates]
    assert "board.html" in [template.name for template in Client().head(BOARD).templates]
