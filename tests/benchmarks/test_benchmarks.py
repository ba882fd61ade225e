"""The benchmarks at toy sizes: that they still run, count rightly, and can fail. Nothing here is timed."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from irt_engine import InvalidResponses, Priors, ResponseTable, fit
from irt_engine.simulate import all_cells, draw_votes, with_careless
from irt_engine.truth import draw_truth
from scheduler import DEFAULT_DESIGN, Budget, Overlap
from scheduler.forecasting.forecast import forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities
from scheduler.replay import ReplayLoop
from scheduler.replay_measures import reference_of
from tests.benchmarks import (
    ablation,
    annotators,
    baselines,
    bound,
    calibration,
    decide,
    paper,
    predict,
    prediction,
    report,
    scale,
    stopping,
    workers,
)
from tests.benchmarks import forecast as forecasts
from tests.benchmarks import votes as published
from tests.environment import PATIENCE_S
from tests.processes import wait_for

TABLE = draw_votes(draw_truth(5, 8, seed=1, form="vote", cell_sd=0.5), all_cells(5, 8), seed=2, votes=3)


def test_one_failed_check_fails_a_benchmark_and_none_does_too(capsys: pytest.CaptureFixture[str]) -> None:
    good, bad, unknown = (report.Check("x", "1", "2", passed) for passed in (True, False, None))
    assert report.conclude("t", [good, unknown]) == 0
    assert report.conclude("t", [good, bad]) == 1
    assert report.conclude("t", []) == 1
    assert "FAIL" in capsys.readouterr().out


def decided(names: tuple[str, ...]) -> ResponseTable:
    """A job that the engine refuses where there are no names."""
    return ResponseTable.from_votes(names, names[::-1], ["p"] * len(names), [1] * len(names))


@pytest.mark.full
def test_jobs_come_back_in_their_order_and_a_failure_is_not_swallowed() -> None:
    assert workers.run(math.sqrt, [9, 4, 1], "root", processes=2) == [3, 2, 1]
    for processes in (1, 2):
        with pytest.raises(ValueError, match=r"math domain error|nonnegative") as caught:
            workers.run(math.sqrt, [1, -1], "root", processes=processes)
        assert "job: -1" in caught.value.__notes__
        with pytest.raises(InvalidResponses) as refused:
            workers.run(decided, [()], "votes", processes=processes)
        assert refused.value.code == "no_votes"


def alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system does not list a process's children")
def test_workers_end_with_whoever_began_them() -> None:
    begun = (
        "import time; from tests.benchmarks import workers; workers.run(time.sleep, [3600, 3600], 'sleep', processes=2)"
    )
    process = subprocess.Popen([sys.executable, "-c", begun])

    def children() -> list[int]:
        return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    try:
        wait_for(lambda: len(children()) >= 3, within_s=PATIENCE_S, what="two workers and the tracker of resources")
        workers_begun = children()
        assert all(alive(pid) for pid in workers_begun)
    finally:
        process.kill()
        process.wait()
    wait_for(lambda: not any(alive(pid) for pid in workers_begun), within_s=PATIENCE_S, what="their end")


@pytest.mark.parametrize("setting", calibration.settings((4, 6), (4, 6), (4, 6)), ids=lambda s: s.name)
def test_calibration_draws_fits_and_counts_every_setting(setting: calibration.Setting) -> None:
    found = calibration.measure(replace(setting, gaps="typical"), 2, processes=1)
    share, se = found.share()
    assert len(found.outcomes) == 2
    assert ((share >= 0) & (share <= 1) & (se >= 0)).all()
    assert (np.diff(share) >= 0).all()
    assert len(found.row()) == 8


def test_coverage_counts_what_lies_inside() -> None:
    rng = np.random.default_rng(0)
    outcomes = []
    for _ in range(400):
        true = rng.standard_normal(6)
        outcomes.append(calibration.counted(true, true + 0.5 * rng.standard_normal(6), 0.25 * np.eye(6), True))
    exact = calibration.Coverage(calibration.settings()[0], outcomes)
    assert exact.share()[0] == pytest.approx(calibration.LEVELS, abs=0.03)
    assert [check.passed for check in exact.checks()] == [None, None, None]  # 400 sets confirm nothing
    narrow = calibration.Coverage(
        exact.setting, [calibration.counted(np.arange(6.0), np.zeros(6), np.eye(6) / 99, True)] * 9
    )
    assert [check.passed for check in narrow.checks()] == [False, False, False]


@pytest.mark.full
def test_simulated_campaigns_go_on_where_they_were_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "BUDGET", 100)
    monkeypatch.setattr(stopping, "RULES", (Budget(100),))
    file = tmp_path / "stopping.jsonl"

    def finished(campaigns: int) -> list[str]:
        stopping.main(["--campaigns", str(campaigns), "--file", str(file), "--processes", "1"])
        return file.read_text().splitlines()

    first = finished(2)
    assert len(first) == 6
    file.write_text("\n".join([*first[:5], first[5][:80]]) + "\n")  # the sixth was cut off in the middle
    again = finished(2)
    assert again[:5] == first[:5]
    assert again[6] == first[5]
    records = stopping.finished(file)
    assert [(r.stop, len(r.mean), r.reason) for r in records] == [(1, 2, "the budget of 100 judgments is spent")] * 6
    assert [sum(d == 0.0 for d in r.true) for r in sorted(records, key=lambda r: r.truth)] == [0, 0, 1, 1, 15, 15]
    monkeypatch.setattr(stopping, "RULES", (Budget(50),))
    with pytest.raises(SystemExit, match="another design"):
        stopping.finished(file)


def test_looking_until_an_interval_leaves_0_out_is_counted_and_the_rule_withstands_it() -> None:
    rng = np.random.default_rng(0)
    information = 2.0 * np.arange(1, stopping.LOOKS + 1)
    records = []
    for seed in range(300):
        kind = "abc"[seed % 3]
        ability = {"a": 1.5 * rng.standard_normal(6), "b": np.array([0, 0, 9, -9, 20, -20.0]), "c": np.zeros(6)}[kind]
        noise = np.cumsum(rng.standard_normal((stopping.LOOKS, 6)), axis=0) / np.arange(1, stopping.LOOKS + 1)[:, None]
        low, high = np.triu_indices(6, 1)
        seen = ability + noise * np.sqrt(0.25)
        se = np.repeat(information[:, None] ** -0.5, 15, axis=1)
        records.append(
            stopping.Record(
                kind, seed, 11, "", (ability[high] - ability[low]).tolist(), (seen[:, high] - seen[:, low]).tolist(),
                se.tolist(),
            )
        )  # fmt: skip
    by = {kind: stopping.Campaigns.of([r for r in records if r.truth == kind]) for kind in "abc"}
    assert by["a"].covered()[0] == pytest.approx(0.95, abs=0.03)
    pointwise, rule = stopping.SHOWN_BY["95 % interval at each look"], stopping.SHOWN_BY[stopping.RULE]
    assert by["b"].ever_wrong(pointwise)[0] > 0.15
    assert by["c"].ever_wrong(pointwise)[0] > 0.5
    assert by["b"].ever_wrong(rule)[0] < 0.1
    assert by["c"].ever_wrong(rule)[0] < 0.1
    assert by["a"].votes_until(pointwise, 0.6) < by["a"].votes_until(rule, 0.6) < 600
    assert [check.passed for check in stopping.checks_of(by)] == [None] * 6  # a hundred of each confirm nothing
    worse = {**by, "b": by["c"], "a": replace(by["a"], se=by["a"].se / 2.0)}
    monte_carlo = stopping.Campaigns.ever_wrong(worse["b"], pointwise)
    assert stopping.checked("", worse["b"], monte_carlo, 0.05, up=False).passed is False
    assert stopping.checks_of(worse)[0].passed is False


def test_a_fit_without_an_answer_covers_nothing() -> None:
    failed = calibration.Outcome(np.full(3, np.nan), np.nan, np.nan, (0.0, 0.0), False, "LinAlgError")
    found = calibration.Coverage(calibration.settings()[0], [failed, failed])
    assert found.share()[0].tolist() == [0.0, 0.0, 0.0]
    assert found.row()[2] == "2"


def test_the_papers_rows_are_found_in_either_direction() -> None:
    board = fit(ResponseTable.from_votes(["x", "x", "y"], ["y", "y", "z"], ["p", "q", "p"], [1, 1, -1]), "pair")
    there, back = (paper.Row(a, b, 0.5, 0.2, False) for a, b in (("x", "y"), ("y", "x")))
    one, other = paper.matched(board, [there, back])
    assert one.mean == -other.mean == board.theta[0] > 0
    with pytest.raises(LookupError):
        paper.matched(board, [paper.Row("x", "z", 0.0, 1.0, False)])


def test_the_papers_checks_hold_for_its_own_numbers_and_not_for_half_of_them() -> None:
    def verdicts(factor: float) -> list[bool | None]:
        rows = [paper.Matched(row, factor * row.mean, row.sd) for row in paper.PUBLISHED]
        return [check.passed for check in paper.checks_of(rows, settled=True)]

    assert len(paper.PUBLISHED) == 17
    assert verdicts(1.0) == [True, True, True, True]
    assert verdicts(0.5) == [True, True, False, False]


@pytest.mark.skipif(published.folder() is None, reason=published.MISSING)
def test_the_papers_runs_are_all_there() -> None:
    runs = {(r["system_a"], r["system_b"]) for r in published.read(paper.VOTES) if r["category"] not in paper.LEFT_OUT}
    assert runs == {(row.a, row.b) for row in paper.PUBLISHED}


@pytest.mark.full
def test_careless_annotators_are_simulated_and_their_votes_foreseen() -> None:
    cover, square, variance = annotators.one(annotators.Simulated(0, 4)).T
    assert cover[1] <= cover[2]
    assert (square > 0.0).all()
    assert variance[1] < variance[2]
    rows, alike, found = annotators.predicted(with_careless(TABLE, np.array([0.0, 0.9]), seed=0), 3)
    assert np.array_equal(rows, np.flatnonzero(prediction.folds(TABLE) == 3))
    assert np.isfinite(alike).all()
    assert np.isfinite(found).all()


def test_folds_keep_the_votes_of_a_pair_and_prompt_together() -> None:
    fold, item = prediction.folds(TABLE), published.items(TABLE).index
    assert set(fold) == set(range(prediction.FOLDS))
    assert all(len(set(fold[item == k])) == 1 for k in set(item))


@pytest.mark.parametrize("model", prediction.MODELS)
def test_every_model_predicts_every_held_out_vote_once(model: str) -> None:
    jobs = [prediction.Job("toy", fold, model, Priors(learn=False)) for fold in range(prediction.FOLDS)]
    found = prediction.together([prediction.predicted(TABLE, job) for job in jobs])
    assert len(found.half_win) == len(TABLE)
    assert np.isfinite(found.half_win).all()
    assert np.isnan(found.three_way).all() == (model == "bradley-terry")
    assert found.half_win.mean() < 1.0


@pytest.mark.parametrize("model", ["board", "pair"])
def test_predicted_probabilities_turn_round_with_the_row(model: str) -> None:
    found = fit(TABLE, model, form="vote", priors=Priors(learn=False))  # type: ignore[arg-type]
    swapped = ResponseTable(
        TABLE.chatbots, TABLE.prompts, (), TABLE.b, TABLE.a, TABLE.prompt, -TABLE.outcome, TABLE.annotator,
        TABLE.a_first, TABLE.label,
    )  # fmt: skip
    p, q = (predict.vote_probabilities(found, votes, Priors()) for votes in (TABLE, swapped))
    assert np.allclose(p.sum(axis=1), 1.0)
    assert (p > 0).all()
    assert np.allclose(p, q[:, ::-1])


def test_davidsons_fit_recovers_its_own_parameters() -> None:
    rng, n = np.random.default_rng(1), 60_000
    ability, nu = np.array([0.0, 0.5, 1.5]), 0.7
    a = rng.integers(0, 3, n)
    b = (a + rng.integers(1, 3, n)) % 3
    d = ability[b] - ability[a]
    weight = np.stack([np.exp(-d / 2), np.full(n, nu), np.exp(d / 2)], axis=1)
    y = (rng.random(n)[:, None] > (weight / weight.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1) - 1
    names = np.array(["x", "y", "z"])
    votes = ResponseTable.from_votes(names[a].tolist(), names[b].tolist(), ["p"] * n, y.tolist())
    found = baselines.davidson(votes)
    assert np.diff(found.ability) == pytest.approx([0.5, 1.0], abs=0.05)
    assert found.log_nu == pytest.approx(np.log(nu), abs=0.04)
    assert found.probabilities(a[:5], b[:5]) == pytest.approx(
        weight[:5] / weight[:5].sum(axis=1, keepdims=True), abs=0.02
    )


def test_bradley_terry_counts_a_tie_as_half_a_win() -> None:
    votes = ResponseTable.from_votes(["x"] * 4000, ["y"] * 4000, ["p"] * 4000, [1] * 2000 + [0] * 1000 + [-1] * 1000)
    found = baselines.bradley_terry(votes)
    half = found.half_win(np.array([0]), np.array([1]))
    assert half == pytest.approx([0.625], abs=0.01)
    assert expit(found.ability[1] - found.ability[0]) == pytest.approx(0.625, abs=0.01)


def test_a_difference_of_clusters_has_the_se_of_their_means() -> None:
    difference, cluster = np.repeat([1.0, 3.0, 5.0, 3.0], 50), np.repeat(np.arange(4), 50)
    mean, se = prediction.clustered(difference, cluster)
    assert mean == 3.0
    assert se == pytest.approx(np.std([1.0, 3.0, 5.0, 3.0], ddof=1) / 2.0)


@pytest.mark.full
def test_the_scale_benchmark_measures_a_small_board_in_its_own_process() -> None:
    ours = np.ones(200_000_000)  # 1.6 GB that a small board does not need
    measured = scale.in_a_process("ours", scale.Size(600, 4, 10), 1, "vote")
    assert set(measured) == {"prepare", "fit", "memory", "warm_prepare", "warm", "settled", "rounds"}
    assert 0.05 < measured["memory"] < ours.nbytes / 2**30
    with pytest.raises(RuntimeError, match="failed"):
        scale.in_a_process("ours", scale.Size(600, 0, 10), 1, "vote")


TOY = forecasts.Setting("toy", 3, 20, AllAbilities(0.5), "random", batch=20)


def test_campaigns_of_forecasts_are_run_once_and_kept_line_by_line(tmp_path: Path) -> None:
    runs = tmp_path / "new" / "runs.jsonl"
    first = forecasts.campaigns(TOY, 2, runs, processes=1)
    assert forecasts.campaigns(TOY, 2, runs, processes=1) == first
    assert len(runs.read_text().splitlines()) == 2
    assert forecasts.campaigns(TOY, 3, runs, processes=1)[:2] == first
    assert len(runs.read_text().splitlines()) == 3


def test_forecasts_pass_where_campaigns_are_as_forecast_and_fail_where_they_are_not() -> None:
    predicted = forecast(unjudged_state(TOY.chatbots, TOY.prompts), TOY.terms)
    low, middle, high = predicted.judgments.low, predicted.judgments.middle, predicted.judgments.high
    as_forecast = [int(middle)] * 80 + [int(low) - 1] * 10 + [int(high) + 1] * 10
    assert forecasts.coverage(predicted, as_forecast) == pytest.approx((0.8, 0.04))
    assert [check.passed for check in forecasts.compare(TOY, as_forecast)[1]] == [True, True]
    assert [check.passed for check in forecasts.compare(TOY, [10 * int(high)] * 100)[1]] == [False, False]
    assert [check.passed for check in forecasts.compare(TOY, [int(middle)] * 400)[1]] == [False, True]


TOY_SET = decide.VoteSet("toy", "toy_human", 20, 60)


@pytest.fixture
def toy_votes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A published set in miniature; its one row of equal replies is no vote."""
    names = TABLE.chatbots
    lines = [
        f"{names[a]},{names[b]},{TABLE.prompts[p]},{y},"
        for a, b, p, y in zip(TABLE.a, TABLE.b, TABLE.prompt, TABLE.outcome, strict=True)
    ]
    head = "system_a,system_b,prompt_id,outcome,note"
    with gzip.open(tmp_path / "toy_human.csv.gz", "wt") as file:
        file.write("\n".join([head, *lines, f"{names[0]},{names[1]},only here,0,r1;same_output"]))
    monkeypatch.setenv("EVAL_DATA_DIR", str(tmp_path))
    monkeypatch.setattr(decide, "SETS", (TOY_SET,))
    decide.loaded.cache_clear()


