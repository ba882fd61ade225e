"""Charts, one chatbot, the method, badges: what they say agrees with the judgments, as pages and as files."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from html import unescape

import pytest
from django.test import Client

from evalsite.adaptive.models import Record, Snapshot
from evalsite.adaptive.selectors import board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Assignment, Exclusion, Judgment
from evalsite.judgments.selectors import accounting
from evalsite.judgments.services import assignment_claim
from evalsite.pages.badge import width
from evalsite.pages.figures import FIGURES, Material, material
from tests.evalsite.cast import judge, run_jobs
from tests.evalsite.pages.test_pages import HOSTILE, words


@pytest.fixture
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """The trial campaign after some judgments and several refits."""
    for _ in range(3):
        judge(campaign, bob)
        judge(campaign, dora, "tie")
        run_jobs()
    campaign.refresh_from_db()
    return campaign


def given(campaign: Campaign, start: int = 0) -> Material:
    found = material(board_state_get(campaign.default_board), "trial", start)
    assert found is not None
    return found


def rows_of(stranger: Client, slug: str) -> list[dict[str, str]]:
    body = stranger.get(f"/boards/trial/charts/{slug}.csv").content.decode()
    return list(csv.DictReader(io.StringIO(body)))


class TestCharts:
    def test_before_the_first_refit_there_is_nothing_to_draw(self, campaign: Campaign, stranger: Client) -> None:
        assert "Nothing to draw yet" in words(stranger.get("/boards/trial/charts/"))
        assert stranger.get("/boards/trial/charts/wins.csv").status_code == 404

    def test_every_figure_has_a_sentence_a_table_and_both_files(self, judged: Campaign, stranger: Client) -> None:
        page = stranger.get("/boards/trial/charts/").content.decode()
        for slug, build in FIGURES.items():
            figure = build(given(judged))
            assert f'id="{slug}"' in page
            assert figure.finding in unescape(page)
            assert figure.finding.endswith(".")
            assert f"/boards/trial/charts/{slug}.csv" in page
            body = stranger.get(f"/boards/trial/charts/{slug}.json").json()
            assert body["columns"] == figure.table.columns
            assert len(body["rows"]) == len(rows_of(stranger, slug)) == len(figure.table.rows) > 0
        assert page.count("<table") == len(FIGURES) + 2, "two of the figures are tables themselves"

    def test_an_unknown_figure_is_not_found(self, judged: Campaign, stranger: Client) -> None:
        assert stranger.get("/boards/trial/charts/pie.csv").status_code == 404

    def test_the_matrix_of_wins_tells_every_pair_from_both_sides(self, judged: Campaign) -> None:
        matrix = FIGURES["wins"](given(judged)).drawing
        for i, row in enumerate(matrix.rows):
            assert row.cells[i] is None
            for j, cell in enumerate(row.cells):
                other = matrix.rows[j].cells[i]
                assert (cell is None) == (other is None)
                if cell and other:
                    assert int(cell.text) + int(other.text) in {99, 100, 101}, "rounded"
                    assert (cell.level > 0) == (int(cell.text) > 50)

    def test_the_matrix_of_counts_adds_up_to_the_judgments(self, judged: Campaign, stranger: Client) -> None:
        snapshot = Snapshot.objects.latest()
        assert sum(int(row["judgments"]) for row in rows_of(stranger, "counts")) == snapshot.judgments
        matrix = FIGURES["counts"](given(judged)).drawing
        cells = [cell for row in matrix.rows for cell in row.cells if cell]
        assert sum(int(cell.text) for cell in cells) == 2 * snapshot.judgments

    def test_a_matrix_begins_where_the_address_says(self, judged: Campaign, stranger: Client) -> None:
        assert [row.rank for row in FIGURES["wins"](given(judged, start=2)).drawing.rows] == [3, 4]
        for start in ("1", "999", "0", "-4", "x", "9" * 30):
            assert stranger.get("/boards/trial/charts/", {"from": start}).status_code == 200

    def test_neighbours_are_compared_with_a_probability(self, judged: Campaign, stranger: Client) -> None:
        rows = rows_of(stranger, "differences")
        assert [row["higher"] for row in rows] == [row["name"] for row in Snapshot.objects.latest().rows[:-1]]
        for row in rows:
            assert float(row["lower_bound"]) < float(row["difference"]) < float(row["upper_bound"])
            assert 0.5 <= float(row["probability_of_order"]) <= 1

    def test_the_way_of_every_chatbot_ends_where_the_board_stands(self, judged: Campaign, stranger: Client) -> None:
        latest = Snapshot.objects.latest()
        assert latest.number > 1
        last = {row["chatbot"]: float(row["ability"]) for row in rows_of(stranger, "over_time")}
        assert last == pytest.approx({row["name"]: row["ability"] for row in latest.rows})
        panels = FIGURES["over_time"](given(judged)).drawing
        assert [panel.name for panel in panels.panels] == [row["name"] for row in latest.rows]
        assert {panel.dot[0] for panel in panels.panels} == {100.0}
        assert all(low > panel.dot[1] > high for panel in panels.panels for low, high in [panel.now]), "y goes down"

    def test_the_precision_is_the_largest_error_against_the_target(self, judged: Campaign, stranger: Client) -> None:
        row = rows_of(stranger, "precision")[-1]
        assert float(row["largest_se"]) == pytest.approx(max(row["se"] for row in Snapshot.objects.latest().rows))
        assert float(row["target"]) == 0.05

    def test_a_private_board_shows_no_chart_and_no_file(self, judged: Campaign, stranger: Client) -> None:
        Campaign.objects.update(visibility="private")
        chatbot = Chatbot.objects.all()[0].public_id
        for path in ("charts/", "charts/wins.csv", "charts/wins.json", "method/", "badge.svg", f"chatbots/{chatbot}/"):
            assert stranger.get(f"/boards/trial/{path}").status_code == 404, path


class TestChatbot:
    def test_it_tells_the_record_against_each_opponent(self, judged: Campaign, stranger: Client) -> None:
        snapshot = Snapshot.objects.latest()
        row = snapshot.rows[1]
        text = words(stranger.get(f"/boards/trial/chatbots/{row['chatbot']}/"))
        assert row["name"] in text
        votes = [tuple(map(int, each)) for each in re.findall(r"(\d+) won, (\d+) tied, (\d+) lost", text)]
        assert sum(map(sum, votes)) == row["judgments"]
        won, tied = sum(each[0] for each in votes), sum(each[1] for each in votes)
        assert (won + tied / 2) / row["judgments"] == pytest.approx(row["win_rate"])

    def test_a_chatbot_that_is_not_on_the_board_is_not_found(self, judged: Campaign, stranger: Client) -> None:
        assert stranger.get(f"/boards/trial/chatbots/{judged.public_id}/").status_code == 404

    def test_it_follows_the_board(self, judged: Campaign, bob: Annotator, stranger: Client) -> None:
        path = f"/boards/trial/chatbots/{Snapshot.objects.latest().rows[0]['chatbot']}/"
        before = words(stranger.get(path))
        assert words(stranger.get(path)) == before
        judge(judged, bob, "B", blocks=2)
        run_jobs()
        assert words(stranger.get(path)) != before

    def test_before_a_record_is_kept_it_says_when_it_comes(self, judged: Campaign, stranger: Client) -> None:
        Record.objects.all().delete()
        chatbot = Snapshot.objects.latest().rows[0]["chatbot"]
        assert "appears with the next refit" in words(stranger.get(f"/boards/trial/chatbots/{chatbot}/"))


class TestMethod:
    def test_every_judgment_is_accounted_for(self, judged: Campaign, bob: Annotator, dora: Annotator) -> None:
        first, second = Judgment.objects.filter(annotator=dora, batch__state="closed").order_by("pk")[:2]
        Assignment.objects.filter(judgments=first).update(purpose=Assignment.Purpose.GOLD)
        Exclusion.objects.create(campaign=judged, judgment=second, reason="slipped")
        judge(judged, bob)
        found = accounting([judged])
        assert found.recorded == Judgment.objects.count()
        assert (found.checks, found.excluded) == (1, 1)
        assert found.waiting == Judgment.objects.filter(batch__state="open").count() > 0
        parts = (found.superseded, found.waiting, found.checks, found.late, found.excluded, found.counted)
        assert sum(parts) == found.recorded

    def test_it_names_exclusions_skips_target_and_versions(
        self, judged: Campaign, dora: Annotator, stranger: Client
    ) -> None:
        for assignment in assignment_claim(campaign=judged, annotator=dora)[:2]:
            assignment_skip(annotator=dora, assignment_id=assignment.public_id, reason="broken", note="")
        Exclusion.objects.create(campaign=judged, annotator=dora, reason="always a tie")
        out = Judgment.objects.filter(annotator=dora, batch__state="closed").count()
        text = words(stranger.get("/boards/trial/method/"))
        assert f"Excluded by a decision on record −{out}" in text
        assert "a reply is missing or broken 2" in text
        assert "standard error is at most 0.05" in text
        snapshot = Snapshot.objects.latest()
        assert snapshot.input_sha256 in text
        assert f"engine {snapshot.engine}" in text

    def test_before_the_first_snapshot_it_says_so(self, campaign: Campaign, stranger: Client) -> None:
        assert "There is no snapshot yet" in words(stranger.get("/boards/trial/method/"))


class TestSharing:
    def test_badges_are_wellformed_pictures_of_the_board_and_of_a_chatbot(
        self, judged: Campaign, stranger: Client
    ) -> None:
        row = Snapshot.objects.latest().rows[0]
        for path, said in (("badge.svg", "Trial"), (f"chatbots/{row['chatbot']}/badge.svg", "rank 1")):
            response = stranger.get(f"/boards/trial/{path}")
            assert response["Content-Type"] == "image/svg+xml"
            picture = ElementTree.fromstring(response.content)  # noqa: S314  our own picture
            assert said in "".join(picture.itertext())
            assert int(picture.attrib["width"]) > 40

    def test_a_browser_finds_an_icon_where_it_looks_for_one(self, db: None, stranger: Client) -> None:
        icon = stranger.get("/favicon.ico", follow=True)
        assert icon.status_code == 200
        assert b"".join(icon).startswith(b"\x00\x00\x01\x00"), "the signature of an icon file"

    def test_a_longer_text_has_a_wider_badge(self) -> None:
        assert width("") == 0
        assert width("iii") < width("aaa") < width("WWW")

    def test_hostile_names_are_harmless_on_every_page_and_in_every_file(
        self, judged: Campaign, bob: Annotator, stranger: Client
    ) -> None:
        Chatbot.objects.filter(name="trial bot 1").update(name=HOSTILE)
        Chatbot.objects.filter(name="trial bot 2").update(name='=HYPERLINK("http://a","b")')
        judge(judged, bob, blocks=2)
        run_jobs()
        row = next(row for row in Snapshot.objects.latest().rows if row["name"] == HOSTILE)
        page = f"chatbots/{row['chatbot']}/"
        for path in ("", "charts/", "method/", page, f"{page}badge.svg", "badge.svg", "?q=<script>alert(1)</script>"):
            body = stranger.get(f"/boards/trial/{path}").content.decode()
            assert "<script>alert" not in body, path
            assert "<img src=x" not in body, path
        ElementTree.fromstring(stranger.get(f"/boards/trial/{page}badge.svg").content)  # noqa: S314  our own
        for slug in FIGURES:
            text = stranger.get(f"/boards/trial/charts/{slug}.csv").content.decode()
            cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
            assert not [cell for cell in cells if cell.startswith(("=", "@"))]
            json.loads(stranger.get(f"/boards/trial/charts/{slug}.json").content)

    def test_a_shared_link_has_a_preview(self, judged: Campaign, stranger: Client) -> None:
        page = stranger.get("/boards/trial/").content.decode()
        assert '<meta property="og:title" content="Trial">' in page
        assert re.search(r'property="og:description" content="[^"]{10,}"', page)
        assert 'property="og:url" content="http://testserver/boards/trial/"' in page
        picture = re.search(r'property="og:image" content="http://testserver([^"]+)"', page)
        assert picture
        assert stranger.get(picture.group(1)).status_code == 200
