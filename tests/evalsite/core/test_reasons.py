"""Reasons of the service and the scheduler are shown in the reader's language, whatever rule decided."""

import json
from collections.abc import Sequence
from itertools import product

import pytest
from django.utils import translation

from evalsite.core.reasons import TEMPLATES, StoredReason, as_stored, reason_code, reason_text
from evalsite.exchange.campaign_planning import PlannedCampaign, plan_campaign
from evalsite.refits.forecasts import forecast_error
from evalsite.refits.gold_findings import gold_verdict
from evalsite.refits.screening import reason_of
from irt_engine import ResponseTable
from irt_engine.agreement import screen
from scheduler import SchedulerError, StoppingRule
from scheduler.forecasting.forecast import ForecastTerms
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
from scheduler.reasons import Reason
from tests.environment import FULL
from tests.scheduler.stopping.test_rules import EVERY_RULE, STATES

ENGLISH = {"the", "with", "judgments", "pairs", "would", "are", "of", "passed", "annotators", "others", "campaigns"}


def german(reason: Reason | StoredReason) -> str:
    with translation.override("de"):
        return reason_text(*as_stored(reason))


def assert_german(reason: Reason | StoredReason) -> None:
    assert german(reason) != as_stored(reason).text
    assert not ENGLISH & set(german(reason).split())


@EVERY_RULE
def test_reason_of_every_rule_is_shown_in_german_and_survives_json(rule: StoppingRule) -> None:
    for state in STATES.values():
        reason = rule.decide(state).reason
        assert_german(reason)
        again = Reason.from_json(json.loads(json.dumps(as_stored(reason).data)))
        assert (again, again.text()) == (reason, str(reason))


def test_every_template_has_a_german_translation() -> None:
    gaps_only = {"%(error)s: %(message)s", "%(by)s %(value)s: %(rest)s"}
    with translation.override("de"):
        same = {code: one.text for code, one in TEMPLATES.items() if translation.gettext(one.text) == one.text}
    assert [code for code, text in same.items() if text not in gaps_only and code != "goal_measure"] == []


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (
            Reason("target_se_reached", {"se": 0.0694, "target": 0.07}),
            "der größte SE, 0,069, hat das Ziel 0,07 erreicht",
        ),
        (Reason("budget_spent", {"judgments": 20000}), "das Budget von 20.000 Urteilen ist verbraucht"),
        (Reason("chatbot_without_votes", {"chatbot": "the largest SE"}), "noch keine Stimmen für the largest SE"),
        (Reason("chatbot_without_votes", {"chatbot": "2026"}), "noch keine Stimmen für 2026"),
        (Reason("chatbot_without_votes", {"chatbot": "one; two"}), "noch keine Stimmen für one; two"),
        (Reason("owner_ended"), "die Inhaberin oder der Inhaber hat die Kampagne beendet"),
        (
            Reason("gold_passed", {"passed": 1, "given": 10}).and_also(
                Reason("gold_chance", {"chance": 0.000004, "mark": 80.0})
            ),
            "von 10 Goldfragen 1 bestanden; so schlecht schnitten nur 4e-06 % der Bewertenden ab, die 80 % bestehen",
        ),
        (
            Reason(
                "correlation_not_positive",
                {"rest": Reason("correlation", {"correlation": -0.42, "cells": 12}), "p": 0.93},
            ),
            "Korrelation mit den anderen −0,42 (gemeinsame Zellen: 12), nicht über 0 (p = 0,93)",
        ),
        (
            Reason("nothing_left").and_also(Reason("careful_hardly_this_low", {"share": 0.1})),
            "es gibt nichts mehr zu fragen; so niedrig liegen weniger als 0,1 % der sorgfältigen Bewertenden",
        ),
        (
            Reason(
                "goal_never_reached",
                {
                    "judgments": 12345,
                    "rest": Reason("largest_se_range", {"middle": 0.12, "low": 0.1, "high": 0.15}),
                },
            ),
            "Das Ziel ist nicht zu erreichen: Nach allen 12.345 Urteilen gilt: der größte SE ist 0,12 (0,1 bis 0,15).",
        ),
        (
            Reason("prompts_and_no_budget_advised", {"prompts": 1600}),
            "Mit 1.600 Prompts und ohne Budget ist es fast sicher.",
        ),
        (Reason("pilot_complete", {"judgments": 1200}), "die Urteile ihres Probelaufs (1.200) sind da"),
        (
            Reason("no_forecast", {"rest": Reason("forecast_needs_chatbots")}),
            "Keine Prognose: ein Vergleich braucht zwei Chatbots (fügen Sie einen Chatbot hinzu)",
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Reason) else "",
)
def test_numbers_are_german_and_names_stay(reason: Reason, shown: str) -> None:
    assert german(reason) == shown


