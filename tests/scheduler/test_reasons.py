"""Reasons: a code with parameters, and its English sentence."""

from __future__ import annotations

import re

import pytest

from scheduler.reasons import TEMPLATES, Reason, Template


def test_reason_without_a_template_shows_its_code() -> None:
    assert str(Reason("100% custom")) == "100% custom"


def test_caller_may_give_own_templates() -> None:
    assert Reason("mine", {"n": 2.0}).text({"mine": Template("%(n)s left", {"n": ".1f"})}) == "2.0 left"


def test_further_reasons_follow_after_a_semicolon() -> None:
    reason = Reason("budget_spent", {"judgments": 20}).and_also(Reason("no_fit"))
    assert str(reason) == "the budget of 20 judgments is spent; there is no fit yet"


def test_budgets_are_written_with_groups_of_three_digits() -> None:
    assert str(Reason("budget_spent", {"judgments": 1440})) == "the budget of 1,440 judgments is spent"


def test_json_keeps_nested_and_further_reasons() -> None:
    reason = Reason("goal_out_of_reach", {"rest": Reason("no_fit")}).and_also(Reason("budget_left", {"judgments": 3}))
    assert Reason.from_json(reason.as_json()) == reason


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_formats_name_gaps_of_their_template(code: str) -> None:
    template = TEMPLATES[code]
    assert set(template.formats) <= set(re.findall(r"%\((\w+)\)s", template.text))
