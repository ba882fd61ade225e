"""The board after n judgments is a function of these judgments and the seed: their export, replayed, gives it again."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.exchange.board_verification import TOLERANCE, board_verify
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.models import Annotator
from tests.evalsite.api.client import Api
from tests.evalsite.cast import judge, run_jobs


@pytest.fixture
def export(campaign: Campaign, bob: Annotator, dora: Annotator, alice: User, tmp_path: Path) -> Path:
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
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(api.get("/api/v1/campaigns/trial/judgments.jsonl").getvalue())
    return path


def test_the_export_gives_the_same_board(campaign: Campaign, export: Path) -> None:
    verified = board_verify(board=campaign.default_board, path=export)
    assert verified.apart <= TOLERANCE
    assert verified.others == ()
    assert verified.judgments == len(export.read_text().splitlines())


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


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows))
