"""Analysis plans: set in a draft, frozen and hashed at the launch."""

from typing import Any

import pytest

from evalsite.accounts.models import Organisation, User
from evalsite.boards.analysis_plans import (
    plan_freeze,
    plan_hash,
    plan_of,
    plan_set,
    planned_tests,
    sample_size_of,
    size_setting,
)
from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.refits.designs import rules_of
from scheduler import SampleSize
from tests.evalsite.live_rows import live_campaign_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def endpoint_keys(settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@pytest.fixture
def draft(organisation: Organisation) -> Campaign:
    return live_campaign_rows(organisation, state="draft", selection="sata")


def test_launch_freezes_and_hashes_the_plan(draft: Campaign, alice: User) -> None:
    plan_set(campaign=draft, values={"turns": 667, "stops": True}, by=alice)
    plan_freeze(draft)
    plan = plan_of(draft)
    assert plan.content is not None
    assert plan.content["tests"] == ["McNemar"]
    assert (plan.content["turns"], plan.content["discordance"]) == (667, 0.85)
    assert plan.sha256 == plan_hash(plan.content)
    assert planned_tests(plan) == {"McNemar"}


def test_a_frozen_plan_does_not_change(draft: Campaign) -> None:
    plan_freeze(draft)
    first = plan_of(draft)
    LiveSettings.objects.filter(campaign=draft).update(chatbots_per_conversation=3)
    draft.refresh_from_db()
    plan_freeze(draft)
    assert plan_of(draft).sha256 == first.sha256
    with pytest.raises(Conflict):
        plan_set(campaign=draft, values={"alpha": 0.01})


def test_sample_size_is_a_stopping_rule(draft: Campaign) -> None:
    assert sample_size_of(draft) is None
    plan_set(campaign=draft, values={"turns": 196, "stops": True})
    assert SampleSize(196) in rules_of(draft)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"alpha": 1.5}, "alpha"),
        ({"difference": 0}, "difference"),
        ({"turns": 0}, "turns"),
        ({"stops": True}, "turns"),
    ],
    ids=["alpha", "difference", "turns", "stop without a size"],
)
def test_values_outside_their_range_are_refused(draft: Campaign, values: dict, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        plan_set(campaign=draft, values=values)
    assert caught.value.field == field
    assert plan_of(draft).pk is None


@pytest.mark.parametrize(
    ("chatbots", "selection", "name"),
    [(1, "sata", "sm"), (2, "soba", "pm-soba"), (2, "sata", "pm-sata"), (4, "soba", "mm-soba"), (8, "sata", "mm-sata")],
    ids=str,
)
def test_settings_have_the_names_of_the_command(chatbots: int, selection: str, name: str) -> None:
    assert size_setting(LiveSettings(chatbots_per_conversation=chatbots, selection=selection)) == name
