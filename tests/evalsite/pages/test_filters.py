"""Filters of a board in its address: what its readers see of them."""

import re
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.boards.models import Board, Refit, Slice, Snapshot
from evalsite.campaigns.models import Campaign
from tests.evalsite.pages.test_pages import words
from tests.evalsite.presentation.test_ranking import THREE, publish, row
from tests.shared import shared

MATHS = [row("Cow", 1), row("Bee", 2)]


@shared
def filtered(campaign: Campaign) -> Campaign:
    """A board of three chatbots with a category that turns two of them round, and one with too few judgments."""
    whole = publish(campaign, THREE).board
    own = Board.objects.create(
        organisation=whole.organisation, name="m", slug="m", aspect=whole.aspect, category="maths"
    )
    own.campaigns.add(campaign)
    snapshot = Snapshot.objects.create(
        board=own,
        number=1,
        input_sha256="m",
        engine="test",
        seed=1,
        judgments=44,
        annotators=3,
        converged=True,
        seconds=0.1,
        rows=MATHS,
        posterior=b"",
    )
    Refit.objects.create(board=own, outcome=Refit.Outcome.PUBLISHED, snapshot=snapshot, started_at=timezone.now())
    Slice.objects.create(board=whole, by="category", value="maths", own=own, judgments=44, chatbots=2)
    Slice.objects.create(board=whole, by="category", value="law & order", judgments=12, chatbots=3)
    return campaign


def test_a_filter_shows_its_own_ranking_under_an_address_that_can_be_shared(
    filtered: Campaign, stranger: Client
) -> None:
    whole = words(stranger.get("/boards/trial/"))
    assert whole.index("Bee") < whole.index("ant")
    text = words(stranger.get("/boards/trial/?category=maths"))
    assert "Only judgments on prompts of the category “maths” count here." in text
    assert "44 of them ranked here" in text
    page = stranger.get("/boards/trial/?category=maths").content.decode()
    assert re.findall(r'class="who"[^>]*>([^<]+)<', page) == ["Cow", "Bee"]


def test_the_board_offers_its_filters_and_says_which_is_chosen(filtered: Campaign, stranger: Client) -> None:
    page = stranger.get("/boards/trial/?category=maths&sort=name").content.decode()
    menu = page[page.index('class="filters"') : page.index("</nav>", page.index('class="filters"'))]
    urls = [unescape(url) for url in re.findall(r'href="([^"]+)"', menu)]
    assert urls == [
        "/boards/trial/?sort=name",
        "/boards/trial/?category=maths&sort=name",
        "/boards/trial/?category=law+%26+order&sort=name",
    ]
    assert [bool(each) for each in re.findall(r'<a href="[^"]+"( aria-current="true")?', menu)] == [False, True, False]
    for url in urls:
        assert stranger.get(url).status_code == 200


def test_every_way_on_from_a_filtered_board_keeps_the_filter(filtered: Campaign, stranger: Client) -> None:
    page = stranger.get("/boards/trial/?category=maths").content.decode()
    for ways in (
        re.findall(r'class="who"[^>]* href="([^"]+)"', page),
        re.findall(r'hx-get="([^"]+(?:live|ranking)/[^"]*)"', page),
        re.findall(r'class="why" href="([^"]+)"', page),
        re.findall(r'href="([^"]+/charts/[^"]*)"', page),
    ):
        assert ways
        for way in ways:
            assert "category=maths" in way
            assert stranger.get(unescape(way)).status_code == 200


def test_too_few_judgments_are_told_with_what_is_there(filtered: Campaign, stranger: Client) -> None:
    text = words(stranger.get("/boards/trial/?category=law %26 order"))
    assert "There are 12 judgments of 3 chatbots so far, and a ranking of its own needs 30 judgments." in text
    Slice.objects.filter(judgments=12).update(judgments=13)
    assert "There are 13 judgments" in words(stranger.get("/boards/trial/?category=law %26 order"))


def test_a_fit_that_failed_is_told_beside_the_ranking_before_it(filtered: Campaign, stranger: Client) -> None:
    Slice.objects.filter(value="maths").update(trouble="it did not converge")
    page = stranger.get("/boards/trial/?category=maths")
    assert "The last fit of this part failed; the ranking before it is shown." in words(page)
    assert b"Cow" in page.content


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("category=poetry", 404, "no category “poetry”"),
        ("kind=live", 404, "no kind “live”"),
        ("aspect=%00", 404, "no aspect"),
        ("category=maths&kind=live", 400, "one thing at a time"),
        ("aspect=overall", 200, "Bee"),
    ],
)
def test_what_a_board_cannot_be_filtered_by_is_said(
    filtered: Campaign, stranger: Client, query: str, status: int, said: str
) -> None:
    for page in ("", "charts/"):
        response = stranger.get(f"/boards/trial/{page}?{query}")
        assert response.status_code == status
        if not page:
            assert said in words(response)


