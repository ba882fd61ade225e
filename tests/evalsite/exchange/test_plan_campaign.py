"""`manage.py plan_campaign`: what a campaign will take, for people and for programs, and what it refuses."""

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduler.forecasting.expected_precision import CampaignEnsemble
from scheduler.forecasting.forecast import ForecastTerms, forecast, unjudged_state
from scheduler.forecasting.goals import AllAbilities
from tests.environment import FULL

DOCS = Path(__file__).resolve().parents[3] / "docs" / "plan.md"


def planned(*arguments: str) -> str:
    out = io.StringIO()
    call_command("plan_campaign", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(planned(*arguments, "--json"))
    return found


def test_people_get_judgments_money_and_days_of_both_designs() -> None:
    text = planned("--chatbots", "8", "--prompts", "400", "--target-se", ".2", "--price", ".1", "--per-day", "500")
    lines = text.splitlines()
    assert lines[0] == "8 chatbots on 400 prompts, 1 vote an item, until the largest SE is 0.2"
    assert lines[2].split() == ["policy", "judgments", "money", "days", "goal", "reached"]
    assert [line.split()[0] for line in lines[3:5]] == ["adaptive", "random"]
    assert re.search(r"Policy adaptive takes \d+% fewer judgments than a random design\.", text)


def test_money_and_days_are_left_out_where_nobody_knows_them() -> None:
    lines = planned("--chatbots", "4", "--prompts", "40", "--target-se", ".4").splitlines()
    assert lines[2].split() == ["policy", "judgments", "goal", "reached"]


def test_programs_get_everything() -> None:
    found = document("--chatbots", "4", "--prompts", "40", "--target-se", ".4", "--neighbours", "--price", "2")
    assert set(found) == {
        "chatbots", "prompts", "votes_per_item", "goal", "target", "budget", "forecasts", "saves", "advice"
    }  # fmt: skip
    assert (found["chatbots"], found["prompts"], found["target"]) == (4, 40, 0.4)
    assert found["goal"] == "the largest SE between neighbours"
    forecast = found["forecasts"][0]["forecast"]
    assert set(forecast) == {"judgments", "cost", "days", "reached", "reachable", "most", "campaigns"}
    assert forecast["most"] == 240
    assert forecast["days"] is None
    assert forecast["cost"]["middle"] == 2 * forecast["judgments"]["middle"]


def test_a_batch_larger_than_any_campaign_is_all_of_it() -> None:
    design = ("--chatbots", "4", "--prompts", "20", "--target-se", ".5", "--batch")
    found = document(*design, "99999999999999999999999")
    assert found["forecasts"][0]["forecast"]["judgments"] == {"low": 120, "middle": 120, "high": 120}
    assert found["forecasts"] == document(*design, "1000")["forecasts"]


def test_where_several_judge_a_share_of_the_items_there_is_more_to_ask() -> None:
    design = ("--chatbots", "4", "--prompts", "40", "--target-se", ".4", "--overlap", ".25", "--overlap-votes", "3")
    assert document(*design)["forecasts"][0]["forecast"]["most"] == 360
    alone = (*design[:6], "--votes-per-item", "3", "--overlap", "0")
    assert document(*alone)["forecasts"][0]["forecast"]["most"] == 720


@pytest.mark.full
def test_a_target_out_of_reach_is_said_so_with_what_is_reachable_and_what_helps() -> None:
    text = planned("--chatbots", "5", "--prompts", "20", "--target-se", ".25")
    assert re.search(r"after all 200 judgments the largest SE is 0\.\d+ \(0\.\d+ to 0\.\d+\)", text)
    assert re.search(r"With \d+ prompts it is nearly sure\.", text)
    many_more = planned("--chatbots", "5", "--prompts", "5", "--target-se", ".15")
    assert re.search(r"With (\d,)?\d{3} prompts it is nearly sure\.", many_more), "more than 16 times as many"
    hopeless = planned("--chatbots", "5", "--prompts", "20", "--target-se", ".001")
    assert "The goal is out of reach: after all 200 judgments" in hopeless
    assert "More prompts do not help enough: ask for less." in hopeless


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[CampaignEnsemble]:
    """Grows by one with every step of a forecast that is fitted."""
    done: list[CampaignEnsemble] = []
    fit = CampaignEnsemble._fit

    def counted(cohort: CampaignEnsemble) -> None:
        done.append(cohort)
        fit(cohort)

    monkeypatch.setattr(CampaignEnsemble, "_fit", counted)
    return done


@pytest.mark.parametrize(
    ("chatbots", "prompts", "target"),
    [
        (4, 300, 0.05),
        pytest.param(20, 5, 0.001, marks=pytest.mark.full),
        pytest.param(4, 300, 0.001, marks=pytest.mark.full),
        pytest.param(20, 5, 0.05, marks=pytest.mark.full),
    ],
)
def test_advice_takes_less_work_than_the_forecasts_do(
    fits: list[CampaignEnsemble], chatbots: int, prompts: int, target: float
) -> None:
    """It asks what everything would tell, and follows no campaign there."""
    for policy in ("adaptive", "random"):
        forecast(unjudged_state(chatbots, prompts), ForecastTerms(AllAbilities(target), policy=policy))
    forecasts = len(fits)
    planned("--chatbots", str(chatbots), "--prompts", str(prompts), "--target-se", str(target))
    assert forecasts < len(fits) - forecasts <= 1.5 * forecasts


def test_a_budget_that_is_too_small_is_said_so() -> None:
    arguments = ("--chatbots", "4", "--prompts", "200", "--target-se", ".25")
    assert re.search(r"It takes a budget of \d+ judgments", planned(*arguments, "--budget", "50"))
    found = document(*arguments, "--budget", "0")["forecasts"][0]["forecast"]
    assert found["judgments"] == {"low": 0, "middle": 0, "high": 0}
    assert found["reached"] == 0.0


def test_choosing_is_not_compared_with_itself() -> None:
    found = document("--chatbots", "4", "--prompts", "40", "--target-se", ".4", "--policy", "random")
    assert [row["policy"] for row in found["forecasts"]] == ["random"]
    assert found["saves"] == 0.0


def test_whole_campaigns_are_simulated_besides() -> None:
    arguments = ("--chatbots", "4", "--prompts", "40", "--target-se", ".5", "--batch", "40", "--simulate", "2")
    rows = document(*arguments)["forecasts"]
    assert [(row["policy"], row["simulated"]) for row in rows] == [
        ("adaptive", False),
        ("adaptive", True),
        ("random", False),
    ]
    assert rows[1]["forecast"]["campaigns"] == 2
    assert "Simulated: 2." in planned(*arguments)


COMMANDS = re.findall(r"manage\.py plan_campaign (.*)", DOCS.read_text())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_guide_run(command: str) -> None:
    arguments = shlex.split(command)
    if not FULL:  # a campaign of a few prompts takes the same options
        arguments[arguments.index("--prompts") + 1] = "12"
        arguments[arguments.index("--chatbots") + 1] = "3"
    assert "goal reached" in planned(*arguments)


def test_the_program_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    exec(program, {})  # noqa: S102 - our own guide
    assert re.match(r"Range\(low=\d+, middle=\d+, high=\d+\)", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("--chatbots 1", "add a chatbot"),
        ("--prompts 0", "add prompts"),
        ("--target-se 0", "give a number from 0.001 to 1000"),
        ("--target-se 1e-320", "not a valid target"),
        ("--target-se nan", "not finite"),
        ("--target-se small", "not a number"),
        ("--separated 2 --target-se", "not allowed|expected one argument"),
        ("--price -1", "0 or more"),
        ("--per-day 0", "positive number"),
        ("--budget -1", "less than 0"),
        ("--batch 0", "less than 1"),
        ("--votes-per-item 0", "less than 1"),
        ("--overlap 1.5", "share is from 0 to 1"),
        ("--votes-per-item 100000000000000000000", "a whole number from 1 to 1,000,000,000"),
        ("--overlap .5 --overlap-votes 1", "votes from 2 to 1,000"),
        ("--overlap .1 --overlap-votes 1000000000", "votes from 2 to 1,000"),
        ("--overlap .3 --votes-per-item 3", "an overlap of 2 adds none. Set --overlap-votes 4 or more"),
        ("--overlap .3 --votes-per-item 3 --overlap-votes 3", "an overlap of 3 adds none"),
        ("--policy swiss", "invalid choice"),
        ("--seed -1", "less than 0"),
        ("--chatbots 5000", "up to 200 chatbots"),
        ("--chatbots 100 --prompts 1000 --simulate 1", "Leave --simulate out"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(change: str, said: str) -> None:
    words = ["--chatbots", "4", "--prompts", "40", *change.split()]
    if "--target-se" not in words:
        words += ["--target-se", ".4"]
    with pytest.raises(CommandError, match=said) as refused:
        planned(*words)
    assert refused.value.returncode in (1, 2)


def test_separated_pairs_are_a_goal_of_their_own() -> None:
    assert document("--chatbots", "4", "--prompts", "40", "--separated", ".5")["target"] == 0.5
    arguments = ["--chatbots", "4", "--prompts", "40", "--separated", ".5", "--neighbours"]
    with pytest.raises(CommandError, match="Use --neighbours with --target-se") as refused:
        planned(*arguments)
    assert refused.value.returncode == 2
    with pytest.raises(CommandError, match="share above 0"):
        planned(*arguments[:4], "--separated", "1.5")
    with pytest.raises(CommandError, match="required"):
        planned(*arguments[:4])
