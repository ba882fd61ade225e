"""What annotators say beside their judgments and skips: its owner reads it in the console, in files and by the API."""

import csv
import io
import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.permissions import Act
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import judgment_record
from evalsite.operations.actions import ActionArguments, act_perform
from tests.evalsite.api.client import error_of
from tests.evalsite.cast import assignment_claim
from tests.shared import shared

TRIAL = "/api/v1/campaigns/trial"
COMMENT, NOTE = "B invents a reference <b>", "I do not read Basque <b>"


@dataclass(frozen=True)
class Told:
    """A judgment with words, one without, two skips."""

    explained: Assignment
    silent: Assignment
    skipped: Assignment
    passed: Assignment


@shared
def told(campaign: Campaign, bob: Annotator) -> Told:
    onboarding_set(campaign=campaign, comments=True, reasons=["clear", "correct"])
    explained, skipped, passed = assignment_claim(campaign=campaign, annotator=bob)
    judgment_record(
        annotator=bob,
        assignment_id=explained.public_id,
        choices={"overall": "A"},
        comment=COMMENT,
        reasons=["clear", "correct"],
    )
    assignment_skip(annotator=bob, assignment_id=skipped.public_id, reason="cannot_judge", note=NOTE)
    assignment_skip(annotator=bob, assignment_id=passed.public_id, reason="broken")
    silent, *_others = assignment_claim(campaign=campaign, annotator=bob)
    judgment_record(annotator=bob, assignment_id=silent.public_id, choices={"overall": "A"})
    return Told(explained, silent, skipped, passed)


def rows_of(client: Client, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(path).json()["results"]
    return found


def file_of(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return response.getvalue().decode()


def test_api_lists_reasons_and_comments_of_judgments(owner: Client, told: Told) -> None:
    rows = {row["assignment"]: row for row in rows_of(owner, f"{TRIAL}/judgments?counted=any")}
    explained, silent = rows[str(told.explained.public_id)], rows[str(told.silent.public_id)]
    assert (explained["reasons"], explained["comment"]) == (["clear", "correct"], COMMENT)
    assert (silent["reasons"], silent["comment"]) == ([], "")


@pytest.mark.parametrize("explained", [True, False])
def test_judgments_are_chosen_by_whether_they_are_explained(owner: Client, told: Told, explained: bool) -> None:
    found = rows_of(owner, f"{TRIAL}/judgments?counted=any&explained={str(explained).lower()}")
    wanted = told.explained if explained else told.silent
    assert [row["assignment"] for row in found] == [str(wanted.public_id)]


def test_files_of_judgments_hold_reasons_and_comments(owner: Client, told: Told) -> None:
    rows = csv.DictReader(io.StringIO(file_of(owner, f"{TRIAL}/judgments.csv?counted=any")))
    assert [(row["reasons"], row["comment"]) for row in rows] == [("clear; correct", COMMENT), ("", "")]
    lines = map(json.loads, file_of(owner, f"{TRIAL}/judgments.jsonl?counted=any").splitlines())
    assert [(line["reasons"], line["comment"]) for line in lines] == [(["clear", "correct"], COMMENT), ([], "")]


def test_api_lists_skips_page_by_page(owner: Client, told: Told) -> None:
    first = owner.get(f"{TRIAL}/skips?limit=1").json()
    second = owner.get(f"{TRIAL}/skips?limit=1&cursor={first['next']}").json()
    rows = [*first["results"], *second["results"]]
    assert [(row["assignment"], row["reason"], row["note"]) for row in rows] == [
        (str(told.skipped.public_id), "cannot_judge", NOTE),
        (str(told.passed.public_id), "broken", ""),
    ]
    assert all(len(set(row["candidates"])) == 2 for row in rows)
    assert second["next"] is None


def test_files_of_skips_hold_reasons_and_notes(owner: Client, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsite.api.judgment_files.CHUNK", 1)
    wanted = [("cannot_judge", NOTE), ("broken", "")]
    rows = csv.DictReader(io.StringIO(file_of(owner, f"{TRIAL}/skips.csv")))
    assert [(row["reason"], row["note"]) for row in rows] == wanted
    lines = map(json.loads, file_of(owner, f"{TRIAL}/skips.jsonl").splitlines())
    assert [(line["reason"], line["note"]) for line in lines] == wanted


def test_spreadsheet_computes_no_comment_or_note(owner: Client, campaign: Campaign, bob: Annotator) -> None:
    onboarding_set(campaign=campaign, comments=True)
    one, two = assignment_claim(campaign=campaign, annotator=bob)[:2]
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}, comment="=1+1")
    assignment_skip(annotator=bob, assignment_id=two.public_id, reason="other", note="=1+1")
    for name in ("judgments", "skips"):
        assert "'=1+1" in file_of(owner, f"{TRIAL}/{name}.csv" + ("?counted=any" if name == "judgments" else ""))


@pytest.mark.parametrize("name", ["skips", "skips.csv", "skips.jsonl"])
def test_skips_are_for_members(stranger: Client, charlie: User, campaign: Campaign, name: str) -> None:
    assert stranger.get(f"{TRIAL}/{name}").status_code == 403
    stranger.force_login(charlie)
    assert error_of(stranger.get(f"{TRIAL}/{name}"))["code"]


def test_viewer_sees_no_skip_of_gold(stranger: Client, charlie: User, alice: User, told: Told) -> None:
    Assignment.objects.filter(pk=told.skipped.pk).update(purpose="gold")
    act_perform(key="trial", act=Act.SHARE, user=alice, given=ActionArguments(username="charlie", role="viewer"))
    stranger.force_login(charlie)
    assert [row["reason"] for row in rows_of(stranger, f"{TRIAL}/skips")] == ["broken"]
    assert "I do not read Basque" not in stranger.get("/console/trial/skips/").content.decode()


def test_console_shows_reasons_and_comments_as_text(owner: Client, told: Told) -> None:
    page = owner.get("/console/trial/judgments/").content.decode()
    assert "clear; correct" in page
    assert "B invents a reference &lt;b&gt;" in page
    assert "B invents a reference" not in owner.get("/console/trial/judgments/?explained=no").content.decode()


def test_console_shows_skips_with_their_notes(owner: Client, told: Told) -> None:
    assert "/console/trial/skips/" in owner.get("/console/trial/judgments/").content.decode()
    page = owner.get("/console/trial/skips/").content.decode()
    assert "I do not read Basque &lt;b&gt;" in page
    assert "2 comparisons were skipped." in page


def test_download_of_judgments_has_the_rows_of_the_page(owner: Client, told: Told) -> None:
    for query, wanted in (("", 2), ("?explained=yes", 1), ("?late=yes", 0)):
        files = owner.get(f"/console/trial/judgments/{query}").context["files"]
        assert len(file_of(owner, files["csv"]).splitlines()) == wanted + 1
        assert len(file_of(owner, files["jsonl"]).splitlines()) == wanted


def test_download_of_skips_is_on_their_page(owner: Client, told: Told) -> None:
    files = owner.get("/console/trial/skips/").context["files"]
    assert len(file_of(owner, files["csv"]).splitlines()) == 3
    assert len(file_of(owner, files["jsonl"]).splitlines()) == 2