def test_the_live_part_of_a_filtered_board_costs_a_304_until_something_changes(
    filtered: Campaign, stranger: Client
) -> None:
    path = "/boards/trial/live/?category=maths"
    etag = stranger.get(path)["ETag"]
    assert stranger.get(path, headers={"If-None-Match": etag}).status_code == 304
    assert stranger.get("/boards/trial/live/", headers={"If-None-Match": etag}).status_code == 200
    Slice.objects.filter(value="maths").update(judgments=50)
    assert stranger.get(path, headers={"If-None-Match": etag}).status_code == 200


def test_the_api_takes_the_same_filters(filtered: Campaign, stranger: Client) -> None:
    body = stranger.get("/api/v1/boards/trial?category=maths").json()
    assert [row["name"] for row in body["chatbots"]] == ["Cow", "Bee"]
    assert body["filter"] == {"by": "category", "value": "maths", "judgments": 44, "trouble": "", "age": "earlier"}
    few = stranger.get("/api/v1/boards/trial", {"category": "law & order"}).json()
    assert (few["snapshot"], few["chatbots"], few["filter"]["judgments"]) == (None, [], 12)
    assert stranger.get("/api/v1/boards/trial").json()["filter"] is None
    assert stranger.get("/api/v1/boards/trial?category=poetry").status_code == 404
    assert stranger.get("/api/v1/boards/trial?kind=dead").status_code == 400
    assert stranger.get("/api/v1/boards/trial?tone=kind").status_code == 400


def test_a_filter_of_a_private_board_is_not_found_either(filtered: Campaign, stranger: Client) -> None:
    Campaign.objects.update(visibility="private")
    assert stranger.get("/boards/trial/?category=maths").status_code == 404


@pytest.mark.database
def test_a_hundred_filters_cost_no_query_more(
    filtered: Campaign, stranger: Client, django_assert_max_num_queries: object
) -> None:
    board = Board.objects.get(default_of=filtered)
    Slice.objects.bulk_create([Slice(board=board, by="category", value=f"topic {n}") for n in range(60)])
    stranger.get("/boards/trial/?category=maths")
    with django_assert_max_num_queries(16):  # type: ignore[operator]
        page = stranger.get("/boards/trial/?category=maths")
    assert len(page.content) < 60_000
    assert "all, or one of" in words(stranger.get("/boards/trial/"))


def test_a_tier_only_cuts_the_ranking_that_is_there_and_keeps_the_filter(campaign: Campaign, stranger: Client) -> None:
    rows = [row(f"bot {n}", n, tier=1 if n < 4 else 2) for n in range(1, 7)]
    publish(campaign, rows)
    page = stranger.get("/boards/trial/?tier=2&sort=name").content.decode()
    assert re.findall(r'class="who"[^>]*>([^<]+)<', page) == ["bot 4", "bot 5", "bot 6"]
    assert "/boards/trial/?sort=name&amp;tier=1" in page
    assert re.findall(r'class="rank number[^>]*>(\d)', page) == ["4", "5", "6"], "ranks are the whole board's"
    for unknown in ("3", "x"):
        assert stranger.get("/boards/trial/", {"tier": unknown}).content.count(b'class="who"') == 6
    live = re.findall(r'hx-get="([^"]+/ranking/[^"]*)"', page)
    assert all("tier=2" in each for each in live)


def test_rows_from_before_tiers_were_kept_offer_none(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, [row(f"bot {n}", n) for n in range(1, 9)])
    assert b"tier=" not in stranger.get("/boards/trial/").content


@pytest.mark.parametrize("address", ["/boards/trial/", "/boards/trial/?category=maths"])
@pytest.mark.parametrize(
    ("language", "said", "false"),
    [
        ("en", "a test of each pair tells one apart, and a new class begins", "whose intervals overlap"),
        ("de", "unterscheidet ein Test der Paare den nächsten von ihm", "deren Intervalle sich"),
    ],
)
def test_the_glossary_says_what_makes_a_class(
    filtered: Campaign, address: str, language: str, said: str, false: str
) -> None:
    page = words(Client(headers={"Accept-Language": language}).get(address))
    assert (said in page, false in page) == (True, False)
