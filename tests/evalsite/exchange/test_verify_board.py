"""The board after n judgments is a function of these judgments and the seed: their export, replayed, gives it again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.campaigns.services import campaign_stop, refit_request
from evalsite.core.hash_chain import link_hash
from evalsite.exchange.board_verification import TOLERANCE, board_verify
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.person_erasure import person_erase
from tests.evalsite.api.client import Api
from tests.evalsite.cast import judge, run_jobs
from tests.shared import shared


@shared
def exported(campaign: Campaign, bob: Annotator, dora: Annotator, alice: User) -> bytes:
    """What the API gives after five refits, each begun where the one before it ended, and an exclusion."""
    for choice in ("A", "tie", "B"):
        judge(campaign, bob, choice, blocks=2)
        run_jobs()
        judge(campaign, dora, choice)
        run_jobs()
    annotator_exclude(campaign=campaign, annotator=dora, reason="asleep")
    run_jobs()
    assert Snapshot.objects.count() >= 5
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    content: bytes = api.get("/api/v1/campaigns/trial/judgments.jsonl").getvalue()
    return content


@pytest.fixture
def export(exported: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(exported)
    return path


@pytest.mark.full
def test_the_export_gives_the_same_board(campaign: Campaign, export: Path) -> None:
    verified = board_verify(board=campaign.default_board, path=export)
    assert verified.apart <= TOLERANCE
    assert verified.others == ()
    assert verified.judgments == len(export.read_text().splitlines())


@pytest.mark.full
def test_stopped_board_is_verified_with_its_looks(campaign: Campaign, export: Path) -> None:
    StoppingSpec.objects.filter(campaign=campaign).update(budget=100)
    campaign_stop(campaign=campaign, reason="enough")
    refit_request(campaign)
    run_jobs()
    current = snapshot_current(campaign.default_board)
    assert current is not None
    assert current.looks == 100 // campaign.batch_size
    assert board_verify(board=campaign.default_board, path=export).same


def test_its_rows_may_come_in_any_order_and_one_changed_vote_is_seen(campaign: Campaign, export: Path) -> None:
    rows = [json.loads(line) for line in reversed(export.read_text().splitlines())]
    write(export, rows)
    call_command("verify_board", "trial", str(export), stdout=io.StringIO())
    rows[0]["winner"] = "model_b" if rows[0]["winner"] == "model_a" else "model_a"
    write(export, rows)
    with pytest.raises(CommandError, match="is not what the file says"):
        call_command("verify_board", "trial", str(export))


def test_what_cannot_be_compared_is_refused(campaign: Campaign, export: Path) -> None:
    rows = [json.loads(line) for line in export.read_text().splitlines()]
    for board, changed, words in (
        ("nothing", rows, "no board"),
        ("trial", rows[1:], "judgments, snapshot"),
        ("trial", [{**rows[0], "model_a": "somebody"}, *rows[1:]], "'somebody', which is not in the campaign"),
    ):
        write(export, changed)
        with pytest.raises(CommandError, match=words) as refused:
            call_command("verify_board", board, str(export))
        assert refused.value.returncode == 2


def test_a_board_without_judgments_has_nothing_to_compare(campaign: Campaign, tmp_path: Path) -> None:
    write(tmp_path / "empty.jsonl", [{}])
    with pytest.raises(CommandError, match="belongs to no single campaign"):
        call_command("verify_board", "trial", str(tmp_path / "empty.jsonl"))


def test_what_is_wrong_with_the_file_is_told_in_whole_sentences(campaign: Campaign, export: Path) -> None:
    export.write_text("")
    for path, words in (
        (export, "is empty. A file of votes has"),
        (export.parent / "none.jsonl", r"directory\). Check "),
    ):
        with pytest.raises(CommandError, match=words) as refused:
            call_command("verify_board", "trial", str(path))
        assert refused.value.returncode == 2


def told(*args: str) -> str:
    out = io.StringIO()
    call_command("verify_board", *args, stdout=out)
    return out.getvalue()


@pytest.fixture
def log(campaign: Campaign, export: Path) -> Path:
    """The downloaded log of the board, whose judgments the owner releases."""
    Campaign.objects.filter(pk=campaign.pk).update(releases_data=True)
    path = export.parent / "log.jsonl"
    path.write_bytes(b"".join(Client().get("/boards/trial/data/log.jsonl")))
    return path


def test_log_gives_the_same_board(campaign: Campaign, dora: Annotator, log: Path) -> None:
    for said in (told("trial"), told("trial", "--log", str(log))):
        assert "verifies" in said
        assert "is what the log says" in said
    person_erase(user=None, parts=[Enrolment.objects.get(campaign=campaign, annotator=dora)])
    run_jobs()
    said = told("trial")
    assert "Gaps: the contents of" in said
    assert "is what the log says" in said


def test_changed_log_is_refused(export: Path, log: Path) -> None:
    lines = log.read_text().splitlines()
    last = json.loads(lines[-1])
    last["content"] = last["content"].replace('"seed":', '"sead":')
    other = {**json.loads(lines[-1]), "board": "another"}
    other["sha256"] = link_hash(other)
    for changed, words in (
        ([*lines[:-2], lines[-1]], "is missing, or not in its place"),
        ([*lines[:-1], json.dumps(last)], "was changed"),
        ([*lines[:-1], json.dumps(other)], "is not in the site's log"),
        (["{"], "cannot be read"),
    ):
        log.write_text("\n".join(changed))
        with pytest.raises(CommandError, match=words):
            call_command("verify_board", "trial", "--log", str(log))


def test_log_of_unreleased_judgments_verifies_as_a_chain_only(export: Path) -> None:
    path = export.parent / "log.jsonl"
    path.write_bytes(b"".join(Client().get("/boards/trial/data/log.jsonl")))
    said = told("trial", "--log", str(path))
    assert "verifies" in said
    assert "does not release data" in said


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows))
