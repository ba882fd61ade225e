"""Two chatbots that reply with the same text: nobody is asked, and everybody is told."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.models import Board, Snapshot
from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import chart_data_get
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, text_sha256, version_create
from evalsite.exchange.board_verification import board_verify
from evalsite.exchange.file_ranking import table_of
from evalsite.exchange.vote_file import read_votes
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.selectors import CountedVote, votes_counted
from evalsite.judgments.services import annotator_enrol, enrolment_make
from evalsite.operations.services import campaign_open
from evalsite.prompts.services import NewPrompt, prompt_set_create
from evalsite.refits.findings import input_without
from evalsite.refits.known_ties import by_version, known_ties, ties_fitted
from evalsite.refits.mapping import fit_input, input_mark, input_of
from irt_engine import Posterior
from scheduler.estimator import estimate
from tests.evalsite.api.client import Api
from tests.evalsite.cast import OPEN, by_number, judge_as, run_only_refits
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

# Who says what to p0, p1 and p2. Anna and Bert agree twice, all three once; on p3 each says something of their own.
SAID = {"Anna": ("yes", "no", "so"), "Bert": ("yes", "no", "so"), "Cleo": ("maybe", "never", "so")}


def opened(organisation: Organisation, slug: str, **design: Any) -> Campaign:
    prompts = [
        NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "odd" if n % 2 else "even")
        for n in range(4)
    ]
    prompt_set = prompt_set_create(organisation=organisation, name=slug, prompts=prompts)
    wanted = replace(OPEN, batch_size=7, **design)
    campaign = campaign_create(
        organisation=organisation, name=slug.title(), slug=slug, prompt_set=prompt_set, design=wanted
    )
    for name, said in SAID.items():
        version = version_create(chatbot=chatbot_create(organisation=organisation, name=f"{name} {slug}"))
        texts = (*said, f"{name} knows.")
        replies = dict(zip(prompt_set.prompts.order_by("pk"), texts, strict=True))
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    run_only_refits()
    return campaign


def judge_all(campaign: Campaign) -> Campaign:
    """Everything that can be asked is answered: the first to join is better."""
    bob: Annotator = annotator_enrol(campaign=campaign)
    for _ in range(4):
        judge_as(campaign, bob, by_number)
        run_only_refits()
    return campaign


@shared
def alike(organisation: Organisation) -> Campaign:
    return opened(organisation, "alike")


@shared
def judged(alike: Campaign) -> Campaign:
    return judge_all(alike)


@shared
def fitted(organisation: Organisation) -> Campaign:
    """The same, where known ties belong in the fit."""
    return judge_all(opened(organisation, "fitted", fits_known_ties=True))


def corrected(campaign: Campaign) -> None:
    """Anna says something else on p0 than Bert does."""
    old = Reply.objects.get(version=campaign.entrants.earliest("pk").version, prompt__key="p0")
    text = "I was wrong."
    said = {"text": text, "sha256": text_sha256(text), "origin": old.origin}
    Reply.objects.create(version=old.version, prompt=old.prompt, revision=2, corrects=old, **said)


def rows_of(campaign: Campaign) -> dict[str, BoardRow]:
    """Anna, Bert and Cleo on the campaign's newest board."""
    board = board_default(campaign=campaign)
    return {row["name"].split()[0]: row for row in board.snapshots.latest().rows}


def test_they_are_counted_by_pair_and_by_chatbot(alike: Campaign) -> None:
    anna, bert, cleo = alike.entrants.order_by("pk").values_list("version_id", flat=True)
    found = known_ties(board_default(campaign=alike), [anna, bert, cleo])
    assert found == {(anna, bert): 3, (anna, cleo): 1, (bert, cleo): 1}
    assert by_version(found) == {anna: 4, bert: 4, cleo: 2}
    assert known_ties(board_default(campaign=alike), [anna, cleo]) == {(anna, cleo): 1}


def test_a_board_of_one_category_has_those_of_its_prompts(alike: Campaign) -> None:
    anna, bert, _ = alike.entrants.order_by("pk").values_list("version_id", flat=True)
    board = Board(pk=board_default(campaign=alike).pk, category="odd")
    assert known_ties(board, [anna, bert]) == {(anna, bert): 1}