@pytest.mark.full
@pytest.mark.usefixtures("toy_votes")
def test_runs_to_a_decision_go_on_where_they_were_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert TOY_SET.read(tmp_path).prompts == TABLE.prompts
    runs = tmp_path / "runs"

    def lines(seeds: int) -> list[str]:
        arguments = ["--sets", "toy", "--policies", "random", "paper", "--processes", "1"]
        decide.main([*arguments, "--seeds", str(seeds), "--runs", str(runs)])
        return [line.split('"seconds"')[0] for line in (runs / "toy.jsonl").read_text().splitlines()]

    first = lines(1)
    assert [json.loads(line + '"x": 0}')["policy"] for line in first] == ["random", "paper"]
    whole = (runs / "toy.jsonl").read_text()
    (runs / "toy.jsonl").write_text(whole[:-30] + "\n")  # the second was cut off in the middle
    assert lines(2)[2] == first[1]
    assert len(decide.finished(runs, TOY_SET)) == 4
    with pytest.raises(SystemExit, match="another --runs"):
        decide.finished(runs, replace(TOY_SET, every=10))


ENDED = """
from tests.benchmarks import decide
decide.SETS = (decide.VoteSet("toy", "toy_human", 20, 60),)
decide.main(["--sets", "toy", "--policies", "random", "--seeds", "40", "--runs", "RUNS", "--processes", "1"])
"""


