"""What follows from the outcome of a call: a reply, another attempt, a failed request, a held endpoint."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from evalsite.chatbots.models import Reply
from evalsite.endpoints.collecting import collection_pause, collection_resume, collection_retry, collection_start
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import Call, CallRequest, Collection, Endpoint
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.endpoints.retries import ATTEMPTS
from evalsite.endpoints.selectors import collection_progress
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import claim, failed, make_due, said, work

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def collection(endpoint: Endpoint, prompt_set: PromptSet) -> Collection:
    return collection_start(endpoint=endpoint, prompt_set=prompt_set)


def only(collection: Collection) -> CallRequest:
    """Leave one request of the collection to do."""
    first = collection.requests.order_by("pk")[0]
    collection.requests.exclude(pk=first.pk).update(state=CallRequest.State.DONE)
    return first


def test_reply_becomes_a_row_of_the_version(collection: Collection, endpoint: Endpoint) -> None:
    work(endpoint, said("Seven.", flags=("truncated",), fingerprint="fp-9"))
    reply = Reply.objects.get()
    assert (reply.version, reply.text, reply.origin) == (endpoint.version, "Seven.", Reply.Origin.ENDPOINT)
    call = Call.objects.get()
    assert (call.status, call.model_name, call.fingerprint, call.flags) == (200, "tiny-1", "fp-9", ["truncated"])
    assert (call.input_tokens, call.output_tokens, call.cost_estimated) == (10, 20, False)
    assert str(call.cost.normalize()) == "0.00021"


def test_every_prompt_gets_one_reply_and_the_collection_ends(collection: Collection, endpoint: Endpoint) -> None:
    while work(endpoint, *[said()] * 4):
        pass
    collection.refresh_from_db()
    assert collection.state == Collection.State.COMPLETE
    assert Reply.objects.count() == Call.objects.count() == 12
    assert collection_progress(collection).percent == 100


def test_failed_call_is_repeated_after_a_delay(collection: Collection, endpoint: Endpoint) -> None:
    request = only(collection)
    work(endpoint, failed(ErrorClass.SERVER_ERROR))
    assert claim(endpoint) == []
    make_due()
    work(endpoint, said())
    request.refresh_from_db()
    assert (request.state, request.attempts) == (CallRequest.State.DONE, 2)


def test_request_fails_after_three_rounds(collection: Collection, endpoint: Endpoint) -> None:
    request, count = only(collection), 0
    Endpoint.objects.update(state=Endpoint.State.HEALTHY)
    while work(endpoint, failed(ErrorClass.TIMEOUT, status=None)):
        count += 1
        Endpoint.objects.update(state=Endpoint.State.HEALTHY)
        make_due()
    request.refresh_from_db()
    assert (request.state, count) == (CallRequest.State.FAILED, 3 * ATTEMPTS)
    collection.refresh_from_db()
    assert collection.state == Collection.State.COMPLETE
    assert collection_progress(collection).errors == {"timeout": 1}


def test_rejected_request_is_not_repeated(collection: Collection, endpoint: Endpoint) -> None:
    request = only(collection)
    work(endpoint, failed(ErrorClass.REJECTED, status=400))
    request.refresh_from_db()
    assert request.state == CallRequest.State.FAILED


@pytest.mark.parametrize("text", ["", "  \n", "half \ud800", "nul \0"])
def test_text_that_cannot_be_stored_is_no_reply(collection: Collection, endpoint: Endpoint, text: str) -> None:
    work(endpoint, said(text))
    assert not Reply.objects.exists()
    assert Call.objects.get().error_class in {"empty", "bad_response"}


def test_rate_limit_holds_the_whole_endpoint(collection: Collection, endpoint: Endpoint) -> None:
    work(endpoint, failed(ErrorClass.RATE_LIMITED, status=429, retry_after_s=90))
    endpoint.refresh_from_db()
    assert endpoint.wait_until is not None
    assert endpoint.wait_until - timezone.now() > timedelta(seconds=80)
    assert claim(endpoint) == []
    assert collection_progress(Collection.objects.get()).waits_for == "rate_limited"


def test_retry_after_of_an_hour_is_kept_to(collection: Collection, endpoint: Endpoint) -> None:
    work(endpoint, failed(ErrorClass.RATE_LIMITED, status=429, retry_after_s=3600))
    for minutes, due in ((0, 0), (11, 0), (59, 0), (61, 4)):
        with time_machine.travel(timezone.now() + timedelta(minutes=minutes), tick=False):
            assert len(claim(endpoint)) == due


def test_retry_after_of_days_is_shortened(collection: Collection, endpoint: Endpoint) -> None:
    request = only(collection)
    work(endpoint, failed(ErrorClass.RATE_LIMITED, status=429, retry_after_s=1e9))
    request.refresh_from_db()
    assert request.state == CallRequest.State.QUEUED
    assert request.run_after - timezone.now() < timedelta(hours=2)


def test_paused_collection_keeps_what_arrives_and_asks_no_more(collection: Collection, endpoint: Endpoint) -> None:
    plans = claim(endpoint, 2)
    collection_pause(collection=collection)
    assert claim(endpoint) == []
    calls_record([CallResult(plans[0], said()), CallResult(plans[1], failed(ErrorClass.SERVER_ERROR))])
    make_due()
    assert claim(endpoint) == [], "what failed meanwhile waits, too"
    assert Reply.objects.count() == 1
    collection_resume(collection=collection)
    make_due()
    assert len(claim(endpoint)) == 4


def test_later_collection_asks_only_for_what_is_missing(
    collection: Collection, endpoint: Endpoint, prompt_set: PromptSet
) -> None:
    work(endpoint, failed(ErrorClass.REJECTED, status=400))
    while work(endpoint, *[said()] * 4):
        pass
    again = collection_retry(collection=collection)
    assert again != collection
    assert again.requests.count() == 1
    assert collection_start(endpoint=endpoint, prompt_set=prompt_set) == again
