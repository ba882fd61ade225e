"""What ends a draft is set and read by a program, and its target extended."""

import pytest

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.core.audit import audit_of
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared

LIMITS = "/api/v1/campaigns/trial/limits"
NONE = {"target_se": None, "min_difference": None, "alpha": 0.05, "power": 0.8, "budget": None, "deadline": None}


def program(user: User) -> Api:
    return Api(api_token_issue(user=user, name="t", scopes=[ApiToken.Scope.ACTS, ApiToken.Scope.CAMPAIGNS], days=1))


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(start=False)


def test_limits_are_set_read_and_logged(draft: Campaign, alice: User) -> None:
    api = program(alice)
    wanted = {"min_difference": 0.4, "power": 0.9, "budget": 500, "deadline": "2090-05-04T20:00:00+02:00"}
    answer = api.put(LIMITS, wanted)
    assert answer.status_code == 200
    assert answer.json()["limits"] == {**NONE, **wanted, "deadline": "2090-05-04T18:00:00+00:00"}
    assert api.get("/api/v1/campaigns/trial").json()["limits"] == answer.json()["limits"]
    assert audit_of(draft.public_id)[0].after["min_difference"] == 0.4
    assert api.put(LIMITS, {"budget": 9}).json()["limits"] == {**NONE, "budget": 9}, "what is absent ends it no more"


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"target_se": 0.2, "min_difference": 0.4}, "min_difference"),
        ({"target_se": "0.2"}, "target_se"),
        ({"target_se": 10**400}, "target_se"),
        ({"target_se": 1e-320}, "target_se"),
        ({"min_difference": 0.0001}, "min_difference"),
        ({"power": 0.01}, "power"),
        ({"budget": 0}, "budget"),
        ({"deadline": "tomorrow"}, "deadline"),
        ({"deadline": "2090-05-04T20:00:00"}, "deadline"),
        ({"targetse": 0.2}, "targetse"),
    ],
)
def test_what_cannot_be_is_refused_by_name(draft: Campaign, alice: User, sent: dict[str, object], field: str) -> None:
    answer = program(alice).put(LIMITS, sent)
    assert (answer.status_code, error_of(answer)["field"]) == (400, field)


def test_only_who_sets_up_does_it_and_only_in_a_draft(draft: Campaign, alice: User, charlie: User) -> None:
    CampaignRole.objects.create(campaign=draft, user=charlie, role="viewer")
    assert program(charlie).put(LIMITS, {"budget": 9}).status_code == 403
    assert Api().put(LIMITS, {"budget": 9}).status_code == 403
    Campaign.objects.update(state="running")
    assert program(alice).put(LIMITS, {"budget": 9}).status_code == 409


def test_a_target_is_extended_and_a_looser_one_is_refused_with_a_hint(campaign: Campaign, alice: User) -> None:
    api = program(alice)
    answer = api.post("/api/v1/campaigns/trial/acts/extend", {"target_se": 0.2})
    assert (answer.status_code, error_of(answer)["field"]) == (400, "target_se")
    assert error_of(answer)["hint"] == "Give one that is smaller."
    answer = api.post("/api/v1/campaigns/trial/acts/extend", {"target_se": 0.04})
    assert answer.json()["limits"]["target_se"] == 0.04