def test_nobody_is_asked_and_win_rates_have_them(judged: Campaign) -> None:
    items = set(Assignment.objects.exclude(annotator=None).values_list("item", flat=True))
    assert len(items) == Snapshot.objects.latest().judgments == 7, "of twelve, five are known"
    by_name = rows_of(judged)
    votes = {"Anna": (4, 4), "Bert": (3, 4), "Cleo": (0, 6)}  # won of judged, without the known ties
    assert {name: row["known_ties"] for name, row in by_name.items()} == {"Anna": 4, "Bert": 4, "Cleo": 2}
    assert {name: row["judgments"] for name, row in by_name.items()} == {name: of for name, (_, of) in votes.items()}
    for name, (won, of) in votes.items():
        known = by_name[name]["known_ties"]
        assert by_name[name]["win_rate"] == pytest.approx((won + known / 2) / (of + known))


def test_the_pairs_have_their_own(judged: Campaign) -> None:
    record = chart_data_get(Snapshot.objects.latest())
    assert record is not None
    assert [(pair.judgments, pair.known) for pair in record.pairs] == [(1, 3), (3, 1), (3, 1)]
    first = record.pairs[0]
    assert first.win_rate == pytest.approx((1 + 1.5) / 4)
    assert first.turned().win_rate == pytest.approx(1.5 / 4)


def test_pages_and_the_api_tell_how_many(judged: Campaign, stranger: Client) -> None:
    anna = Snapshot.objects.latest().rows[0]
    page = words(stranger.get(f"/boards/alike/chatbots/{anna['chatbot']}/"))
    assert "Known ties 4" in page
    assert "and 3 known ties" in page
    assert "5 times two of these chatbots gave the same reply" in words(stranger.get("/boards/alike/method/"))
    row = stranger.get("/api/v1/boards/alike").json()["chatbots"][0]
    assert (row["name"], row["known_ties"]) == ("Anna alike", 4)
    figures = stranger.get("/boards/alike/charts/wins.csv").content.decode()
    assert figures.splitlines()[0].endswith("win_fraction,known_ties")


def test_a_board_with_them_is_verified_from_its_export(judged: Campaign, alice: User, tmp_path: Path) -> None:
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(api.get("/api/v1/campaigns/alike/judgments.jsonl").getvalue())
    assert board_verify(board=board_default(campaign=judged), path=file).same


def test_a_campaign_that_wants_them_in_its_fit_has_them_there_and_counts_no_judgment_more(
    judged: Campaign, fitted: Campaign
) -> None:
    alone, within = (board_default(campaign=one).snapshots.latest() for one in (judged, fitted))
    assert (alone.judgments, within.judgments) == (7, 7)
    assert (alone.annotators, within.annotators) == (1, 1)
    one, other = rows_of(judged), rows_of(fitted)
    for name in one:
        for same in ("judgments", "known_ties", "win_rate"):
            assert one[name][same] == other[name][same]
    votes = [Posterior.from_bytes(bytes(one.posterior)).judgments for one in (alone, within)]
    assert votes == [7, 7 + 5]


def test_ties_in_the_fit_draw_two_together(fitted: Campaign) -> None:
    given = fit_input(board_default(campaign=fitted))
    anna, bert, _ = map(str, fitted.entrants.order_by("pk").values_list("version_id", flat=True))
    alone, within = (estimate(one.table(), seed=one.seed) for one in (replace(given, ties=()), given))
    assert 0 < within.difference(bert, anna).mean < 0.6 * alone.difference(bert, anna).mean
    rows = rows_of(fitted)
    shown = rows["Anna"]["ability"] - rows["Bert"]["ability"]
    assert shown == pytest.approx(within.difference(bert, anna).mean, abs=1e-9)


