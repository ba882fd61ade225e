"""Requests are claimed once, within the limits of their endpoint, and recorded once."""

import threading
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Call, CallRequest, Endpoint
from evalsite.endpoints.queue import calls_claim, endpoints_with_work, leases_release
from evalsite.endpoints.recording import CallResult, calls_record, lost_calls_requeue
from evalsite.endpoints.services import endpoint_pause, endpoint_update
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import claim, said, wanted, work

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture(autouse=True)
def collecting(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)


def test_claims_stay_below_the_concurrency_limit(endpoint: Endpoint) -> None:
    assert len(claim(endpoint, 3)) == 3
    assert len(claim(endpoint, 3, owner="there:2")) == 1, "four at once, whoever calls"
    assert claim(endpoint, owner="there:2") == []
    assert endpoints_with_work() == []


def test_claimed_call_holds_the_whole_request(endpoint: Endpoint) -> None:
    (plan,) = claim(endpoint, 1)
    assert [(message.role, message.content) for message in plan.messages] == [("user", "Question 0?")]
    assert (plan.options.model, plan.timeout_s, plan.attempt) == ("tiny", 60, 1)
    assert plan.options.secret not in repr(plan)


def test_result_is_recorded_once(endpoint: Endpoint) -> None:
    (plan,) = claim(endpoint, 1)
    assert calls_record([CallResult(plan, said())]) == 1
    assert calls_record([CallResult(plan, said())]) == 0
    assert calls_record([CallResult(plan, said("other")), CallResult(plan, said("other"))]) == 0
    assert Call.objects.count() == 1
    assert endpoint.version.replies.get().text == "An answer."


def test_caller_without_its_lease_records_nothing(endpoint: Endpoint) -> None:
    (late,) = claim(endpoint, 1)
    CallRequest.objects.filter(pk=late.request_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert lost_calls_requeue() == 1
    (early,) = [plan for plan in claim(endpoint, 12, owner="there:2") if plan.request_id == late.request_id]
    assert calls_record([CallResult(late, said("late"))]) == 0
    assert calls_record([CallResult(early, said("early"))]) == 1
    assert endpoint.version.replies.get().text == "early"


def test_lost_call_is_recorded_and_costs_its_reservation(endpoint: Endpoint) -> None:
    (plan,) = claim(endpoint, 1)
    CallRequest.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    lost_calls_requeue()
    call = Call.objects.get()
    assert (call.error_class, call.cost, call.cost_estimated) == ("lost", plan.reserved, True)
    request = CallRequest.objects.get(pk=plan.request_id)
    assert (request.state, request.losses, request.reserved) == (CallRequest.State.QUEUED, 1, Decimal(0))


def test_request_that_kills_its_callers_is_given_up(endpoint: Endpoint) -> None:
    CallRequest.objects.exclude(pk=CallRequest.objects.order_by("pk")[0].pk).update(state=CallRequest.State.HELD)
    for _ in range(5):
        assert len(claim(endpoint, 1)) == 1
        CallRequest.objects.filter(state="running").update(lease_until=timezone.now() - timedelta(seconds=1))
        lost_calls_requeue()
    assert CallRequest.objects.order_by("pk")[0].state == CallRequest.State.FAILED


def test_leases_of_dead_callers_of_this_host_end(endpoint: Endpoint) -> None:
    claim(endpoint, 1, owner="here:1")
    claim(endpoint, 1, owner="here:2")
    claim(endpoint, 1, owner="there:1")
    assert leases_release(host="here", alive=lambda pid: pid == 2) == 1
    assert lost_calls_requeue() == 1


def test_paused_endpoint_gets_no_calls(endpoint: Endpoint) -> None:
    endpoint_pause(endpoint=endpoint)
    assert claim(endpoint) == []
    assert endpoints_with_work() == []


def test_raised_limit_admits_more_calls(endpoint: Endpoint) -> None:
    claim(endpoint)
    endpoint_update(endpoint=endpoint, settings=wanted(concurrency=6))
    assert len(claim(endpoint)) == 2


def test_calls_are_never_changed_or_deleted(endpoint: Endpoint) -> None:
    work(endpoint, said())
    with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
        Call.objects.update(cost=0)
    with pytest.raises(IntegrityError, match="stay"), transaction.atomic():
        Call.objects.all()._raw_delete(connection.alias)
    assert Call.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_callers_together_keep_the_limit(endpoint: Endpoint) -> None:
    found: list[int] = []
    begin = threading.Barrier(2)

    def claims(owner: str) -> None:
        begin.wait()
        for _ in range(20):
            found.extend(plan.request_id for plan in calls_claim(owner=owner, room={endpoint.pk: 1}))
        connection.close()

    threads = [threading.Thread(target=claims, args=(owner,)) for owner in ("here:1", "there:2")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(set(found)) == endpoint.concurrency
