"""`manage.py selection_report`: the report for people and for programs, and its exit status."""

import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.published_selections import CHATBOTS, OMNIBUS, PAIRS, SINGLE, TABLES, cut

Write = Callable[..., Path]
DOCS = Path(__file__).resolve().parents[3] / "docs" / "live.md"
HEADER = "conversation_id,turn,setting,chatbot,position,selected\n"
TURNS = [(c, t) for c in range(6) for t in range(1, 7)]
ROWS = "".join(
    f"c{c},{t},SATA-Random,{name},{1 + (place + t) % 2},{int((c * 7 + t * 3 + place) % 3 > 0)}\n"
    for c, t in TURNS
    for place, name in enumerate(("Ann", "Bert"))
)


def reported(*arguments: object) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("selection_report", *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def document(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(reported(*arguments, "--json")[0])
    return found


def published(write: Write) -> Path:
    return write(json.dumps({"_about": "counts of turns", "chatbots": CHATBOTS, **TABLES}))


def test_table_5_comes_out_of_a_file_of_counts(write: Write) -> None:
    found = document(published(write))
    assert list(found) == list(TABLES)
    for setting, report in found.items():
        assert (cut(report["omnibus"]["statistic"], 2), cut(report["omnibus"]["p"], 3)) == OMNIBUS[setting]
        pairs = {(p["a"], p["b"]): (cut(p["statistic"], 2), cut(p["p"], 3)) for p in report["pairs"]}
        assert pairs == PAIRS[setting]


def test_programs_get_exactly_the_documented_fields(write: Write) -> None:
    report = document(published(write))["SATA-Random"]
    assert list(report) == ["turns", "win_rates", "omnibus", "pairs", "clustered"]
    assert (report["turns"], report["clustered"]) == (896, None)
    assert list(report["win_rates"]) == list(CHATBOTS)
    assert list(report["win_rates"]["BST"]) == ["selected", "rate", "lower", "upper"]
    assert list(report["omnibus"]) == ["test", "statistic", "df", "p"]
    assert list(report["pairs"][0]) == [
        "a", "b", "only_a", "only_b", "both", "neither", "test", "statistic", "p", "p_holm"
    ]  # fmt: skip


def test_table_6_comes_out_with_wald_intervals(write: Write) -> None:
    counts = {chatbot: {"1": k, "0": n - k} for chatbot, (k, n, *_) in SINGLE.items()}
    found = document(write(json.dumps(counts)), "--interval", "wald")
    for chatbot, (_, n, percent, lower, upper) in SINGLE.items():
        rate = found[chatbot]["win_rates"]["A"]
        assert (found[chatbot]["turns"], round(100 * rate["rate"])) == (n, percent)
        assert (round(rate["lower"], 2), round(rate["upper"], 2)) == (lower, upper)


def test_turns_one_by_one_are_also_tested_by_conversation(write: Write) -> None:
    report = document(write(HEADER + ROWS))["SATA-Random"]
    clustered = report["clustered"]
    assert (report["turns"], clustered["conversations"]) == (36, 6)
    assert list(clustered) == [
        "conversations", "win_rates", "omnibus", "pairs", "positions", "reselection", "ties"
    ]  # fmt: skip
    assert list(clustered["positions"]["shares"]) == ["1", "2"]
    assert [one["chatbot"] for one in clustered["reselection"]] == ["Ann", "Bert"]
    assert [one["kind"] for one in clustered["ties"]] == ["tie-win", "tie-loss"]
    (pair,) = report["pairs"]
    shares = sum(rate["rate"] for rate in report["win_rates"].values())
    assert shares - pair["both"] / 36 + pair["neither"] / 36 == pytest.approx(1.0)


def test_people_get_tables(write: Write) -> None:
    text, _ = reported(write(HEADER + ROWS))
    lines = text.splitlines()
    assert lines[0] == "SATA-Random: 36 turns, select all appropriate"
    assert re.search(r"^Tie-win \d+\.\d%, tie-loss \d+\.\d%$", text, re.MULTILINE)
    assert "With conversations as units (6 conversations)" in lines
    assert "Selection by display position (anchoring)" in lines
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_separators_and_byte_order_mark_change_nothing(write: Write, separator: str) -> None:
    expected = document(write(HEADER + ROWS))
    other = "\ufeff" + (HEADER + ROWS).replace(",", separator).replace("\n", "\r\n")
    assert document(write(other, name="other.csv")) == expected
    assert document(write(other, name="zipped", zipped=True)) == expected


def test_columns_that_are_not_read_are_named(write: Write) -> None:
    wider = (HEADER + ROWS).replace("\n", ",x\n").replace("selected,x", "selected,mood", 1)
    out, err = reported(write(wider), "--json")
    assert "Warning: Columns that are not read: 'mood'." in err
    assert json.loads(out)


def test_a_file_without_positions_has_no_report_of_positions(write: Write) -> None:
    rows = re.sub(r",(\d),(\d)$", r",,\2", ROWS, flags=re.MULTILINE)
    assert document(write(HEADER + rows))["SATA-Random"]["clustered"]["positions"] is None


def test_each_set_of_chatbots_has_its_own_report(write: Write) -> None:
    other = ROWS.replace("Bert", "Cleo").replace("\nc", "\nd").replace("c0", "d0", 1)
    found = document(write(HEADER + ROWS + other))
    assert list(found) == ["SATA-Random (Ann, Bert)", "SATA-Random (Ann, Cleo)"]


def test_one_conversation_gives_a_warning_instead(write: Write) -> None:
    out, err = reported(write(HEADER + "".join(ROWS.splitlines(keepends=True)[:12])), "--json")
    assert json.loads(out)["SATA-Random"]["clustered"] is None
    assert "one conversation only" in err


def test_few_discordant_turns_give_a_warning(write: Write) -> None:
    _, err = reported(write('{"S": {"10": 5, "01": 4, "11": 1}}'))
    assert "use --mcnemar exact." in err
    out, err = reported(write('{"S": {"10": 5, "01": 4, "11": 1}}'), "--mcnemar", "exact")
    assert (err, "exact McNemar" in out) == ("", True)


def test_bad_file_has_status_2_and_prints_nothing(write: Write) -> None:
    path, out = write(HEADER + ROWS + "c9,1,SATA-Random,Ann,1,perhaps\n"), io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("selection_report", str(path), "--json", stdout=out, stderr=io.StringIO())
    assert (caught.value.returncode, out.getvalue()) == (2, "")
    assert str(caught.value) == (
        f"{path}, row 73 (line 74), column selected: 'perhaps' is neither 1 nor 0. "
        "Use 1 for selected, 0 for not selected."
    )


def test_an_impossible_baseline_has_status_2(write: Write) -> None:
    with pytest.raises(CommandError) as caught:
        reported(write('{"S": {"1": 5}}'), "--baseline", "1.5")
    assert caught.value.returncode == 2


@pytest.mark.parametrize("command", re.findall(r"manage\.py (selection_report .*|sample_size .*)", DOCS.read_text()))
def test_the_commands_of_the_guide_run(
    command: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(HEADER + ROWS, name="turns.csv")
    published(write).rename(tmp_path / "counts.json")
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    call_command(*shlex.split(command), stdout=out, stderr=io.StringIO())
    assert "turns" in out.getvalue()


def test_the_program_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    exec(program, {})  # noqa: S102 - our own guide
    assert re.fullmatch(r"0\.00\d+ 667\n", capsys.readouterr().out)
