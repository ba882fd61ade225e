"""`manage.py replay`: the closed loop on a file, on known parameters, and what it refuses."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from irt_engine.truth import draw_truth
from scheduler.replay import simulated_votes

Write = Callable[..., Path]
TRUTH = draw_truth(4, 6, seed=1, form="vote")


def votes_csv(note: str = "") -> str:
    """Three votes of every pair on six prompts, as a file; the last row has a note of its own."""
    table = simulated_votes(TRUTH, seed=2)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["system_a", "system_b", "prompt_id", "outcome", "category", "note"])
    for a, b, j, y in zip(table.a, table.b, table.prompt, table.outcome, strict=True):
        writer.writerow([table.chatbots[a], table.chatbots[b], table.prompts[j], y, "ours", "r1"])
    writer.writerow([table.chatbots[0], "nobody", "p", 0, "others", note])
    return text.getvalue()


def replayed(*arguments: object) -> dict[str, Any]:
    out = io.StringIO()
    call_command("replay", *map(str, arguments), "--json", stdout=out, stderr=io.StringIO())
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def test_it_says_after_every_few_votes_how_far_the_policy_is(write: Write) -> None:
    path = write(votes_csv())
    found = replayed(path, "--where", "category=ours", "--policy", "random", "--budget", 60, "--every", 25, "--seed", 3)
    assert (found["policy"], found["seed"]) == ("random", 3)
    assert found["reference"]["judgments"] == 108
    assert found["reference"]["chatbots"].keys() == set(TRUTH.chatbots)
    assert [point["votes"] for point in found["points"]] == [25, 50, 60]
    assert set(found["points"][0]) == {"votes", "tau", "rmse", "decided", "wrong", "mean_se", "coverage"}


def test_equal_seeds_give_equal_replays(write: Write) -> None:
    path = write(votes_csv())
    arguments = (path, "--where", "category=ours", "--budget", 40, "--every", 20)
    assert replayed(*arguments, "--seed", 1) == replayed(*arguments, "--seed", 1)
    assert replayed(*arguments, "--seed", 1) != replayed(*arguments, "--seed", 2)


def test_rows_of_equal_outputs_are_left_out(write: Write) -> None:
    for note in ("r2;same_output", "r2; same_output", " same_output ;r2"):
        found = replayed(write(votes_csv(note)), "--budget", 10)
        assert "nobody" not in found["reference"]["chatbots"]
    found = replayed(write(votes_csv("r2;same_output_not")), "--budget", 10)
    assert "nobody" in found["reference"]["chatbots"]


def test_a_file_of_nothing_but_equal_outputs_is_refused_by_that_name(write: Write) -> None:
    head, *rows = votes_csv("same_output").splitlines()
    path = write("\n".join([head, *(row.replace(",r1", ",same_output") for row in rows)]))
    with pytest.raises(CommandError, match=f"no row is left: all {len(rows)} rows have same_output in note"):
        replayed(path)
    with pytest.raises(CommandError, match="the only row that --where asks for has same_output in note"):
        replayed(path, "--where", "category=others")
    with pytest.raises(CommandError, match="no row is left by --where category=none"):
        replayed(path, "--where", "category=none")


def test_a_simulation_is_compared_with_the_known_truth() -> None:
    found = replayed("--simulate", "5x10", "--budget", 120, "--every", 120, "--seed", 4)
    assert found["reference"]["judgments"] == 0
    assert found["reference"]["separated"] == found["reference"]["pairs"] == 10
    assert [point["votes"] for point in found["points"]] == [120]


def test_with_tiers_of_quality_every_refit_of_the_loop_has_them() -> None:
    plain, tiered = (
        replayed("--simulate", "6x10", "--budget", 60, "--every", 60, *more) for more in (("--tiers", 1), ())
    )
    assert plain["reference"] == tiered["reference"]
    assert plain["points"] != tiered["points"]


def test_spent_votes_end_a_replay_with_a_warning(write: Write) -> None:
    found = replayed(write(votes_csv()), "--where", "category=ours", "--budget", 500, "--every", 100)
    assert [point["votes"] for point in found["points"]] == [100, 108]
    assert "No item was left after 108 of 500 votes" in found["warnings"][0]
    assert found["points"][-1]["rmse"] == pytest.approx(0.0, abs=1e-6)


def test_people_get_a_table(write: Write) -> None:
    out = io.StringIO()
    path = str(write(votes_csv()))
    call_command("replay", path, "--where", "category=ours", "--budget", "50", stdout=out, stderr=io.StringIO())
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("Policy adaptive, seed 0, against the board of all 108 votes: 4 chatbots")
    assert lines[2].split() == ["votes", "tau", "RMSE", "decided", "wrong", "mean", "SE", "coverage"]
    assert len(lines) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["--simulate", "5"],
        ["--simulate", "1x10"],
        ["--simulate", "5000x10000"],
        ["--simulate", "5x10", "--where", "category=x"],
        ["--simulate", "5x10", "--budget", "0"],
        ["--simulate", "5x10", "--every", "many"],
        ["--simulate", "5x10", "--seed", "-1"],
        ["--simulate", "5x10", "--policy", "best"],
        ["--simulate", "5x10", "--tiers", "0"],
        ["--simulate", "5x10", "--tiers", "11"],
        [],
        ["no-such-file.csv"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_replayed_is_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        call_command("replay", *arguments, stdout=io.StringIO(), stderr=io.StringIO())


def test_separate_parts_are_refused(write: Write) -> None:
    path = write("system_a,system_b,prompt_id,outcome\na,b,p,1\nc,d,p,-1\n")
    with pytest.raises(CommandError, match="2 separate parts"):
        call_command("replay", str(path), stdout=io.StringIO(), stderr=io.StringIO())
