"""The public log of a board: what counts, once each, in a chain that survives the erasure of a person."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.models import Board, PublicLogContent, PublicLogEntry, PublicLogPseudonym
from evalsite.boards.public_log import log_append_now, log_is_kept, log_lines, public_log_request
from evalsite.boards.public_log_entries import MissingEntries, exposure
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.services import entrant_withdraw
from evalsite.core.hash_chain import ChainReport, chain_verify
from evalsite.judgments.batches import batch_close
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Annotator, Batch, Enrolment, Judgment
from evalsite.judgments.person_erasure import person_erase
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs
from tests.shared import shared

pytestmark = pytest.mark.database


def log_now(board: Board, campaign: Campaign) -> None:
    """Close the open batch and add what the log lacks, without a refit."""
    for batch in Batch.objects.filter(campaign=campaign, state=Batch.State.OPEN):
        batch_close(batch)
    missing = MissingEntries(board, campaign)
    with transaction.atomic():
        assert log_append_now(board, missing.entries(), tuple(missing.used))


@shared
def board(campaign: Campaign, bob: Annotator, dora: Annotator) -> Board:
    """A public board with judgments of two annotators, and its log."""
    for annotator in (bob, dora):
        judge(campaign, annotator, "A", blocks=2)
    log_now(campaign.default_board, campaign)
    return campaign.default_board


def contents(board: Board, kind: str) -> list[dict[str, Any]]:
    lines = [line for line in log_lines(board, with_judgments=True) if line["kind"] == kind]
    return [json.loads(line["content"]) for line in lines if line["content"]]


def verified(board: Board) -> ChainReport:
    return chain_verify(log_lines(board, with_judgments=True))


def judged(board: Board) -> list[dict[str, Any]]:
    return [one for content in contents(board, "judgments") for one in content["judgments"]]


def test_log_holds_each_closed_judgment_once(board: Board, campaign: Campaign) -> None:
    closed = Judgment.objects.filter(batch__campaign=campaign, batch__state="closed")
    assert sorted(one["id"] for one in judged(board)) == sorted(map(str, closed.values_list("public_id", flat=True)))
    assert all(one["answers"] == [["overall", "chosen", 0]] for one in judged(board))
    assert sum(one["judgments"] for one in contents(board, "batch")) == closed.count()
    assert len(contents(board, "version")) == 4
    assert verified(board).erased == ()
    assert MissingEntries(board, campaign).entries() == []


def test_worker_logs_the_snapshot_after_a_refit(board: Board) -> None:
    run_jobs()
    assert contents(board, "snapshot")[-1]["input_sha256"] == board.snapshots.latest().input_sha256
    assert verified(board).erased == ()


def test_pseudonyms_are_used_in_the_log_alone(board: Board, bob: Annotator, dora: Annotator) -> None:
    named = {content["annotator"] for content in contents(board, "judgments")}
    assert len(named) == 2
    assert not named & {str(bob.public_id), str(dora.public_id)}


def test_exclusions_and_withdrawals_are_logged(board: Board, campaign: Campaign, bob: Annotator, alice: User) -> None:
    annotator_exclude(campaign=campaign, annotator=bob, reason="asleep", by=alice)
    entrant = campaign.entrants.order_by("pk")[0]
    entrant_withdraw(campaign=campaign, entrant=entrant, reason="broken", by=alice)
    log_now(board, campaign)
    (excluded,) = contents(board, "exclusion")
    assert (excluded["reason"], excluded["by"], excluded["lifted"]) == ("asleep", "person", False)
    (withdrawn,) = contents(board, "withdrawal")
    assert withdrawn == {"version": str(entrant.version.public_id), "reason": "broken"}
    assert sum(exposure(campaign).values()) == 2 * len(judged(board))


def test_words_from_before_the_log_stay_untold(campaign: Campaign, bob: Annotator, alice: User) -> None:
    annotator_exclude(campaign=campaign, annotator=bob, reason="he is my neighbour", by=alice)
    missing = MissingEntries(campaign.default_board, campaign)
    missing.began = None
    told = [one.content["reason"] for one in missing.entries() if one.kind == PublicLogEntry.Kind.EXCLUSION]
    assert told == [None]


@pytest.mark.parametrize("promise", Onboarding.Erasure.values)
def test_erasure_leaves_a_gap_and_the_chain_verifies(
    board: Board, campaign: Campaign, dora: Annotator, promise: str
) -> None:
    name = str(PublicLogPseudonym.objects.get(board=board, annotator=dora).name)
    part = Enrolment.objects.get(campaign=campaign, annotator=dora)
    Enrolment.objects.filter(pk=part.pk).update(erasure=promise)
    own = PublicLogContent.objects.filter(annotator=dora).count()
    before = len(judged(board))
    theirs = Judgment.objects.filter(annotator=dora, batch__state="closed").count()
    person_erase(user=None, parts=[part])
    assert len(verified(board).erased) == own > 0
    log_now(board, campaign)
    assert len(verified(board).erased) == own
    assert not any(name in (line["content"] or "") for line in log_lines(board, with_judgments=True))
    kept = promise == Onboarding.Erasure.KEEP
    assert len(judged(board)) == (before if kept else before - theirs)
    (told,) = contents(board, "erasure")
    assert told == {"gaps": own, "restated": theirs if kept else 0}


def test_entry_made_before_an_erasure_is_not_added_after_it(board: Board, campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, "A", blocks=2)
    missing = MissingEntries(board, campaign)
    entries = missing.entries()
    person_erase(user=None, parts=[Enrolment.objects.get(campaign=campaign, annotator=bob)])
    with transaction.atomic():
        assert not log_append_now(board, entries, tuple(missing.used))


def test_database_refuses_changes_of_the_log(board: Board) -> None:
    for rows in (PublicLogEntry.objects.all(), PublicLogContent.objects.all()):
        with pytest.raises(IntegrityError), transaction.atomic():
            rows.delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        PublicLogEntry.objects.update(digest="0" * 64)
    with pytest.raises(IntegrityError), transaction.atomic():
        PublicLogContent.objects.update(content="{}")


@shared
def hidden(make_campaign: CampaignMaker) -> Board:
    """A board that was never public."""
    design = replace(OPEN, visibility=Campaign.Visibility.PRIVATE)
    return make_campaign(slug="hidden", design=design).default_board


def test_private_board_has_no_log(hidden: Board) -> None:
    assert not log_is_kept(hidden)
    public_log_request(hidden)
    run_jobs()
    assert not hidden.log_entries.exists()


def test_log_goes_on_when_the_board_ceases_to_be_public(board: Board, campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(visibility=Campaign.Visibility.PRIVATE)
    assert log_is_kept(board)


def test_judgments_are_withheld_where_data_is_not_released(board: Board) -> None:
    lines = list(log_lines(board, with_judgments=False))
    assert {line["kind"] for line in lines if line.get("withheld")} == {"judgments"}
    report = chain_verify(lines)
    assert report.withheld == len(contents(board, "judgments"))
    assert report.erased == ()


def test_readers_download_the_log_by_page_and_api(board: Board, client: Client) -> None:
    page, api = client.get("/boards/trial/data/log.jsonl"), client.get("/api/v1/boards/trial/log.jsonl")
    lines = [json.loads(line) for line in b"".join(page).splitlines()]
    assert lines == [json.loads(line) for line in b"".join(api).splitlines()]
    report = chain_verify(lines)
    assert report.withheld
    for address in ("/boards/trial/data/", "/boards/trial/method/"):
        assert report.head in client.get(address).content.decode()


def test_board_without_a_log_says_so(hidden: Board, client: Client) -> None:
    Campaign.objects.filter(slug="hidden").update(visibility=Campaign.Visibility.PUBLIC)
    assert client.get("/boards/hidden/data/log.jsonl").status_code == 404
    assert client.get("/api/v1/boards/hidden/log.jsonl").status_code == 404