@pytest.mark.full
@pytest.mark.usefixtures("toy_votes")
def test_a_call_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    file = runs / "toy.jsonl"
    command = [sys.executable, "-c", ENDED.replace("RUNS", str(runs))]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: file.exists() and file.read_text().count("\n") >= 2, within_s=PATIENCE_S, what="two runs")
        process.kill()
    with file.open("a") as cut:
        cut.write('{"set": "toy", "policy": "ran')  # as if it had been ended in the middle of a line
    before = [line for line in file.read_text().splitlines() if line.endswith("}")]
    seeds = len(before) + 1
    decide.main(
        ["--sets", "toy", "--policies", "random", "--seeds", str(seeds), "--runs", str(runs), "--processes", "1"]
    )
    after = [line for line in file.read_text().splitlines() if line.endswith("}")]
    assert after[:-1] == before, "what was finished is not run again"
    assert sorted(run.seed for run in decide.finished(runs, TOY_SET)) == list(range(seeds))


@pytest.mark.parametrize("policy", ablation.VARIANTS)
def test_adaptive_runs_without_each_of_its_parts(policy: str) -> None:
    overlap = ablation.OVERLAPS.get(policy, Overlap())
    loop = ReplayLoop(TABLE, policy, 0, DEFAULT_DESIGN, policies=ablation.EVERY, overlap=overlap)
    for count in (30, 27):
        loop.collect(count)
        loop.refit()
    votes = np.unique(loop.items[loop.used], axis=0, return_counts=True)[1]
    assert len(loop.used) == 57
    assert (np.mean(votes == 3) > 0.9) == (policy == ablation.THREE_VOTES), "else others begin first"


