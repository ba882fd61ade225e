import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

FORM = {"value", "lower", "upper", "n"}


def talk(name: str, chatbot: str, user: str, length: int = 1) -> dict[str, Any]:
    turns = [{"speaker": "user", "text": "hi"}, {"speaker": "chatbot", "text": "the jazz band plays"}] * length
    return {"conversation_id": name, "chatbot": chatbot, "user_id": user, "turns": turns, "rating": min(5, length)}


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.jsonl"
    rows = [talk(f"{bot}{n}", bot, f"u{n % 3}", number + n) for number, bot in enumerate("ABCDE", 1) for n in range(4)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def scorecard(*arguments: str | Path) -> dict[str, Any]:
    output = StringIO()
    call_command(
        "scorecard", *map(str, arguments), "--json", "--no-topics", "--replicates=20", stdout=output, stderr=StringIO()
    )
    found: dict[str, Any] = json.loads(output.getvalue())
    return found


def test_json_has_the_documented_form(conversations: Path) -> None:
    found = scorecard("--conversations", conversations)
    assert list(found) == ["chatbots", "metrics", "unified", "correlations", "warnings"]
    assert found["chatbots"] == ["A", "B", "C", "D", "E"]
    assert set(found["metrics"]["rating"]["A"]) == FORM
    assert found["metrics"]["median_duration_s"] == dict.fromkeys("ABCDE")
    assert list(found["unified"]) == ["stack_rank", "winners_circle", "confidence_bands"]
    assert {frozenset(one) for one in found["correlations"]} == {
        frozenset({"metric", "with", "n", "unit", "pearson", "p", "lower", "upper", "spearman"})
    }


def test_result_is_repeatable(conversations: Path) -> None:
    assert scorecard("--conversations", conversations) == scorecard("--conversations", conversations)


def test_ratings_and_labels_come_from_files(conversations: Path, tmp_path: Path) -> None:
    ratings, labels = tmp_path / "ratings.csv", tmp_path / "labels.csv"
    ratings.write_text("conversation_id,value,group\nA0,1,evaluator\n")
    labels.write_text("conversation_id,turn,label\nA0,1,incorrect\nA1,1,correct\n")
    found = scorecard("--conversations", conversations, "--ratings", ratings, "--turn-labels", labels)
    assert found["metrics"]["evaluator_rating"]["A"]["value"] == 1
    assert found["metrics"]["response_error_rate"]["A"]["value"] == 0.5


def test_weights_change_the_unified_scores(conversations: Path) -> None:
    plain = scorecard("--conversations", conversations)["unified"]["stack_rank"]["E"]["value"]
    weighted = scorecard("--conversations", conversations, "--weight", "median_turns=3")
    assert weighted["unified"]["stack_rank"]["E"]["value"] == plain + 2


def test_text_shows_intervals_and_correlations(conversations: Path) -> None:
    output = StringIO()
    call_command(
        "scorecard", f"--conversations={conversations}", "--no-topics", "--replicates=20", stdout=output, stderr=output
    )
    assert "median_turns with rating: r = " in output.getvalue()
    assert "5 chatbots" in output.getvalue()


def test_bad_files_end_with_status_2_and_every_row(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(talk("a", "A", "u") | {"rating": 7}) + "\n{")
    with pytest.raises(CommandError) as caught:
        scorecard("--conversations", path)
    assert caught.value.returncode == 2
    assert "row 1, rating: 7 is not between 1 and 5" in str(caught.value)
    assert "row 2" in str(caught.value)


@pytest.mark.parametrize("weight", ["median_turns", "beauty=1", "depth=-1", "depth=x"])
def test_bad_weight_is_refused(conversations: Path, weight: str) -> None:
    with pytest.raises(CommandError, match="weight"):
        scorecard("--conversations", conversations, "--weight", weight)


def test_criterion_is_named_when_no_rating_has_it(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    row = talk("a", "A", "u") | {"rating": None, "ratings": [{"criterion": "quality", "value": 3}]}
    path.write_text(json.dumps(row))
    assert any("--criterion: quality" in warning for warning in scorecard("--conversations", path)["warnings"])
    assert scorecard("--conversations", path, "--criterion=quality")["metrics"]["rating"]["A"]["value"] == 3
