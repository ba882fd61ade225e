"""Labels and ratings through the API of annotators."""

from dataclasses import replace
from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Answer
from tests.evalsite.api.client import CLAIMS, error_of, judgment_url
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.single import LABELS, QUALITY, SINGLE

FINE = {"aspect": "error", "labels": ["correct"]}
GOOD = {"aspect": "quality", "rating": 5}


@pytest.fixture
def campaign(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(design=replace(SINGLE, aspects=(LABELS, QUALITY)), chatbots=1, prompts=3)


def test_assignment_has_one_reply_and_offers_the_answers(assignment: Any) -> None:
    assert [one["label"] for one in assignment["candidates"]] == ["A"]
    offered = {one["key"]: (one["kind"], one["choices"], one["one_label"]) for one in assignment["aspects"]}
    assert offered == {
        "error": ("label", list(LABELS.labels), True),
        "quality": ("rating", ["1", "2", "3", "4", "5"], False),
    }


def test_answers_are_recorded_once(api: Any, assignment: Any) -> None:
    first = api.post(judgment_url(assignment), {"answers": [FINE, GOOD]})
    again = api.post(judgment_url(assignment), {"answers": [FINE, GOOD]})
    other = api.post(judgment_url(assignment), {"answers": [FINE, {"aspect": "quality", "rating": 1}]})
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    assert set(Answer.objects.values_list("value", flat=True)) == {"correct", "5"}


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"aspect": "error", "labels": ["wrong"]}, "answers.0.labels"),
        ({"aspect": "error", "labels": []}, "answers"),
        ({"aspect": "error", "choice": "correct"}, "answers.0.labels"),
        ({"aspect": "error"}, "answers.0.choice"),
        ({"aspect": "error", "labels": ["correct"], "rating": 3}, "answers.0"),
    ],
)
def test_wrong_answer_names_its_field(api: Any, assignment: Any, wrong: dict[str, Any], field: str) -> None:
    refused = api.post(judgment_url(assignment), {"answers": [wrong, GOOD]})
    assert refused.status_code == 400
    assert error_of(refused)["field"] == field
    assert not Answer.objects.exists()


def test_claim_goes_on_after_a_block(api: Any, block: Any) -> None:
    for one in block:
        assert api.post(judgment_url(one), {"answers": [FINE, GOOD]}).status_code == 201
    assert api.post(CLAIMS).json()["assignments"] == []
