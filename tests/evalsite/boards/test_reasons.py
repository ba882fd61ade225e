"""What the worker says of a campaign is said in the reader's language, whatever rule decided."""

from collections.abc import Sequence
from itertools import product

import pytest
from django.utils import translation

from evalsite.boards.reasons import SENTENCES, reason_said
from evalsite.exchange.campaign_planning import PlannedCampaign, plan_campaign
from evalsite.operations.actions import STOPPED_BY_HAND
from evalsite.refits.gold_findings import gold_verdict
from irt_engine import ResponseTable
from irt_engine.agreement import screen
from scheduler import CampaignState, SchedulerError, StoppingRule
from scheduler.forecasting.forecast import ForecastTerms
from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
from tests.environment import FULL
from tests.scheduler.stopping.test_rules import EVERY_RULE, STATES

ENGLISH = {"the", "with", "judgments", "pairs", "would", "are", "of", "passed", "annotators", "others", "campaigns"}


def german(reason: str) -> str:
    with translation.override("de"):
        return reason_said(reason)


@EVERY_RULE
@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_reason_of_every_rule_is_known(rule: StoppingRule, state: CampaignState) -> None:
    reason = rule.decide(state).reason
    assert german(reason) != reason
    assert not ENGLISH & set(german(reason).split())
    assert reason_said(reason) == reason


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("the largest SE 0.069 has reached the target 0.07", "der größte SE, 0,069, hat das Ziel 0,07 erreicht"),
        ("the budget of 20000 judgments is spent", "das Budget von 20.000 Urteilen ist verbraucht"),
        ("no votes yet for the largest SE", "noch keine Stimmen für the largest SE"),
        ("no votes yet for 2026", "noch keine Stimmen für 2026"),
        (STOPPED_BY_HAND, "die Inhaberin oder der Inhaber hat die Kampagne beendet"),
        (
            "passed 1 of 10 gold items; 4e-06 % of annotators who pass 80 % would do so badly",
            "von 10 Goldfragen 1 bestanden; so schlecht schnitten nur 4e-06 % der Bewertenden ab, die 80 % bestehen",
        ),
        (
            "correlation -0.42 with the others over 12 shared cells, not above 0 (p = 0.93)",
            "Korrelation mit den anderen −0,42 (gemeinsame Zellen: 12), nicht über 0 (p = 0,93)",
        ),
        (
            "nothing is left to ask; fewer than 0.1% of careful annotators come out that low",
            "es gibt nichts mehr zu fragen; so niedrig liegen weniger als 0,1 % der sorgfältigen Bewertenden",
        ),
        (
            "gold speaks against them no more: passed 3 of 3 gold items; 5 are needed",
            "Gold spricht nicht mehr gegen diese Person: von 3 Goldfragen 3 bestanden; nötig sind 5",
        ),
        (
            "The goal is out of reach: after all 12,345 judgments the largest SE is 0.12 (0.1 to 0.15).",
            "Das Ziel ist nicht zu erreichen: Nach allen 12.345 Urteilen gilt: der größte SE ist 0,12 (0,1 bis 0,15).",
        ),
        (
            "With 1,600 prompts and no budget it is nearly sure.",
            "Mit 1.600 Prompts und ohne Budget ist es fast sicher.",
        ),
        ("the 1200 judgments of its pilot are in", "die Urteile ihres Probelaufs (1.200) sind da"),
        (
            "No forecast: a comparison needs two chatbots (add a chatbot)",
            "Keine Prognose: ein Vergleich braucht zwei Chatbots (fügen Sie einen Chatbot hinzu)",
        ),
        ("no votes yet for one; two", "noch keine Stimmen für one; two"),
        ("More of them are needed", "More of them are needed"),
        ("late again; 5 are needed", "late again; 5 are needed"),
        ("The budget was wrong, sorry", "The budget was wrong, sorry"),
        ("100% done: %(reason)s", "100% done: %(reason)s"),
        ("", ""),
    ],
)
def test_numbers_are_german_and_a_person_s_own_words_stay(english: str, said: str) -> None:
    assert german(english) == said


