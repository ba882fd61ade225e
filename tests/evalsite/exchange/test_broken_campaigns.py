"""Broken campaign files keep their line, key, error code and message: broken_campaigns.yaml lists them."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command

from evalsite.exchange.campaign_file import CampaignFileError, campaign_read

FOLDER = Path(__file__).parent
WHOLE = (FOLDER / "whole_campaign.yaml").read_text(encoding="utf-8")
CASES = yaml.load((FOLDER / "broken_campaigns.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def changed(case: dict[str, Any]) -> str:
    """Return the whole campaign's file with the change of the case."""
    if "file" in case:
        return str(case["file"])
    content = WHOLE
    for old, new in [(_replaced(case), case["by"]), *case.get("also", [])]:
        assert content.count(old), f"{old!r} is not in whole_campaign.yaml"
        content = content.replace(old, new, 1)
    letter, times = case.get("fill", ("", 0))
    return content.replace("FILL", letter * times)


def _replaced(case: dict[str, Any]) -> str:
    if "section" not in case:
        return str(case["replace"])
    found = re.search(rf"(?ms)^{case['section']}:.*?(?=^[a-z]|\Z)", WHOLE)
    return found[0] if found else ""


def test_the_file_that_cases_change_is_right() -> None:
    read = campaign_read(WHOLE)
    assert (len(read.aspects), len(read.prompts), len(read.chatbots)) == (2, 3, 2)
    assert (len(read.gold), len(read.qualification)) == (2, 2)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_broken_file_names_line_key_and_code(case: dict[str, Any]) -> None:
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(changed(case))
    expected = [tuple(problem) for problem in case["problems"]]
    words = [first_words for _, _, first_words in expected]
    problems = caught.value.problems
    found = [(one.line, one.key, _begun(one.message, words)) for one in problems]
    assert sorted(found) == sorted(expected), "\n".join(str(one) for one in problems)
    assert caught.value.code == case["code"]


def _begun(message: str, beginnings: list[str]) -> str:
    """Return which of the beginnings the message has, the longest one; the message where it has none."""
    return max((words for words in beginnings if message.startswith(words)), key=len, default=message)


def test_problems_stand_in_order_of_lines() -> None:
    case = next(case for case in CASES if case["name"] == "four errors at once")
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(changed(case))
    lines = [problem.line for problem in caught.value.problems]
    assert lines == sorted(lines)
    assert caught.value.field == caught.value.problems[0].key


@pytest.mark.parametrize("content", [WHOLE.encode("utf-16"), WHOLE.replace("kinder", "größer").encode("latin-1")])
def test_file_that_is_not_utf8_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=r"campaign\.yaml is not UTF-8\.") as caught:
        call_command("campaign", "validate", file)
    assert caught.value.returncode == 2


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"absent\.yaml cannot be read \(No such file or directory\)\."):
        call_command("campaign", "validate", tmp_path / "absent.yaml")


def test_command_prints_one_problem_per_line(tmp_path: Path) -> None:
    file = tmp_path / "campaign.yaml"
    file.write_text(WHOLE.replace("batch_size: 50", "batch_size: 0").replace("speaker: chatbot", "speaker: robot", 1))
    with pytest.raises(CommandError) as caught:
        call_command("campaign", "validate", file)
    head, *lines = str(caught.value).splitlines()
    assert head == f"{file}:"
    assert [line.split(": ")[:2] for line in lines] == [
        ["line 11", "campaign.batch_size"],
        ["line 51", "prompts.1.turns.1.speaker"],
    ]
    assert caught.value.returncode == 2
