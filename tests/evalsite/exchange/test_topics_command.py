import gzip
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command


def topics(*arguments: str | Path) -> str:
    output = StringIO()
    call_command("topics", *map(str, arguments), stdout=output)
    return output.getvalue()


def test_labels_are_evaluated(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(b"id,previous,utterance,domain\n1,,i play piano in a band,music\n2,,hello,phatic\n"))
    found = json.loads(topics("evaluate", path, "--json"))
    assert list(found) == ["n", "accuracy", "macro_f1", "ece", "per_domain"]
    assert (found["n"], found["accuracy"]) == (2, 1.0)
    assert "accuracy 1.000" in topics("evaluate", path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("utterance,domain\nhi,cheese\n", "row 1, domain: 'cheese' is unknown"),
        ("utterance\nhi\n", "there is no column domain"),
        ("utterance,domain\n", "has no rows"),
        ("", "is empty"),
    ],
)
def test_bad_labels_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(CommandError) as caught:
        topics("evaluate", path)
    assert message in str(caught.value)
    assert caught.value.returncode == 2


@pytest.mark.full
def test_own_labels_are_learned(tmp_path: Path) -> None:
    path, model = tmp_path / "labels.csv", tmp_path / "model.skops"
    path.write_text("previous,utterance,domain\n" + ",frobnicating the quux,vehicles\n" * 5)
    topics("train", path, "--output", model)
    assert json.loads(topics("evaluate", path, "--model", model, "--json"))["accuracy"] == 1.0