def test_a_reason_within_a_reason_is_said_too() -> None:
    english = (
        "what is wanted is out of reach: with the 1200 judgments that are left the largest SE would be 0.120, "
        "the target is 0.07: a chance of 1% at most"
    )
    assert german(english) == (
        "das Gewünschte ist nicht zu erreichen: mit den noch möglichen 1.200 Urteilen gilt: "
        "der größte SE läge bei 0,120, das Ziel ist 0,07: mit einer Wahrscheinlichkeit von höchstens 1 %"
    )
    earlier = english.removesuffix(": a chance of 1% at most")
    assert german(earlier).endswith("das Ziel ist 0,07")


def test_no_sentence_is_hidden_by_a_wider_one_before_it() -> None:
    compared = 0
    for sentence in SENTENCES:
        example = sentence.replace("%%", "%")
        for name in ("judgments", "judged", "se", "target", "top", "all", "pairs", "same", "apart", "open", "margin"):
            example = example.replace(f"%({name})s", "7")
        with translation.override("de"):
            expected = translation.gettext(sentence)
        if "%(" not in example:
            assert german(example).split("7")[0] == expected.split("%(")[0]
            compared += 1
    assert compared > len(SENTENCES) / 2


def verdicts(others: Sequence[int]) -> set[str]:
    """What is said of annotators who all judged the same twelve comparisons, each in their own way."""
    rows = [(f"a{way}", f"p{prompt}", 1 if prompt % 2 else way) for way in others for prompt in range(12)]
    rows += [(f"b{number}", f"p{prompt}", 1 if prompt % 2 else -1) for number in range(5) for prompt in range(12)]
    rows.append(("alone", "p99", 1))
    names, prompts, outcomes = zip(*rows, strict=True)
    table = ResponseTable.from_votes(["x"] * len(rows), ["y"] * len(rows), prompts, outcomes, annotator_id=names)
    return {one.reason for one in screen(table, min_cells=4).verdicts}


def test_every_verdict_on_annotators_is_known() -> None:
    found = verdicts([-1, 0, 1]) | {gold_verdict(passed, 10, mark=0.8).reason for passed in range(11)}
    found |= {gold_verdict(2, 3, mark=0.8).reason}
    assert {"nobody else has judged the same cells", "passed 2 of 3 gold items; 5 are needed"} <= found
    for reason in found:
        assert german(reason) != reason
        assert not ENGLISH & set(german(reason).split())


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
def test_every_advice_of_a_forecast_is_known(goal: ForecastGoal, budget: int | None, prompts: int) -> None:
    advised = plan_campaign(PlannedCampaign(4, prompts), ForecastTerms(goal, budget=budget)).advice
    assert advised or (goal, budget) == (AllAbilities(0.3), None)
    assert [advice for advice in advised if german(advice) == advice] == []
    assert [advice for advice in advised if ENGLISH & set(german(advice).split())] == []


def test_what_no_forecast_can_be_made_of_is_known() -> None:
    for campaign, terms in [
        (PlannedCampaign(1, 5), ForecastTerms(AllAbilities(0.2))),
        (PlannedCampaign(3, 0), ForecastTerms(AllAbilities(0.2))),
        (PlannedCampaign(3, 5), ForecastTerms(AllAbilities(0.2), policy="thompson")),
        (PlannedCampaign(2, 3, votes_per_item=10**18), ForecastTerms(AllAbilities(0.2))),
    ]:
        with pytest.raises(SchedulerError) as raised:
            plan_campaign(campaign, terms)
        assert german(f"No forecast: {raised.value}").startswith("Keine Prognose: ")
        assert not ENGLISH & set(german(str(raised.value)).split())
