"""Charts, one chatbot, the method, badges: what they say agrees with the judgments, as pages and as files."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html import unescape

import pytest
from django.conf import settings
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.events import events_of
from evalsite.boards.models import BoardChartData, Snapshot
from evalsite.boards.selectors import board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_pause, campaign_resume, entrant_withdraw
from evalsite.chatbots.models import Chatbot
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Assignment, Exclusion, Judgment
from evalsite.judgments.selectors import accounting
from evalsite.judgments.services import annotator_enrol
from evalsite.pages.badge import width
from evalsite.presentation.figures import FIGURES, FigureInput, figure_input
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_jobs
from tests.evalsite.pages.test_pages import HOSTILE, words
from tests.evalsite.presentation.test_ranking import publish
from tests.evalsite.presentation.test_ranking import row as board_row
from tests.shared import shared


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """The trial campaign after some judgments and several refits."""
    for _ in range(3):
        judge(campaign, bob)
        judge(campaign, dora, "tie")
        run_jobs()
    campaign.refresh_from_db()
    return campaign


def given(campaign: Campaign, start: int = 0) -> FigureInput:
    found = figure_input(board_state_get(campaign.default_board), "trial", start)
    assert found is not None
    return found


def rows_of(stranger: Client, slug: str) -> list[dict[str, str]]:
    body = stranger.get(f"/boards/trial/charts/{slug}.csv").content.decode()
    return list(csv.DictReader(io.StringIO(body)))


class TestCharts:
    def test_before_the_first_refit_there_is_nothing_to_draw(self, campaign: Campaign, stranger: Client) -> None:
        assert "No data for charts yet" in words(stranger.get("/boards/trial/charts/"))
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
        assert page.count("<table") == len(FIGURES), "the two that are tables of many cells are loaded apart"

    @pytest.mark.parametrize("slug", ["wins", "counts"])
    def test_a_matrix_is_loaded_apart_and_is_a_page_of_its_own_where_nothing_loads(
        self, judged: Campaign, stranger: Client, slug: str
    ) -> None:
        page = stranger.get("/boards/trial/charts/").content.decode()
        assert 'class="matrix"' not in page
        own, part = f"/boards/trial/charts/{slug}/", f"/boards/trial/charts/{slug}/part/"
        assert f'hx-get="{part}"' in page
        assert f'href="{own}"' in page
        loaded, whole = (stranger.get(path).content.decode() for path in (part, own))
        assert loaded.startswith("<figure")
        assert loaded.count('class="matrix"') == whole.count('class="matrix"') == 1
        assert "<html" in whole
        assert "hx-get" not in whole

    def test_a_chart_that_there_is_not_is_not_found(self, judged: Campaign, stranger: Client) -> None:
        for path in ("pie/", "pie/part/"):
            assert stranger.get(f"/boards/trial/charts/{path}").status_code == 404
        Campaign.objects.update(visibility="private")
        for path in ("wins/", "wins/part/"):
            assert stranger.get(f"/boards/trial/charts/{path}").status_code == 404

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
        assert [row.rank for row in FIGURES["wins"](given(judged, start=2)).drawing.rows] == ["3", "4"]
        for start in ("1", "999", "0", "-4", "x", "9" * 30):
            assert stranger.get("/boards/trial/charts/wins/", {"from": start}).status_code == 200
        third = words(stranger.get("/boards/trial/charts/wins/", {"from": "3"}))
        assert Snapshot.objects.latest().rows[0]["name"] not in third[third.index("Wins by pair") :].split("Data")[0]

    def test_of_a_large_board_forty_chatbots_are_in_a_matrix_at_a_time(
        self, campaign: Campaign, stranger: Client
    ) -> None:
        snapshot = publish(campaign, [board_row(f"bot {n}", n) for n in range(1, 91)]).snapshot
        pairs = [[n, n + 1, 3, 1, 2, 0.5, 0.1, 0.2, 0.9] for n in range(89)]
        assert snapshot
        BoardChartData.objects.create(board=campaign.default_board, snapshot=snapshot, pairs=pairs, fit={})
        page = stranger.get("/boards/trial/charts/counts/").content.decode()
        assert [len(page.split('<table class="matrix">')[1].split("</table>")[0].split("<tr>")) - 2] == [40]
        assert [f"{a}–{b}" in page for a, b in ((1, 40), (41, 80), (81, 90))] == [True] * 3
        last = words(stranger.get("/boards/trial/charts/counts/", {"from": "81"}))
        assert "bot 81 81 bot 82" not in last
        assert "bot 90" in last
        assert "bot 80" not in last.split("Data table")[0].split("at most")[1]

    def test_neighbours_are_compared_with_a_probability(self, judged: Campaign, stranger: Client) -> None:
        rows = rows_of(stranger, "differences")
        assert [row["higher"] for row in rows] == [row["name"] for row in Snapshot.objects.latest().rows[:-1]]
        for row in rows:
            assert float(row["lower_bound"]) < float(row["difference"]) < float(row["upper_bound"])
            assert 0.5 <= float(row["probability_of_order"]) <= 1
            assert row["different"] in {"yes", "no"}

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

    def test_what_asking_at_random_would_have_cost_is_said_drawn_and_in_the_data(
        self, judged: Campaign, stranger: Client
    ) -> None:
        record = BoardChartData.objects.get(board=judged.default_board)
        latest = Snapshot.objects.latest()
        largest = max(row["se"] for row in latest.rows)
        course = record.fit["at_random"]
        assert course, "the refit has worked it out"
        assert [n for n, _se in course] == sorted(n for n, _se in course)
        record.fit["at_random"] = [[1, 3.0], [latest.judgments, largest * 1.02], [2 * latest.judgments, largest]]
        record.save()
        figure = FIGURES["precision"](given(judged))
        cost = 2 * latest.judgments
        assert f"Asking at random would have taken about {cost} judgments for this, 200 % of these." in figure.finding
        assert figure.drawing.at_random.startswith("M")
        at_now = float(rows_of(stranger, "precision")[-1]["largest_se_at_random"])
        assert at_now == pytest.approx(1.02 * largest)
        assert "at random" in stranger.get("/boards/trial/charts/").content.decode()
        del record.fit["at_random"]
        record.save()
        assert "random" not in FIGURES["precision"](given(judged)).finding, "of earlier releases"

    def test_the_forecast_waits_for_the_decision_of_its_snapshot(self, judged: Campaign) -> None:
        board_state = board_state_get(judged.default_board)
        found = given(judged)
        earlier = Snapshot.objects.filter(board=judged.default_board).earliest("pk")
        assert board_state.decision is not None
        board_state.decision.evidence |= {"judgments_to_go": 1234.0, "out_of_reach": 0.0}
        decided = FIGURES["precision"](replace(found, board_state=board_state)).finding
        board_state.decision.snapshot = earlier
        waiting = FIGURES["precision"](replace(found, board_state=board_state)).finding
        assert ("1,234 judgments to go" in decided, "to go" in waiting) == (True, False)

    def test_nothing_is_compared_with_a_campaign_that_asks_at_random(self, make_campaign: CampaignMaker) -> None:
        campaign = make_campaign(design=replace(OPEN, policy="random"))
        judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
        run_jobs()
        assert BoardChartData.objects.get(board=campaign.default_board).fit["at_random"] == []

    def test_events_stand_on_the_course_where_they_happened(
        self, judged: Campaign, alice: User, bob: Annotator, dora: Annotator, stranger: Client
    ) -> None:
        before = Snapshot.objects.latest()
        entrant = judged.entrants.select_related("version__chatbot").order_by("pk")[0]
        entrant_withdraw(campaign=judged, entrant=entrant, reason="its maker asked", by=alice)
        campaign_pause(campaign=judged, by=alice)
        campaign_resume(campaign=Campaign.objects.get(), by=alice)
        annotator_exclude(campaign=judged, annotator=dora, reason="a secret reason", by=alice)
        run_jobs()
        judge(judged, bob, blocks=2)
        run_jobs()
        drawing = FIGURES["over_time"](given(Campaign.objects.get())).drawing
        said = [(mark.words, mark.when) for mark in drawing.events]
        gone = f"{entrant.name} {entrant.version.label} withdrawn"
        at = str(before.judgments)
        assert said == [(gone, at), ("paused", at), ("went on", at), ("1 annotator left out", at)]
        assert len({mark.x for mark in drawing.events}) == 1
        page = words(stranger.get("/boards/trial/charts/"))
        assert f"{gone} , after {at} judgments" in page
        assert "a secret reason" not in page
        told = {row["snapshot"]: row["events_after"] for row in rows_of(stranger, "over_time")}
        assert told[str(before.number)] == f"{gone}; paused; went on; 1 annotator left out"
        chatbot = Snapshot.objects.latest().rows[0]["chatbot"]
        assert gone in words(stranger.get(f"/boards/trial/chatbots/{chatbot}/"))

    def test_another_engine_is_an_event(self, judged: Campaign) -> None:
        first = Snapshot.objects.order_by("number")[0]
        moments = [replace(moment, engine="0.1") if moment.number == 1 else moment for moment in given(judged).moments]
        [event] = [each for each in events_of(judged.default_board, moments) if each.what == "engine"]
        assert (event.moment, event.names) == (0, (first.engine,))

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
        BoardChartData.objects.all().delete()
        chatbot = Snapshot.objects.latest().rows[0]["chatbot"]
        assert "appears with the next update of the board" in words(stranger.get(f"/boards/trial/chatbots/{chatbot}/"))


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

    def test_it_says_how_much_rests_on_a_few_annotators(self, judged: Campaign, stranger: Client) -> None:
        record = BoardChartData.objects.get(board=judged.default_board)
        first, second = record.snapshot.rows[:2]
        swaps = [[first["version"], second["version"]]]
        found = {"dropped": 5, "annotators": 40, "shift": -0.31, "shift_se": -2.14, "swaps": swaps}
        record.fit |= {"sensitivity": {**found, "version": first["version"]}}
        record.save()
        text = words(stranger.get("/boards/trial/method/"))
        assert "Without the 5 of 40 annotators" in text
        assert f"The ability of {first['name']} depends" in text
        assert "change by about −0.31, which is 2.1 standard errors" in text
        assert f"{first['name']} – {second['name']}" in text

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
        Chatbot.objects.filter(name="trial bot 3").update(name="\uff1dSUM(A1)")
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
            assert not [cell for cell in cells if cell.startswith(("=", "@", "\uff1d"))]
            json.loads(stranger.get(f"/boards/trial/charts/{slug}.json").content)

    def test_a_shared_link_has_a_preview(self, judged: Campaign, stranger: Client) -> None:
        page = stranger.get("/boards/trial/").content.decode()
        assert '<meta property="og:title" content="Trial">' in page
        assert re.search(r'property="og:description" content="[^"]{10,}"', page)
        assert f'property="og:url" content="{settings.SITE_URL}/boards/trial/"' in page
        picture = re.search(rf'property="og:image" content="{settings.SITE_URL}([^"]+)"', page)
        assert picture
        assert stranger.get(picture.group(1)).status_code == 200
