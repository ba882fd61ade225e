"""Over HTTP: hold a block longer, take an answer back, leave, and see what one has done."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Assignment, Judgment
from tests.evalsite.api.client import CLAIMS, Api, answer, error_of, judgment_url

RETURNS, PROGRESS = "/api/v1/campaigns/trial/returns", "/api/v1/campaigns/trial/progress"


def renewal_url(assignment: Any) -> str:
    return f"/api/v1/assignments/{assignment['id']}/renewal"


def test_a_lease_is_renewed_for_the_whole_block(api: Api, block: Any) -> None:
    response = api.post(renewal_url(block[0]))
    assert response.status_code == 200
    again = api.post(CLAIMS).json()["assignments"]
    assert {one["lease_until"] for one in again} == {response.json()["lease_until"]}
    assert response.json()["lease_until"] > block[0]["lease_until"]


def test_an_answered_assignment_has_no_lease_to_renew(api: Api, assignment: Any) -> None:
    api.post(judgment_url(assignment), answer())
    response = api.post(renewal_url(assignment))
    assert (response.status_code, error_of(response)["code"]) == (409, "answered")


def test_an_answer_is_taken_back_by_naming_it(api: Api, assignment: Any) -> None:
    first = api.post(judgment_url(assignment), answer("A")).json()
    second = api.post(judgment_url(assignment), answer("B", supersedes=first["judgment"]))
    assert second.status_code == 201
    assert second.json()["supersedes"] == first["judgment"]
    assert Judgment.objects.count() == 2


@pytest.mark.parametrize("name", [1, "", "not-an-id", None, "\u0000"])
def test_what_names_no_judgment_is_a_bad_request(api: Api, assignment: Any, name: Any) -> None:
    api.post(judgment_url(assignment), answer("A"))
    response = api.post(judgment_url(assignment), answer("B", supersedes=name))
    assert (response.status_code, error_of(response)["field"]) == (400, "supersedes")


def test_who_leaves_gives_back_the_rest_of_the_block(api: Api, block: Any) -> None:
    api.post(judgment_url(block[0]), answer())
    assert api.post(RETURNS).json() == {"returned": len(block) - 1}
    assert not Assignment.objects.filter(state=Assignment.State.ISSUED).exists()
    response = api.post(judgment_url(block[1]), answer())
    assert (response.status_code, error_of(response)["code"]) == (409, "returned")


def test_progress_tells_what_was_done_and_earned(api: Api, campaign: Campaign) -> None:
    Campaign.objects.update(pay_rate=Decimal("0.1250"), quota=7)
    block = api.post(CLAIMS).json()["assignments"]
    for one in block[:2]:
        api.post(judgment_url(one), answer())
    assert api.get(PROGRESS).json() == {
        "judgments": 2,
        "open": len(block) - 2,
        "quota": 7,
        "pay": [{"currency": "USD", "amount": "0.2500"}],
        "provisional": False,
    }


@pytest.mark.parametrize("path", [RETURNS, PROGRESS])
def test_a_campaign_that_was_not_joined_is_not_found(api: Api, path: str) -> None:
    other = path.replace("trial", "other")
    response = api.get(other) if path == PROGRESS else api.post(other)
    assert response.status_code == 404


def test_a_late_answer_says_whether_it_counts_and_whether_it_is_paid(api: Api, block: Any) -> None:
    Campaign.objects.update(quota=len(block))
    Assignment.objects.filter(state="issued").update(pay_rate=1, lease_until=timezone.now() - timedelta(seconds=1))
    api.post(CLAIMS)
    above = api.post(judgment_url(block[0]), answer())
    assert (above.status_code, told(above)) == (201, {"late": True, "counts": False, "paid": False})
    api.post(RETURNS)
    within = api.post(judgment_url(block[1]), answer())
    assert (within.status_code, told(within)) == (201, {"late": True, "counts": True, "paid": True})
    again = api.post(judgment_url(block[0]), answer())
    assert (again.status_code, told(again)) == (200, told(above))
    assert api.get(PROGRESS).json()["judgments"] == 1


def told(response: Any) -> dict[str, bool]:
    return {name: response.json()[name] for name in ("late", "counts", "paid")}