def a_run(policy: str, votes: float, wrong: float = 0.0, commit: str = "abc") -> decide.Run:
    """A run that decided and estimated after so many votes."""
    return decide.Run("toy", policy, 0, commit, votes, votes, votes, wrong, 0.0)


def verdicts(*runs: decide.Run) -> list[bool | None]:
    measured = {(TOY_SET.name, p): decide.Measured.of(TOY_SET, p, runs) for p in sorted({run.policy for run in runs})}
    return [check.passed for check in decide.checks_of(measured)]


def test_a_policy_that_decides_with_half_of_the_votes_and_rightly_passes() -> None:
    others = [a_run("random", 40.0), a_run("paper", 50.0), a_run("swiss", 21.0)]
    assert verdicts(a_run("adaptive", 20.0), *others) == [True, True, True, True, True]
    assert verdicts(a_run("adaptive", 21.0, wrong=0.02), *others) == [False, False, False, True, True]
    assert verdicts(a_run("adaptive", math.inf), *others) == [True, False, False, False, False]
    assert verdicts(a_run("adaptive", math.inf), a_run("random", math.inf)) == [True, False, False]
    assert verdicts(a_run("adaptive", 20.0)) == [True]


def test_who_does_not_get_there_counts_with_the_budget_and_is_said_to_be_a_bound() -> None:
    ratio = decide.Ratio.of([(np.array([20.0, 30.0, 40.0]), np.full(3, math.inf), 60)])
    assert ratio.at_most
    assert ratio.middle == pytest.approx(0.5)
    assert (ratio.low, ratio.high) == pytest.approx((1 / 3, 2 / 3))
    assert str(ratio) == "<= 0.50 [0.33, 0.67]"


