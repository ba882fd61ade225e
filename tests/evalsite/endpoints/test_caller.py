"""The caller on real local servers: limits, shares of its threads, and what happens when the database is away."""

import threading
from typing import Any

import pytest
from django.db import OperationalError

from evalsite.chatbots.models import Chatbot, Reply
from evalsite.endpoints import caller
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Call, Collection, Endpoint, EndpointCheck
from evalsite.endpoints.recording import calls_record
from evalsite.endpoints.selectors import check_result
from evalsite.endpoints.services import endpoint_register
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import SECRET, call_all, make_due, wanted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


def live(chatbot: Chatbot, server: ChatServer, label: str = "1", **changes: Any) -> Endpoint:
    settings = wanted(url=server.url, timeout_s=30, **changes)
    return endpoint_register(chatbot=chatbot, label=label, settings=settings, secret=SECRET)


def test_every_prompt_is_asked_once_within_the_limit(
    chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet
) -> None:
    server.delay_s = 0.01
    collection = collection_start(endpoint=live(chatbot, server, concurrency=3), prompt_set=prompt_set)
    call_all()
    collection.refresh_from_db()
    assert collection.state == Collection.State.COMPLETE
    assert set(server.replies.values()) == {1}
    assert len(server.replies) == Reply.objects.count() == Call.objects.count() == 12
    assert server.most_running <= 3
    assert server.requests[0]["headers"]["Authorization"] == f"Bearer {SECRET}"
    assert Reply.objects.get(prompt__key="p03").text == "Re: Question 3?"


def test_test_runs_its_three_turns(chatbot: Chatbot, server: ChatServer) -> None:
    endpoint_test(endpoint=live(chatbot, server))
    call_all()
    assert check_result(EndpointCheck.objects.get()).state == "passed"
    assert [len(request["body"]["messages"]) for request in server.requests] == [1, 3, 5]


def test_failures_of_a_fifth_leave_no_gap(chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet) -> None:
    server.fault = lambda number: (503, {}) if number % 5 == 0 else None
    collection_start(endpoint=live(chatbot, server, concurrency=1), prompt_set=prompt_set)
    while Collection.objects.get().state != Collection.State.COMPLETE:
        call_all()
        make_due()
    assert Reply.objects.count() == 12
    assert Call.objects.count() == len(server.requests) > 12


def test_results_wait_while_the_database_is_away(
    chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = iter([True, True])

    def away(results: Any) -> int:
        if results and next(refusals, False):
            raise OperationalError("the server is restarting")
        return calls_record(results)

    monkeypatch.setattr(caller, "calls_record", away)
    collection_start(endpoint=live(chatbot, server), prompt_set=prompt_set)
    call_all()
    assert Reply.objects.count() == 12
    assert set(server.replies.values()) == {1}, "nothing is asked twice"


def test_result_that_cannot_be_stored_leaves_others_alone(
    chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def picky(results: Any) -> int:
        if any(result.planned.messages[-1].content == "Question 5?" for result in results):
            raise ValueError("it cannot be stored")
        return calls_record(results)

    monkeypatch.setattr(caller, "calls_record", picky)
    collection_start(endpoint=live(chatbot, server), prompt_set=prompt_set)
    call_all()
    assert Reply.objects.count() == 11


def test_hanging_endpoint_delays_no_other(chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet) -> None:
    with ChatServer(delay_s=5) as slow:
        for label in ("2", "3"):
            collection_start(endpoint=live(chatbot, slow, label, concurrency=8), prompt_set=prompt_set)
        collection_start(endpoint=live(chatbot, server, "4"), prompt_set=prompt_set)
        stop = threading.Event()
        fast = Collection.objects.get(endpoint__version__label="4")

        def done() -> bool:
            return len(server.replies) == 12

        running = caller.Caller(owner="here:1", slots=12)
        thread = threading.Thread(target=_until, args=(done, stop))
        thread.start()
        running.run_until(stop)
        thread.join()
        assert len(slow.replies) < 24, "the slow ones were not waited for"
    assert fast.endpoint.version.replies.count() == 12


def _until(done: Any, stop: threading.Event) -> None:
    while not done():
        threading.Event().wait(0.02)
    stop.set()


@pytest.mark.parametrize(
    ("waiting", "in_progress", "found"),
    [
        ([1], {}, {1: 12}),
        ([1, 2], {}, {1: 6, 2: 6}),
        ([2], {1: 12}, {2: 4}),
        ([1, 2], {1: 12}, {2: 4}),
        ([1], {1: 12, 2: 4}, {}),
    ],
)
def test_endpoints_share_the_slots(waiting: list[int], in_progress: dict[int, int], found: dict[int, int]) -> None:
    assert caller.rooms(waiting, in_progress, 16) == found
