"""The ranking for readers: parts with scales of their own, classes, sorting and searching that only cut."""

import re
from typing import Any, cast

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.boards.models import Board, Refit, Snapshot
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState, board_state_get
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.presentation.ranking import Cut, RankingPart, ranking_context
from evalsite.submissions.models import Submission
from tests.evalsite.pages.test_pages import words


def row(name: str, rank: int, **changes: Any) -> BoardRow:
    ability = 2.0 - 0.5 * rank
    given: dict[str, Any] = {
        "chatbot": f"00000000-0000-0000-0000-{rank:012}",
        "name": name,
        "organisation": "Acme",
        "kind": "static",
        "rank": rank,
        "rank_lower": rank,
        "rank_upper": rank,
        "ability": ability,
        "se": 0.1 + 0.01 * rank,
        "lower": ability - 0.3,
        "upper": ability + 0.3,
        "judgments": 100 * rank,
        "group": 1,
        "preliminary": False,
        "version": f"version-{name}",
        "version_label": "1",
        "rank_class": 1,
        "win_rate": 0.9 - 0.1 * rank,
    }
    return cast("BoardRow", given | changes)


def publish(campaign: Campaign, rows: list[BoardRow]) -> BoardState:
    """These rows as the campaign's board."""
    board = Board.objects.get(default_of=campaign)
    number = board.snapshots.count() + 1
    snapshot = Snapshot.objects.create(
        board=board,
        number=number,
        input_sha256=str(number),
        engine="test",
        seed=1,
        judgments=100,
        annotators=3,
        converged=True,
        seconds=0.1,
        rows=rows,
        posterior=b"",
    )
    Refit.objects.create(board=board, outcome=Refit.Outcome.PUBLISHED, snapshot=snapshot, started_at=timezone.now())
    return board_state_get(board)


def names(parts: list[RankingPart]) -> list[str]:
    return [shown.name for part in parts for shown in part.rows]


def parts(standing: BoardState, **query: str) -> list[RankingPart]:
    found: list[RankingPart] = ranking_context(standing, "trial", Cut.of(query))["parts"]
    return found


SAME = "00000000-0000-0000-0000-000000000007"
THREE = [
    row("Bee", 1, rank_upper=2, win_rate=0.5),
    row("ant", 2, rank_lower=1, win_rate=0.8),
    row("Cow", 3, organisation="Kestrel", rank_class=2, win_rate=None),
]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("rank", ["Bee", "ant", "Cow"]),
        ("name", ["ant", "Bee", "Cow"]),
        ("judgments", ["Cow", "ant", "Bee"]),
        ("win_rate", ["ant", "Bee", "Cow"]),
        ("se", ["Bee", "ant", "Cow"]),
        ("no-such-order", ["Bee", "ant", "Cow"]),
    ],
)
def test_a_reader_sorts_by_what_the_address_says(campaign: Campaign, sort: str, order: list[str]) -> None:
    assert names(parts(publish(campaign, THREE), sort=sort)) == order


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("ant", ["ant"]),
        ("KESTREL", ["Cow"]),
        ("cow kestrel", ["Cow"]),
        ("bee kestrel", []),
        ("  ", ["Bee", "ant", "Cow"]),
    ],
)
def test_a_search_looks_for_every_word_in_name_and_organisation(
    campaign: Campaign, search: str, found: list[str]
) -> None:
    assert names(parts(publish(campaign, THREE), q=search)) == found


def test_a_search_only_cuts_it_moves_no_whisker_and_changes_no_rank(campaign: Campaign) -> None:
    standing = publish(campaign, THREE)
    whole = {shown.name: shown for part in parts(standing) for shown in part.rows}
    [[cut]] = [part.rows for part in parts(standing, q="cow")]
    assert cut.whisker == whole["Cow"].whisker
    assert (cut.rank, cut.bounds) == (whole["Cow"].rank, whole["Cow"].bounds) == (3, "")


def test_ranks_are_written_with_their_bounds(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, THREE)
    assert re.search(r"class 1, rank 1 \(1–2\) Bee", words(stranger.get("/boards/trial/")))


def test_a_class_is_bracketed_from_its_first_to_its_last_row_in_the_order_of_ranks_only(campaign: Campaign) -> None:
    standing = publish(campaign, THREE)
    edges = [(shown.opens_class, shown.closes_class) for part in parts(standing) for shown in part.rows]
    assert edges == [(True, False), (False, True), (True, True)]
    by_name = [shown.rank_class for part in parts(standing, sort="name") for shown in part.rows]
    assert by_name == [None, None, None]


