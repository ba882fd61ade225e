"""Annotation of conversations by the API: the sample size, labels, ratings, and wrong requests."""

from typing import Any

import pytest

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.services import conversation_set_open, conversations_add
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.scorecards.test_annotation import conversation
from tests.shared import shared


@shared
def talks(alice: User) -> ConversationSet:
    found = conversation_set_open(organisation=alice.personal_organisation, name="Talks")
    conversations_add(conversation_set=found, conversations=[conversation(n, f"Bot {'AB'[n % 2]}") for n in range(4)])
    return found


@pytest.fixture
def owner_api(alice: User) -> Api:
    return Api(api_token_issue(user=alice, name="all", scopes=ApiToken.Scope.values, days=1))


def annotate(api: Api, talks: ConversationSet, **body: Any) -> Any:
    return api.post(f"/api/v1/conversation_sets/{talks.public_id}/annotations", {"name": "Errors", **body})


def test_check_answers_the_sample_size_alone(owner_api: Api, talks: ConversationSet) -> None:
    answer = annotate(owner_api, talks, share=0.5, votes=2, check=True)
    assert answer.status_code == 200
    assert (answer.json()["judgments"], answer.json()["campaign"]) == (12, None)
    assert not Campaign.objects.exists()


def test_rating_is_asked_on_its_scale(owner_api: Api, talks: ConversationSet) -> None:
    answer = annotate(owner_api, talks, number=2, kind="rating", minimum=1, maximum=5, error_below=2.5)
    assert (answer.status_code, answer.json()["campaign"]["state"]) == (201, "running")
    campaign = Campaign.objects.get()
    aspect = campaign.rubric.aspects.get()
    assert (aspect.question, aspect.minimum, aspect.maximum) == ("How good is this reply?", 1, 5)
    assert campaign.annotation.error_below == 2.5


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "share"),
        ({"share": 0.5, "number": 3}, "share"),
        ({"number": 2, "labels": ["one"]}, "aspects"),
        ({"number": 2, "kind": "rating", "minimum": 5, "maximum": 1}, "aspects"),
        ({"number": 2, "error_below": 1}, "error_below"),
    ],
)
def test_wrong_request_is_named_and_nothing_is_made(
    owner_api: Api, talks: ConversationSet, body: dict[str, Any], field: str
) -> None:
    assert error_of(annotate(owner_api, talks, **body))["field"] == field
    assert not Campaign.objects.exists()
