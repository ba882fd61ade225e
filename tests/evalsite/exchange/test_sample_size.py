"""`manage.py sample_size`: turns of a study for people and for programs, and what is refused."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.published_selections import CHATBOTS, ONE_BEST, SIZES, TABLES

Write = Callable[..., Path]


def sized(setting: str, *arguments: object) -> str:
    out = io.StringIO()
    call_command("sample_size", setting, "--difference", ".1", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def document(setting: str, *arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sized(setting, *arguments, "--json"))
    return found


@pytest.mark.parametrize("setting", SIZES)
def test_published_sizes_are_reproduced(setting: str) -> None:
    found = document(setting)
    assert list(found) == ["setting", "turns", "assumptions"]
    assert (found["setting"], found["turns"]) == (setting, SIZES[setting])
    assert found["assumptions"]["power"] == 0.8


def pilot(write: Write) -> Path:
    return write(json.dumps({"chatbots": CHATBOTS, **TABLES, "SOBA": ONE_BEST, "PM-SATA": two_chatbots()}))


def two_chatbots() -> dict[str, Any]:
    return {"chatbots": ["x", "y"], "10": 40, "01": 20, "11": 10, "00": 30}


def test_several_chatbots_are_near_the_published_sizes(write: Write) -> None:
    sata, soba = document("mm-sata", "--pilot", pilot(write)), document("mm-soba", "--pilot", pilot(write))
    assert 410 <= sata["turns"] <= 490
    assert sata["assumptions"]["pilot_settings"] == list(TABLES)
    assert (soba["turns"], soba["assumptions"]["pilot_settings"]) == (441, ["SOBA"])


def test_one_setting_of_a_pilot_can_be_chosen(write: Write) -> None:
    found = document("mm-sata", "--pilot", pilot(write), "--pilot-setting", "SATA-User")
    assert found["assumptions"]["pilot_turns"] == 900
    with pytest.raises(CommandError, match="The settings are 'SATA-Random'"):
        sized("mm-sata", "--pilot", pilot(write), "--pilot-setting", "other")


def test_a_pilot_of_two_chatbots_gives_the_discordance(write: Write) -> None:
    found = document("pm-sata", "--pilot", pilot(write))
    assert found["assumptions"]["discordance"] == 0.6
    assert found["turns"] == document("pm-sata", "--discordance", 0.6)["turns"]


def test_a_pilot_with_conversations_gives_a_design_effect(write: Write) -> None:
    rows = "".join(
        f"c{c},{t},SATA,{name},,{int((c + place) % 2)}\n"
        for c in range(8)
        for t in range(5)
        for place, name in enumerate("AB")
    )
    path = write("conversation_id,turn,setting,chatbot,position,selected\n" + rows)
    effect = document("pm-sata", "--pilot", path)["assumptions"]["pilot_design_effect"]
    assert effect > 4
    assert "With the pilot's design effect" in sized("pm-sata", "--pilot", path)


def test_people_get_the_turns_and_every_assumption() -> None:
    lines = sized("sm", "--baseline", ".7").splitlines()
    assert lines[0] == "sm: 165 turns"
    assert ["baseline", "0.7"] in [line.split() for line in lines]


@pytest.mark.parametrize(
    ("setting", "arguments", "said"),
    [
        ("mm-soba", "", "needs a pilot"),
        ("pm-soba", "--baseline .5", "has no baseline"),
        ("pm-sata", "--discordance 2", "discordance"),
        ("sm", "--baseline .95", "outside"),
        ("sm", "--alpha 0", "alpha"),
        ("sm", "--power 1", "power"),
        ("sm", "--pilot-setting x", "with --pilot"),
        ("sm", "--pilot /nowhere/at-all", "cannot be read"),
    ],
)
def test_what_makes_no_sense_has_status_2(setting: str, arguments: str, said: str) -> None:
    with pytest.raises(CommandError, match=said) as caught:
        sized(setting, *arguments.split())
    assert caught.value.returncode == 2


@pytest.mark.parametrize("arguments", ["pm", "sm --alpha small", "sm --chatbots 0"])
def test_the_parser_refuses_other_values(arguments: str) -> None:
    with pytest.raises(CommandError):
        sized(*arguments.split())


def test_pilots_of_different_chatbots_are_not_pooled(write: Write) -> None:
    path = write(json.dumps({"S": two_chatbots(), "T": {"10": 3, "11": 2}}))
    with pytest.raises(CommandError, match="--pilot-setting: 'S', 'T'"):
        sized("pm-sata", "--pilot", path)
