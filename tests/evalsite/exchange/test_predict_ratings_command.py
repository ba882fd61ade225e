"""`manage.py predict_ratings`."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command


def file_of(folder: Path, rows: int) -> Path:
    path = folder / "conversations.jsonl"
    with path.open("w") as file:
        for number in range(rows):
            good = number % 2
            said = "lovely and true" if good else "what do you mean"
            turns = [{"speaker": "user", "text": "hi"}, {"speaker": "chatbot", "text": said}]
            row = {"conversation_id": f"c{number}", "chatbot": "Ada", "turns": turns}
            if number < rows - 1:
                row["ratings"] = [{"criterion": "overall", "value": 2 + good + number % 3 % 2} for _ in range(2)]
            file.write(json.dumps(row) + "\n")
    return path


def test_report_as_json_has_ceiling_errors_and_predictions(tmp_path: Path) -> None:
    out = StringIO()
    path = file_of(tmp_path, 31)
    call_command("predict_ratings", conversations=str(path), json=True, no_topics=True, folds=2, stdout=out)
    found = json.loads(out.getvalue())
    assert set(found) == {"n", "ceiling", "evaluations", "predictions", "warnings"}
    assert found["n"] == 30
    assert [one["conversation_id"] for one in found["predictions"]] == ["c30"]
    assert {"rmse", "rmse_if_calibrated", "sd", "pearson", "p", "spearman", "share_of_ceiling"} <= set(
        found["evaluations"][0]
    )


def test_too_few_ratings_end_with_status_2(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as problem:
        call_command("predict_ratings", conversations=str(file_of(tmp_path, 5)), no_topics=True)
    assert problem.value.returncode == 2
    assert "20 at least" in str(problem.value)
