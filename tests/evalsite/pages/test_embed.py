"""A board on another site's page: what may be framed, by whom, how much of it."""

import re
from html import unescape

import pytest
from django.conf import settings
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.models import Slice
from evalsite.campaigns.models import Campaign
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.evalsite.presentation.test_ranking import THREE, publish, row


def test_only_the_embedded_board_may_stand_in_another_sites_page(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, THREE)
    framed = stranger.get("/boards/trial/embed/")
    assert "frame-ancestors *" in framed["Content-Security-Policy"]
    assert "X-Frame-Options" not in framed
    assert "default-src 'none'" in framed["Content-Security-Policy"], "the rest holds there as well"
    for path in ("/", "/boards/trial/", "/boards/trial/charts/", "/judge/trial/"):
        page = stranger.get(path)
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
        assert page["X-Frame-Options"] == "DENY"


def test_it_has_no_script_and_no_cookie_and_its_links_open_by_themselves(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, THREE)
    response = stranger.get("/boards/trial/embed/")
    page = response.content.decode()
    assert "<script" not in page
    assert not response.cookies
    ways = re.findall(r"<a [^>]*>", page)
    assert len(ways) == 4
    assert all('target="_blank"' in way for way in ways)


@pytest.mark.parametrize(("asked", "shown"), [("2", 2), ("", 3), ("0", 1), ("-1", 3), ("9999", 3), ("x", 3)])
def test_it_shows_as_many_rows_as_are_asked_for_and_names_the_rest(
    campaign: Campaign, stranger: Client, asked: str, shown: int
) -> None:
    publish(campaign, THREE)
    response = stranger.get("/boards/trial/embed/", {"rows": asked})
    assert response.content.count(b'scope="row"') == shown
    assert ("more chatbot" in words(response)) == (shown < 3)


@pytest.mark.parametrize(("asked", "told"), [("dark", 'data-theme="dark"'), ("light", 'data-theme="light"')])
def test_its_look_is_the_readers_or_the_one_in_the_address(
    campaign: Campaign, stranger: Client, asked: str, told: str
) -> None:
    publish(campaign, THREE)
    assert told in stranger.get("/boards/trial/embed/", {"theme": asked}).content.decode()
    for other in ("", '"><script>'):
        page = stranger.get("/boards/trial/embed/", {"theme": other}).content.decode()
        assert "data-theme" not in page
        assert '"><script>' not in page


def test_a_private_board_is_framed_for_nobody_and_offers_no_html(
    campaign: Campaign, alice: User, stranger: Client
) -> None:
    publish(campaign, THREE)
    assert b"HTML to copy" in stranger.get("/boards/trial/").content
    Campaign.objects.update(visibility="private")
    stranger.force_login(alice)
    assert b"HTML to copy" not in stranger.get("/boards/trial/").content
    refused = stranger.get("/boards/trial/embed/")
    assert refused.status_code == 404
    assert "frame-ancestors 'none'" in refused["Content-Security-Policy"]


def test_the_html_to_copy_frames_what_the_reader_looks_at(campaign: Campaign, stranger: Client) -> None:
    board = publish(campaign, [row(HOSTILE, 1), row("Bee", 2)]).board
    board.name = 'A "board" <b>'
    board.save()
    Slice.objects.create(board=board, by="category", value="law & order", judgments=12, chatbots=3)
    page = stranger.get("/boards/trial/", {"category": "law & order"}).content.decode()
    html = unescape(re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[0])
    frame = re.fullmatch(r'<iframe src="([^"]+)" title="([^"<]+)" width="100%" height="\d+" loading="lazy" .*', html)
    assert frame
    assert unescape(frame[2]) == 'A "board" <b>'
    address = unescape(frame[1]).removeprefix(settings.SITE_URL)
    assert address == "/boards/trial/embed/?category=law+%26+order&rows=10"
    assert "There are 12 judgments of 3 chatbots so far" in words(stranger.get(address))
    whole = stranger.get("/boards/trial/embed/").content.decode()
    assert "<script" not in whole
    assert "<img" not in whole


def test_it_is_small_and_costs_few_queries(
    campaign: Campaign, stranger: Client, django_assert_max_num_queries: object
) -> None:
    publish(campaign, [row(f"bot {n}", n) for n in range(1, 201)])
    stranger.get("/boards/trial/embed/")
    with django_assert_max_num_queries(11):  # type: ignore[operator]
        page = stranger.get("/boards/trial/embed/")
    assert len(page.content) < 20_000


def test_a_board_shared_by_a_link_is_framed_by_that_link(campaign: Campaign, alice: User, stranger: Client) -> None:
    publish(campaign, THREE)
    Campaign.objects.update(visibility="link")
    stranger.force_login(alice)
    page = stranger.get("/boards/trial/").content.decode()
    address = re.search(rf"{settings.SITE_URL}(/boards/[0-9a-f-]{{36}}/embed/\?rows=10)", unescape(unescape(page)))
    assert address
    assert Client().get(address[1]).status_code == 200


def test_why_a_fit_failed_is_not_told_to_readers(campaign: Campaign, stranger: Client) -> None:
    board = publish(campaign, THREE).board
    made = {"by": "category", "value": "law", "judgments": 500, "chatbots": 3}
    Slice.objects.create(board=board, trouble="Traceback: /secret/path", **made)
    for address in ("/boards/trial/", "/boards/trial/embed/"):
        page = words(stranger.get(address, {"category": "law"}))
        assert "The last computation failed. The next update of the board repeats it." in page
        assert "secret" not in page