def test_reason_within_a_reason_is_translated_too() -> None:
    feasible = Reason("target_se_feasible", {"se": 0.12, "target": 0.07})
    left = Reason("with_judgments_left", {"judgments": 1200, "rest": feasible})
    reason = Reason("goal_out_of_reach", {"rest": Reason("goal_chance", {"rest": left, "chance": 1})})
    assert as_stored(reason).text == (
        "what is wanted is out of reach: with the 1200 judgments that are left the largest SE would be 0.120, "
        "the target is 0.07: a chance of 1% at most"
    )
    assert german(reason) == (
        "das Gewünschte ist nicht zu erreichen: mit den noch möglichen 1.200 Urteilen gilt: "
        "der größte SE läge bei 0,120, das Ziel ist 0,07: mit einer Wahrscheinlichkeit von höchstens 1 %"
    )


@pytest.mark.parametrize("text", ["More of them are needed", "100% done: %(reason)s", "nothing is left to ask", ""])
def test_text_without_a_code_is_shown_as_it_stands(text: str) -> None:
    assert german(StoredReason(text)) == text
    assert reason_code(as_stored(text).data) == ""


@pytest.mark.parametrize("data", [{"code": "of a later release"}, {"code": "budget_spent"}, {"params": {}}])
def test_data_of_another_release_shows_the_stored_text(data: dict[str, object]) -> None:
    assert german(StoredReason("the budget is spent", data)) == "the budget is spent"


def test_english_reader_sees_the_stored_text() -> None:
    assert reason_text("as it was worded then", Reason("nothing_left").as_json()) == "as it was worded then"


def verdicts(others: Sequence[int]) -> dict[str, Reason]:
    """Reasons about annotators who all judged the same twelve comparisons, each in their own way; by their text."""
    rows = [(f"a{way}", f"p{prompt}", 1 if prompt % 2 else way) for way in others for prompt in range(12)]
    rows += [(f"b{number}", f"p{prompt}", 1 if prompt % 2 else -1) for number in range(5) for prompt in range(12)]
    rows.append(("alone", "p99", 1))
    names, prompts, outcomes = zip(*rows, strict=True)
    table = ResponseTable.from_votes(["x"] * len(rows), ["y"] * len(rows), prompts, outcomes, annotator_id=names)
    found = [reason_of(one) for one in screen(table, min_cells=4).verdicts]
    return {as_stored(one).text: one for one in found}


def test_every_verdict_on_annotators_is_shown_in_german() -> None:
    found = verdicts([-1, 0, 1])
    gold = [gold_verdict(passed, 10, mark=0.8).reason for passed in range(11)] + [gold_verdict(2, 3, mark=0.8).reason]
    found |= {as_stored(one).text: one for one in gold}
    assert {"nobody else has judged the same cells", "passed 2 of 3 gold items; 5 are needed"} <= found.keys()
    for reason in found.values():
        assert_german(reason)


GOALS = [AllAbilities(0.05), Neighbours(0.05), Separated(0.95), AllAbilities(0.3)]
EVERY_CASE = list(product(GOALS, [None, 20, 60, 200], [2, 20, 80]))
ONE_OF_A_KIND = [
    (AllAbilities(0.3), None, 20),
    (AllAbilities(0.3), 20, 20),
    (AllAbilities(0.3), 200, 80),
    (Neighbours(0.05), 20, 20),
    (Separated(0.95), None, 20),
]


@pytest.mark.parametrize(("goal", "budget", "prompts"), EVERY_CASE if FULL else ONE_OF_A_KIND)
def test_every_advice_of_a_forecast_is_shown_in_german(goal: ForecastGoal, budget: int | None, prompts: int) -> None:
    advised = plan_campaign(PlannedCampaign(4, prompts), ForecastTerms(goal, budget=budget)).advice
    assert advised or (goal, budget) == (AllAbilities(0.3), None)
    for advice in advised:
        assert_german(advice)


@pytest.mark.parametrize(
    ("campaign", "policy"),
    [
        (PlannedCampaign(1, 5), "adaptive"),
        (PlannedCampaign(3, 0), "adaptive"),
        (PlannedCampaign(3, 5), "thompson"),
        pytest.param(PlannedCampaign(2, 3, votes_per_item=10**18), "adaptive", marks=pytest.mark.full),
    ],
)
def test_why_there_is_no_forecast_is_shown_in_german(campaign: PlannedCampaign, policy: str) -> None:
    with pytest.raises(SchedulerError) as raised:
        plan_campaign(campaign, ForecastTerms(AllAbilities(0.2), policy=policy))
    found = forecast_error(raised.value, policy)
    assert found.text == str(raised.value)
    assert_german(found)
