"""The pages as a browser without scripts gets them: words, states, safety headers."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop
from evalsite.chatbots.models import Reply
from evalsite.judgments.models import Annotator, Assignment, Judgment, Skip
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from evalsite.pages import views
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import CampaignMaker, assignment_claim, empty_queue, judge, run_jobs
from tests.shared import shared

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\u200b end"


def words(response: object) -> str:
    """The visible text of a page, in one line."""
    text = response.content.decode()  # type: ignore[attr-defined]
    text = re.sub(r"(?s)<(script|style|svg).*?</\1>", " ", text)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def next_assignment(page: object) -> str:
    found = re.search(r'name="assignment" value="([0-9a-f-]{36})"', page.content.decode())  # type: ignore[attr-defined]
    assert found
    return found.group(1)


@shared
def three(make_campaign: CampaignMaker) -> None:
    """The boards alpha, beta and gamma."""
    for slug in ("alpha", "beta", "gamma"):
        make_campaign(slug=slug, chatbots=2, prompts=2)
    Board.objects.filter(slug="beta").update(name="Poems & songs")


class TestHome:
    def test_it_lists_the_public_boards_and_what_can_be_judged(self, campaign: Campaign, stranger: Client) -> None:
        page = stranger.get("/")
        assert b"/boards/trial/" in page.content
        assert b"/judge/trial/" in page.content

    @pytest.mark.parametrize("visibility", ["private", "link"])
    def test_it_does_not_tell_of_others(self, campaign: Campaign, stranger: Client, visibility: str) -> None:
        Campaign.objects.update(visibility=visibility)
        assert b"trial" not in stranger.get("/").content.lower()

    def boards(self, client: Client, **query: str) -> list[str]:
        page = client.get("/", query).content.decode()
        return re.findall(r'<h3><a href="/boards/([^/]+)/">', page)

    @pytest.mark.database
    def test_a_search_finds_boards_by_every_word_of_name_question_owner_or_chatbot(
        self, three: None, stranger: Client
    ) -> None:
        assert self.boards(stranger) == ["gamma", "beta", "alpha"]
        assert self.boards(stranger, q="POEMS songs") == ["beta"]
        assert self.boards(stranger, q="alpha bot 1") == ["alpha"], "a chatbot that takes part"
        assert self.boards(stranger, q="which reply alice") == ["gamma", "beta", "alpha"], "question and owner"
        assert self.boards(stranger, q="poems alpha") == []
        none = stranger.get("/", {"q": "<b>zebra"})
        assert "0 boards for “<b>zebra”. Show all boards" in words(none)
        assert "No board is public yet" not in words(none)

    def test_a_search_goes_by_its_first_words(self, three: None, stranger: Client) -> None:
        assert self.boards(stranger, q="alpha bot 1 which reply alice zebra") == ["alpha"]
        assert self.boards(stranger, q="alpha bot 1 which reply zebra") == []

    def test_a_search_finds_nothing_that_is_not_public(self, three: None, stranger: Client) -> None:
        for visibility in ("link", "private"):
            Campaign.objects.filter(slug="alpha").update(visibility=visibility)
            assert self.boards(stranger, q="alpha") == []
        Campaign.objects.filter(slug="beta").update(state="draft")
        assert self.boards(stranger, q="poems") == []

    def test_more_boards_than_one_page_holds_are_on_the_next(
        self, three: None, stranger: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(views, "SHOWN_ON_HOME", 2)
        first = stranger.get("/").content.decode()
        assert self.boards(stranger) == ["gamma", "beta"]
        assert 'href="/?page=2#boards-heading">Older ones' in first
        assert self.boards(stranger, page="2") == ["alpha"]
        assert self.boards(stranger, page="999") == ["alpha"]
        assert self.boards(stranger, page="x") == ["gamma", "beta"]
        assert 'href="/?q=reply&amp;page=2' in stranger.get("/", {"q": "reply"}).content.decode()

    def test_a_board_that_ranks_nobody_yet_tells_how_many_take_part(self, campaign: Campaign, stranger: Client) -> None:
        assert "4 chatbots 0 judgments" in words(stranger.get("/"))

    @pytest.mark.database
    def test_what_a_board_asks_for_and_its_limits_cost_no_queries_of_their_own(
        self, make_campaign: CampaignMaker, stranger: Client
    ) -> None:
        queries = []
        for slug in ("alpha", "beta", "gamma"):
            campaign = make_campaign(slug=slug, chatbots=2)
            judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
            run_jobs()
            with CaptureQueriesContext(connection) as asked:
                assert "target 0.05" in words(stranger.get("/")), "what its limits and its decision tell"
            queries.append([query["sql"] or "" for query in asked])  # psycopg keeps no text of one that it has prepared
        one, two, three = (len(each) for each in queries)
        assert three - two == two - one <= 9, "snapshot, decision, tally, who left, who takes part, who is new"
        for table in ("campaigns_stoppingspec", "campaigns_aspect", "adaptive_board_campaigns"):
            of_table = [sum(f'FROM "{table}"' in sql or f'JOIN "{table}"' in sql for sql in each) for each in queries]
            assert of_table[0] == of_table[2], table

    def test_few_boards_need_no_search(self, campaign: Campaign, stranger: Client) -> None:
        assert b'role="search"' not in stranger.get("/").content
        assert b'role="search"' in stranger.get("/", {"q": "trial"}).content


class TestBoard:
    def test_before_the_first_snapshot_it_says_that_nothing_is_ranked(
        self, campaign: Campaign, stranger: Client
    ) -> None:
        page = stranger.get("/boards/trial/")
        assert page.status_code == 200
        assert "collecting" in words(page)

    def test_it_shows_each_chatbot_with_rank_bounds_interval_and_judgments(
        self, campaign: Campaign, bob: Annotator, stranger: Client
    ) -> None:
        judge(campaign, bob, blocks=2)
        run_jobs()
        text = words(stranger.get("/boards/trial/"))
        for n in range(4):
            assert f"trial bot {n}" in text
        assert re.search(r"\d \(\d–\d\)", text), "rank with its bounds"
        assert re.search(r"[+−]?\d\.\d\d to [+−]?\d\.\d\d", text), "interval as text"
        assert "SE" in text
        assert "target 0.05" in text

    def test_its_live_part_costs_a_304_until_something_changes(
        self, campaign: Campaign, bob: Annotator, stranger: Client
    ) -> None:
        etag = stranger.get("/boards/trial/live/")["ETag"]
        same = stranger.get("/boards/trial/live/", headers={"If-None-Match": etag})
        assert (same.status_code, same.content) == (304, b"")
        judge(campaign, bob)
        changed = stranger.get("/boards/trial/live/", headers={"If-None-Match": etag})
        assert changed.status_code == 200
        assert "3" in words(changed)

    def test_stopped_board_without_a_ranking_says_that_it_comes(self, campaign: Campaign, stranger: Client) -> None:
        judge(campaign, annotator_enrol(campaign=campaign))
        campaign_stop(campaign=campaign, reason="the budget is spent")
        page = stranger.get("/boards/trial/").content.decode()
        assert "The campaign has stopped, and its ranking is being computed." in page

    def test_a_stopped_campaign_says_why(self, campaign: Campaign, stranger: Client) -> None:
        campaign_stop(campaign=campaign, reason="the budget is spent")
        assert "the budget is spent" in words(stranger.get("/boards/trial/"))

    def test_a_private_board_is_not_found_and_opens_for_its_owner(
        self, campaign: Campaign, alice: User, stranger: Client
    ) -> None:
        Campaign.objects.update(visibility="private")
        assert stranger.get("/boards/trial/").status_code == 404
        stranger.force_login(alice)
        assert stranger.get("/boards/trial/").status_code == 200


class TestJudging:
    def begin(self, client: Client) -> object:
        return client.post("/judge/trial/begin/", follow=True)

    def test_looking_at_the_page_takes_no_assignment(self, campaign: Campaign, stranger: Client) -> None:
        assert stranger.get("/judge/trial/").status_code == 200
        assert not Assignment.objects.filter(state=Assignment.State.ISSUED).exists()
        assert not Annotator.objects.exists()

    def test_after_beginning_it_shows_a_prompt_and_two_replies_and_no_name(
        self, campaign: Campaign, stranger: Client
    ) -> None:
        text = words(self.begin(stranger))
        assert "Question" in text
        assert "Reply A" in text
        assert "Reply B" in text
        assert "trial bot" not in text

    @pytest.mark.parametrize("choice", ["A", "tie", "B", "both_bad"])
    def test_each_button_records_its_verdict_and_moves_on(
        self, campaign: Campaign, stranger: Client, choice: str
    ) -> None:
        first = next_assignment(self.begin(stranger))
        page = stranger.post(
            "/judge/trial/answer/", {"assignment": first, "choice": choice, "client_ms": "1200"}, follow=True
        )
        assert next_assignment(page) != first
        judgment = Judgment.objects.get()
        assert judgment.client_ms == 1200
        expected = {"A": 0, "B": 1}.get(choice)
        answer = judgment.answers.get()
        assert (answer.candidate and answer.candidate.position) == expected

    def test_a_double_click_is_one_judgment(self, campaign: Campaign, stranger: Client) -> None:
        first = next_assignment(self.begin(stranger))
        for _ in range(2):
            stranger.post("/judge/trial/answer/", {"assignment": first, "choice": "A"})
        assert Judgment.objects.count() == 1

    def test_a_skip_keeps_its_reason(self, campaign: Campaign, stranger: Client) -> None:
        first = next_assignment(self.begin(stranger))
        stranger.post("/judge/trial/skip/", {"assignment": first, "reason": "other", "note": "in French"})
        skip = Skip.objects.get()
        assert (skip.reason, skip.note.text) == ("other", "in French")
        assert not Judgment.objects.exists()

    @pytest.mark.parametrize("form", [{}, {"assignment": "x"}, {"assignment": "0" * 8, "choice": "A"}, {"choice": "A"}])
    def test_a_form_that_was_tampered_with_is_a_designed_error(
        self, campaign: Campaign, stranger: Client, form: dict[str, str]
    ) -> None:
        self.begin(stranger)
        response = stranger.post("/judge/trial/answer/", form)
        assert response.status_code == 400
        assert "Reload the page" in words(response)

    def test_the_assignment_of_somebody_else_is_refused(
        self, campaign: Campaign, bob: Annotator, stranger: Client
    ) -> None:
        of_bob = assignment_claim(campaign=campaign, annotator=bob)[0]
        self.begin(stranger)
        form = {"assignment": str(of_bob.public_id), "choice": "A"}
        assert stranger.post("/judge/trial/answer/", form).status_code == 404
        assert not Judgment.objects.exists()

    def test_a_post_without_a_csrf_token_is_refused(self, campaign: Campaign) -> None:
        strict = Client(enforce_csrf_checks=True)
        assert strict.post("/judge/trial/begin/").status_code == 403
        assert not Annotator.objects.exists()

    def test_who_waits_gets_the_next_item_as_soon_as_there_is_one(self, campaign: Campaign, stranger: Client) -> None:
        empty_queue(campaign)
        assert "Nothing to judge right now" in words(self.begin(stranger))
        run_jobs()
        assert "Reply A" in words(self.begin(stranger))

    def test_get_never_answers_or_skips(self, campaign: Campaign, stranger: Client) -> None:
        for path in ("begin", "answer", "skip"):
            assert stranger.get(f"/judge/trial/{path}/").status_code == 405

    @pytest.mark.parametrize(
        ("state", "said"), [("stopped", "enough"), ("paused", "is paused"), ("running", "Nothing to judge right now")]
    )
    def test_every_state_without_work_has_its_words(
        self, campaign: Campaign, stranger: Client, state: str, said: str
    ) -> None:
        empty_queue(campaign)
        self.begin(stranger)
        if state == "stopped":
            campaign_stop(campaign=campaign, reason="enough")
        Campaign.objects.update(state=state)
        assert said in words(stranger.get("/judge/trial/"))


@shared
def ranked(campaign: Campaign, bob: Annotator) -> Campaign:
    """It has a board."""
    judge(campaign, bob, blocks=2)
    run_jobs()
    return campaign


class TestSafety:
    def test_text_of_chatbots_and_owners_is_shown_and_never_run(
        self, make_campaign: CampaignMaker, stranger: Client
    ) -> None:
        campaign = make_campaign(start=False, chatbots=2, prompts=1)
        Campaign.objects.update(name=HOSTILE, description=HOSTILE)
        prompt = Prompt.objects.create(
            prompt_set=campaign.prompt_set, key="h", turns=[{"speaker": "user", "text": HOSTILE}], origin="authored"
        )
        for number, entrant in enumerate(campaign.entrants.all()):
            Reply.objects.create(
                version=entrant.version, prompt=prompt, text=f"{number}{HOSTILE}", sha256=f"{number}", origin="file"
            )
        campaign.refresh_from_db()
        campaign_open(campaign=campaign)
        run_jobs()
        page = stranger.post("/judge/trial/begin/", follow=True)
        for response in (page, stranger.get("/boards/trial/"), stranger.get("/")):
            body = response.content.decode()
            assert "<script>alert" not in body
            assert "<img src=x" not in body
        assert "alert(1)" in words(page)

    @pytest.mark.parametrize(
        "path",
        [
            *("/", "/boards/trial/", "/boards/trial/charts/", "/boards/trial/charts/wins/", "/boards/trial/method/"),
            *("/boards/trial/embed/", "/boards/none/", "/judge/trial/", "/join/none/", "/me/"),
            *("/account/login/", "/account/sign-up/", "/account/password/", "/livez", "/api/v1/boards/trial"),
        ],
    )
    def test_no_page_has_a_script_or_a_style_within_it(self, ranked: Campaign, stranger: Client, path: str) -> None:
        response = stranger.get(path)
        body, policy = response.content.decode(), response["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert re.search(r"(^|; )script-src 'self'(;|$)", policy)
        assert [tag for tag in re.findall(r"<script[^>]*>", body) if not re.search(r'src="/static/[^"]+"', tag)] == []
        assert "<style" not in body
        shown = re.sub(r"(?s)<textarea.*?</textarea>", "", body)  # what is there to be copied
        assert re.findall(r"<[^>]+\s(?:style|on[a-z]+)=", shown) == []
        assert re.findall(r'(?:src|href|action)="(?:https?:)?//', shown) == [], "nothing from another host"

    @pytest.mark.parametrize("path", ["/", "/boards/trial/", "/judge/trial/", "/boards/none/", "/admin/login/"])
    def test_every_page_carries_the_strict_policy(self, campaign: Campaign, stranger: Client, path: str) -> None:
        policy = stranger.get(path)["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy

    def test_an_unknown_page_is_a_designed_404(self, db: None, stranger: Client) -> None:
        assert stranger.get("/nowhere/").status_code == 404


class TestHealth:
    def test_it_lives_and_is_ready(self, db: None, stranger: Client) -> None:
        assert stranger.get("/livez").json() == {"live": True}
        assert stranger.get("/readyz").json() == {"ready": True}


class TestStart:
    def test_it_begins_with_judging_and_a_sample_and_shows_what_boards_say(
        self, ranked: Campaign, stranger: Client
    ) -> None:
        text = words(page := stranger.get("/"))
        places = [text.index(part) for part in ("Log in", "Judge now", "Try one", "Public boards")]
        assert places == sorted(places)
        assert "told apart" in text or "leads" in text, "the headline of the board"
        assert page.content.decode().count('<rect x="') == 4, "a chart of its four chatbots"

    def test_ways_into_console_and_administration_are_for_those_who_have_them(
        self, campaign: Campaign, alice: User, stranger: Client
    ) -> None:
        assert not {"Console", "Administration"} & set(words(stranger.get("/")).split())
        stranger.force_login(alice)
        assert "Console" in words(stranger.get("/"))
        assert "Administration" not in words(stranger.get("/"))
        stranger.force_login(user_create(username="staff", password=None, staff=True))
        assert "Console Administration" in words(stranger.get("/"))