def test_its_input_is_another_whenever_replies_are(fitted: Campaign) -> None:
    board = board_default(campaign=fitted)
    before, mark = fit_input(board), input_mark(board)
    assert len(before.ties) == 5
    corrected(fitted)
    after = fit_input(board)
    assert len(after.ties) == 4
    assert after.sha256 != before.sha256
    assert input_mark(board) != mark


def test_where_no_campaign_wants_them_the_input_is_the_votes_alone(alike: Campaign) -> None:
    board = board_default(campaign=alike)
    mark = input_mark(board)
    corrected(alike)
    assert (fit_input(board).ties, input_mark(board)) == ([], mark)


def test_who_was_never_judged_is_ranked_by_no_tie(organisation: Organisation) -> None:
    campaign = opened(organisation, "unjudged", fits_known_ties=True)
    anna, bert, cleo = campaign.entrants.order_by("pk").values_list("version_id", flat=True)
    assert ties_fitted([campaign], {anna, bert}) == [
        CountedVote(anna, bert, prompt, None, 0, False)
        for prompt in campaign.prompt_set.prompts.exclude(key="p3").order_by("pk").values_list("pk", flat=True)
    ]
    assert len(ties_fitted([campaign], {anna, bert, cleo}, category="odd")) == 1
    assert ties_fitted([campaign, campaign], {anna, cleo}) == ties_fitted([campaign], {anna, cleo})
    board = board_default(campaign=campaign)
    assert fit_input(board).ties == []
    assert board.snapshots.count() == 0, "no judgment, no board"


def test_boards_of_a_category_have_those_of_its_prompts_in_their_fit(fitted: Campaign) -> None:
    votes = votes_counted([fitted], board_default(campaign=fitted).aspect)
    assert len(input_of(votes, [fitted], "even").ties) == 4
    assert len(input_of(votes, [fitted], "odd").ties) == 1


def test_leaving_an_annotator_out_leaves_out_the_ties_of_whom_nobody_else_judged(fitted: Campaign) -> None:
    eve = enrolment_make(campaign=fitted, annotator=None, user=None).annotator
    anna, bert, cleo = fitted.entrants.order_by("pk").values_list("version_id", flat=True)
    given = fit_input(board_default(campaign=fitted))
    of_eve = [vote._replace(annotator=eve.pk) if anna in vote[:2] else vote for vote in given.votes]
    left = input_without(replace(given, votes=of_eve), eve.pk)
    assert {(tie.first_version, tie.second_version) for tie in left.ties} == {(bert, cleo)}
    assert {vote.annotator for vote in left.votes}.isdisjoint({eve.pk})


def test_a_board_that_fits_them_is_verified_and_had_again_from_two_files(
    fitted: Campaign, alice: User, stranger: Client, tmp_path: Path
) -> None:
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    judgments, ties = (
        api.get(f"/api/v1/campaigns/fitted/{name}.jsonl").getvalue() for name in ("judgments", "known_ties")
    )
    assert [json.loads(line)["note"] for line in ties.splitlines()] == ["same_output"] * 5
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(judgments)
    board = board_default(campaign=fitted)
    assert board_verify(board=board, path=file).same
    both = tmp_path / "both.jsonl"
    both.write_bytes(judgments + ties)
    again = estimate(table_of(read_votes(both)), seed=fitted.seed)
    rows = {row["name"]: row for row in board.snapshots.latest().rows}
    for name, ability, se in zip(again.chatbots, again.ability, again.se, strict=True):
        assert (rows[name]["ability"], rows[name]["se"]) == pytest.approx((ability, se), abs=1e-9)
    assert len(read_votes(both, without=[("note", "same_output")])) == 7
    assert api.get("/api/v1/campaigns/fitted").json()["fits_known_ties"] is True
    assert stranger.get("/api/v1/campaigns/fitted/known_ties.jsonl").status_code == 403


def test_the_page_on_method_says_which(judged: Campaign, fitted: Campaign, stranger: Client) -> None:
    assert "abilities do not use it" in words(stranger.get("/boards/alike/method/"))
    page = words(stranger.get("/boards/fitted/method/"))
    assert "Abilities use it like a judged tie" in page
    assert "Ties 0 0 %" in page, "of those that people gave"