def test_an_organisation_that_is_the_same_for_all_stands_in_the_head_and_on_no_row(
    campaign: Campaign, stranger: Client
) -> None:
    publish(campaign, [row("Bee", 1), row("Ant", 2)])
    text = words(stranger.get("/boards/trial/"))
    assert "4 chatbots by Acme" in text
    assert text.count("Acme") == 1
    publish(campaign, THREE)
    text = words(stranger.get("/boards/trial/"))
    assert "by Acme" not in text
    assert (text.count("Acme"), text.count("Kestrel")) == (2, 1)


def test_kinds_and_versions_are_named_only_where_they_tell_rows_apart(campaign: Campaign) -> None:
    [alike] = parts(publish(campaign, [row("Bee", 1), row("Ant", 2)]))
    assert [shown.beside for shown in alike.rows] == [[], []]
    mixed = [row("Bee", 1, kind="live"), row("Bee", 2, version_label="2", preliminary=True)]
    [apart] = parts(publish(campaign, mixed))
    assert [shown.beside for shown in apart.rows] == [["1", "live"], ["2", "static"]]


def test_what_is_the_same_for_all_stands_in_the_head(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, [row("Bee", 1), row("Ant", 2)])
    assert "4 chatbots by Acme , all static" in words(stranger.get("/boards/trial/"))
    publish(campaign, [row("Bee", 1), row("Ant", 2, kind="live")])
    assert "all static" not in words(stranger.get("/boards/trial/"))


def test_every_row_has_a_status_and_where_there_are_tiers_a_tier(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, [row("Bee", 1, tier=1), row("Ant", 2, tier=2, preliminary=True)])
    page = words(stranger.get("/boards/trial/?columns=more"))
    assert re.search(r" Bee [^A-Z]* 100 1 established Acme class 1, rank 2 Ant [^A-Z]* 200 2 preliminary", page)
    publish(campaign, [row("Bee", 1, tier=None), row("Fox", 1, group=2, tier=None)])
    page = stranger.get("/boards/trial/?columns=more").content.decode()
    assert 'class="tier' not in page
    assert page.count('<td class="status" role="cell">established</td>') == 2


def test_more_columns_show_the_card_of_a_submission(campaign: Campaign, stranger: Client) -> None:
    entrant = campaign.entrants.select_related("version").order_by("pk")[0]
    publish(campaign, [row("Bee", 1, version=str(entrant.version.public_id)), row("Ant", 2)])
    card = {"licence": "apache-2.0", "price": "3 cents a reply"}
    named = {"name": "Bee", "label": "1", "kind": "file", "state": "joined", "card": card}
    Submission.objects.create(campaign=campaign, organisation=campaign.organisation, version=entrant.version, **named)
    brief, more = (words(stranger.get("/boards/trial/", {"columns": name})) for name in ("", "more"))
    assert re.search(r" Bee .* Acme \d+ \w+ \d{4} apache-2\.0 3 cents a reply .* Ant .* Acme – – – ", more)
    assert "apache-2.0" not in brief


def test_who_left_is_retired_where_another_version_stays_and_else_withdrawn(
    campaign: Campaign, stranger: Client
) -> None:
    first, second = Entrant.objects.select_related("version").order_by("pk")[:2]
    rows = [
        row("Bee", 1, chatbot=SAME, version=str(first.version.public_id), version_label="1"),
        row("Bee", 2, chatbot=SAME, version="later", version_label="2"),
        row("Ant", 3, version=str(second.version.public_id)),
    ]
    publish(campaign, rows)
    Entrant.objects.filter(pk__in=[first.pk, second.pk]).update(state="withdrawn", withdrawn_reason="its maker asked")
    context = ranking_context(board_state_get(Board.objects.get(default_of=campaign)), "trial", Cut())
    assert [(shown.status, shown.rank) for part in context["parts"] for shown in part.rows] == [("established", 1)]
    assert [(gone.status, gone.reason) for gone in context["withdrawn"]] == [
        ("retired", "its maker asked"),
        ("withdrawn", "its maker asked"),
    ]


def test_every_part_has_a_scale_of_its_own_and_the_page_says_so(campaign: Campaign, stranger: Client) -> None:
    rows = [row("Bee", 1), row("Ant", 2), row("Fox", 1, group=2, lower=-9.0, upper=9.0, ability=0.0)]
    first, second = parts(publish(campaign, rows))
    assert first.axis != second.axis
    assert second.axis.low < -9 < 9 < second.axis.high
    text = words(stranger.get("/boards/trial/"))
    assert "2 separate parts" in text
    assert "must not be compared across parts" in text