def known(ability: list[float], wanted: list[bool]) -> bound.Known:
    low, high = np.triu_indices(len(ability), 1)
    difference = np.array(ability)[high] - np.array(ability)[low]
    return bound.Known(len(ability), difference, np.full(len(low), 0.25), 0.001, np.array(wanted))


def test_two_chatbots_leave_nothing_to_choose() -> None:
    two = known([0.0, 0.5], [True])
    assert bound.best(two) == pytest.approx([bound.even(two)], rel=1e-3)


def test_the_best_allocation_decides_what_is_wanted_with_fewer_votes() -> None:
    four = known([0.0, 0.3, 1.5, 2.5], [True, True, True, True, True, False])
    votes = bound.best(four)
    assert votes.sum() < 0.7 * bound.even(four)
    assert votes.argmax() == 0  # the smallest difference
    assert four.left(votes)[0].max() == pytest.approx(1.0, abs=1e-3)
    step = 1e-3 * np.eye(6)[2]
    slope = (four.left(votes + 1.0 + step)[0] - four.left(votes + 1.0 - step)[0]) / 2e-3
    assert four.left(votes + 1.0)[1][:, 2] == pytest.approx(slope, rel=1e-4)


def test_what_a_pair_of_its_own_kind_can_never_decide_takes_for_ever() -> None:
    assert bound.even(replace(known([0.0, 0.1], [True]), pair_variance=1.0)) == math.inf


def test_known_parameters_are_those_of_a_fit_and_the_better_half_tells_more() -> None:
    posterior = fit(TABLE, form="vote")
    average, better = (bound.Known.of(posterior, better_half=half) for half in (False, True))
    assert (better.information > average.information).all()
    assert average.wanted.sum() == math.ceil(0.8 * reference_of(posterior).separated.sum())
