"""Why a campaign goes on or has stopped is said in the reader's language, whatever rule decided."""

import pytest
from django.utils import translation

from evalsite.adaptive.acts import STOPPED_BY_HAND
from evalsite.adaptive.reasons import SENTENCES, reason_said
from scheduler import CampaignState, StoppingRule
from tests.scheduler.test_stopping_rules import EVERY_RULE, STATES


def german(reason: str) -> str:
    with translation.override("de"):
        return reason_said(reason)


@EVERY_RULE
@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_reason_of_every_rule_is_known(rule: StoppingRule, state: CampaignState) -> None:
    reason = rule.decide(state).reason
    assert german(reason) != reason
    assert not {"the", "judgments", "pairs", "would"} & set(german(reason).split())
    assert reason_said(reason) == reason


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("the largest SE 0.069 has reached the target 0.07", "der größte SE, 0,069, hat das Ziel 0,07 erreicht"),
        ("the budget of 20000 judgments is spent", "das Budget von 20.000 Urteilen ist verbraucht"),
        ("no votes yet for the largest SE", "noch keine Stimmen für the largest SE"),
        ("no votes yet for 2026", "noch keine Stimmen für 2026"),
        (STOPPED_BY_HAND, "die Inhaberin oder der Inhaber hat die Kampagne beendet"),
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
        "the target is 0.07"
    )
    assert german(english) == (
        "das Gewünschte ist nicht zu erreichen: mit den noch möglichen 1.200 Urteilen gilt: "
        "der größte SE läge bei 0,120, das Ziel ist 0,07"
    )


def test_no_sentence_is_hidden_by_a_wider_one_before_it() -> None:
    for sentence in SENTENCES:
        example = sentence.replace("%%", "%")
        for name in ("judgments", "judged", "se", "target", "top", "all", "pairs", "same", "apart", "open", "margin"):
            example = example.replace(f"%({name})s", "7")
        with translation.override("de"):
            expected = translation.gettext(sentence)
        if "%(" not in example:
            assert german(example).split("7")[0] == expected.split("%(")[0]