def test_a_withdrawn_chatbot_says_so_with_the_reason(campaign: Campaign, stranger: Client) -> None:
    entrant = Entrant.objects.select_related("version").order_by("pk")[0]
    rows = [row("Bee", 1, version=str(entrant.version.public_id)), row("Ant", 2)]
    publish(campaign, rows)
    stranger.get("/boards/trial/")
    Entrant.objects.filter(pk=entrant.pk).update(state="withdrawn", withdrawn_reason="its maker asked")
    text = words(stranger.get("/boards/trial/"))
    assert re.search(r" class 1, rank 1 Ant .* Withdrawn .* Bee withdrawn · its maker asked ", text), text
    text = words(stranger.get("/boards/trial/?columns=more"))
    assert re.search(r" class 1, rank 1 Ant .* established .* Bee withdrawn · its maker asked ", text), text
    assert "rank 2" not in text


def test_a_board_shows_five_columns_and_the_others_on_request(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, [row("Bee", 1, ability=0.75), row("Ant", 2, preliminary=True)])
    brief = stranger.get("/boards/trial/").content.decode()
    assert re.findall(r'<th class="(\w+)" role="columnheader"', brief) == [
        *("rank", "name", "drawn", "ability", "average", "judgments"),
    ]
    assert '<td class="average number" role="cell">68 %</td>' in brief
    assert "Ant preliminary" in words(stranger.get("/boards/trial/"))
    for query in ("?columns=more", "?sort=se"):
        more = stranger.get(f"/boards/trial/{query}").content.decode()
        assert all(f'<th class="{column}"' in more for column in ("interval", "se", "win_rate", "status"))
        assert "Fewer columns" in more


def test_a_snapshot_from_before_classes_and_win_rates_is_still_shown(campaign: Campaign, stranger: Client) -> None:
    old = [dict(each) for each in THREE]
    for each in old:
        for name in ("version", "version_label", "rank_class", "win_rate"):
            del each[name]
    publish(campaign, old)  # type: ignore[arg-type]
    for path in ("/", "charts/", "method/", f"chatbots/{THREE[0]['chatbot']}/"):
        assert stranger.get(f"/boards/trial/{path.lstrip('/')}").status_code == 200
    assert "No data for charts yet" in words(stranger.get("/boards/trial/charts/"))


def test_nothing_found_is_a_designed_state(campaign: Campaign, stranger: Client) -> None:
    publish(campaign, THREE)
    text = words(stranger.get("/boards/trial/", {"q": "<b>zebra"}))
    assert "None of the 3 chatbots on this board" in text
    assert "“<b>zebra”" in text


def test_the_whole_board_is_rendered_once_and_again_when_something_changes(
    campaign: Campaign, stranger: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalsite.presentation import ranking

    rendered: list[Cut] = []
    real = ranking.ranking_context

    def counted(standing: BoardState, key: str, cut: Cut) -> dict[str, Any]:
        rendered.append(cut)
        return real(standing, key, cut)

    monkeypatch.setattr(ranking, "ranking_context", counted)
    publish(campaign, THREE)
    for _ in range(3):
        stranger.get("/boards/trial/")
        stranger.get("/boards/trial/ranking/")
    assert len(rendered) == 1
    publish(campaign, [row("Newcomer", 1)])
    assert "Newcomer" in words(stranger.get("/boards/trial/"))
    assert len(rendered) == 2


def test_two_hundred_chatbots_cost_sixty_kilobytes_with_styles_and_scripts(
    campaign: Campaign, stranger: Client
) -> None:
    rows = [
        row(f"chatbot-of-some-length-{n}", n + 1, organisation=f"Organisation {n % 17}", ability=1 - n / 100)
        for n in range(200)
    ]
    publish(campaign, rows)
    page = stranger.get("/boards/trial/", headers={"Accept-Encoding": "gzip"})
    assert page["Content-Encoding"] == "gzip"
    files = set(
        re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css|ico))"', stranger.get("/boards/trial/").content.decode())
    )
    assert len(files) >= 5
    wire = len(page.content)
    for file in files:
        sent = stranger.get(file, headers={"Accept-Encoding": "gzip"})
        assert sent.status_code == 200
        wire += len(b"".join(sent)) if sent.streaming else len(sent.content)
    assert wire <= 60_000
