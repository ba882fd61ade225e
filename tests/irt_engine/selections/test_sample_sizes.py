"""Turns that a study needs, against the published sizes."""

import pytest

from irt_engine.errors import EngineError
from irt_engine.power import chi_square_size, cochran_size
from irt_engine.selections import Selections, TurnDesign, turns_needed
from tests.published_selections import CHATBOTS, ONE_BEST, SIZES, TABLES


@pytest.mark.parametrize("setting", SIZES)
def test_published_sizes_are_reproduced(setting: str) -> None:
    assert turns_needed(setting, TurnDesign(0.1)).turns == SIZES[setting]


@pytest.mark.parametrize("setting", TABLES)
def test_cochran_sizes_are_near_the_published_one(setting: str) -> None:
    pilot = Selections.from_counts(CHATBOTS, TABLES[setting])
    found = turns_needed("mm-sata", TurnDesign(0.1, pilot=pilot))
    assert 410 <= found.turns <= 490
    assert found.turns == cochran_size(0.1, pilot.rows)
    assert found.assumptions["pilot_turns"] == pilot.turns


def test_chi_square_size_is_near_the_published_one() -> None:
    pilot = Selections.from_counts(CHATBOTS, ONE_BEST, one_best=True)
    assert turns_needed("mm-soba", TurnDesign(0.1, pilot=pilot)).turns == 441


def test_a_pilot_gives_the_discordance() -> None:
    pilot = Selections.from_counts(("A", "B"), {"10": 40, "01": 20, "11": 10, "00": 30})
    found = turns_needed("pm-sata", TurnDesign(0.1, pilot=pilot))
    assert found.assumptions["discordance"] == 0.6
    assert found.turns == turns_needed("pm-sata", TurnDesign(0.1, discordance=0.6)).turns


def test_a_pilot_gives_the_baseline() -> None:
    pilot = Selections.from_counts(("A",), {"1": 70, "0": 30})
    found = turns_needed("sm", TurnDesign(0.1, pilot=pilot))
    assert found.turns == turns_needed("sm", TurnDesign(0.1, baseline=0.7)).turns


def test_no_pilot_plans_for_the_least_favourable_spread() -> None:
    found = turns_needed("mm-soba", TurnDesign(0.1, chatbots=4))
    assert found.turns == chi_square_size(0.1, [30, 25, 25, 20])
    pilot = Selections.from_counts(CHATBOTS, ONE_BEST, one_best=True)
    assert found.turns > turns_needed("mm-soba", TurnDesign(0.1, pilot=pilot)).turns


@pytest.mark.parametrize("discordance", [0.3, 0.45])
def test_discordance_replaces_a_pilot_of_that_discordance(discordance: float) -> None:
    """Turns with no selection and with exactly one, whose pairs have a mean discordance of half the turns with one."""
    one = round(discordance * 20_000)
    pilot = Selections.from_counts(
        tuple("ABCD"), {"1000": one + 100, "0100": one, "0010": one, "0001": one - 100, "0000": 40_000 - 4 * one}
    )
    found = turns_needed("mm-sata", TurnDesign(0.1, chatbots=4, discordance=discordance))
    assert found.turns == pytest.approx(turns_needed("mm-sata", TurnDesign(0.1, pilot=pilot)).turns, abs=3)


@pytest.mark.parametrize(
    ("setting", "design", "code"),
    [
        ("pm", TurnDesign(0.1), "bad_setting"),
        ("pm-soba", TurnDesign(0.0), "bad_difference"),
        ("pm-soba", TurnDesign(0.1, alpha=0.0), "bad_probability"),
        ("pm-soba", TurnDesign(0.1, power=1.0), "bad_power"),
        ("pm-soba", TurnDesign(0.1, baseline=0.5), "unused_option"),
        ("sm", TurnDesign(0.3), "bad_difference"),
        ("pm-sata", TurnDesign(0.1, discordance=0.05), "bad_discordance"),
        ("mm-sata", TurnDesign(0.1, chatbots=4, discordance=0.9), "bad_discordance"),
        ("mm-soba", TurnDesign(0.1), "no_pilot"),
        ("mm-sata", TurnDesign(0.1), "no_pilot"),
        ("mm-soba", TurnDesign(0.1, chatbots=1), "bad_count"),
        ("mm-soba", TurnDesign(0.1, chatbots=1000), "too_many"),
    ],
)
def test_impossible_designs_are_refused(setting: str, design: TurnDesign, code: str) -> None:
    with pytest.raises(EngineError) as caught:
        turns_needed(setting, design)
    assert caught.value.code == code


def test_a_pilot_must_fit_the_setting() -> None:
    pilot = Selections.from_counts(("A", "B"), {"10": 4, "01": 3})
    for setting, design in (
        ("sm", TurnDesign(0.1, pilot=pilot)),
        ("pm-soba", TurnDesign(0.1, pilot=pilot)),
        ("pm-sata", TurnDesign(0.1, pilot=pilot, discordance=0.5)),
        ("mm-sata", TurnDesign(0.1, pilot=Selections.from_counts(("A",), {"1": 4}))),
    ):
        with pytest.raises(EngineError):
            turns_needed(setting, design)
