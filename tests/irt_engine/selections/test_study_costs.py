"""Costs of all settings side by side."""

from dataclasses import replace

import pytest

from irt_engine.errors import InvalidResponses
from irt_engine.selections import StudyTerms, TurnDesign, study_costs, turns_needed

TERMS = StudyTerms(4, counted_turns=10, paid_turns=11, pay=0.5, conversations_per_day=20)
DESIGN = TurnDesign(0.1)


def test_all_pairs_stand_against_one_study_of_all() -> None:
    found = study_costs(DESIGN, TERMS)
    assert {name: cost.studies for name, cost in found.items()} == {
        "pm-soba": 6,
        "pm-sata": 6,
        "mm-soba": 1,
        "mm-sata": 1,
        "sm": 4,
    }
    pairs = found["pm-soba"]
    assert (pairs.turns, pairs.conversations, pairs.money, pairs.days) == (6 * 196, 6 * 20, 6 * 20 * 11 * 0.5, 6.0)
    assert found["mm-sata"].size == turns_needed("mm-sata", replace(DESIGN, chatbots=4))


def test_design_effect_and_cleaning_add_conversations() -> None:
    found = study_costs(DESIGN, replace(TERMS, chatbots=2, design_effect=1.5, removed=0.25))
    assert (found["pm-soba"].turns, found["pm-soba"].conversations) == (294, 40)
    assert set(found) == {"pm-soba", "pm-sata", "sm"}


def test_pay_per_conversation() -> None:
    found = study_costs(DESIGN, replace(TERMS, chatbots=1, pay_per="conversation", pay=2.0, conversations_per_day=None))
    assert (found["sm"].turns, found["sm"].money, found["sm"].days) == (126, 26.0, None)


@pytest.mark.parametrize(
    "change",
    [
        {"paid_turns": 5},
        {"counted_turns": 0},
        {"pay": -1.0},
        {"conversations_per_day": 0},
        {"removed": 1.0},
        {"pay_per": "hour"},
    ],
    ids=str,
)
def test_terms_outside_their_range_are_refused(change: dict) -> None:
    with pytest.raises(InvalidResponses):
        study_costs(DESIGN, replace(TERMS, **change))
