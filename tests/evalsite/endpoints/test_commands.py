"""Commands of live chatbots, and the caller of a process of Celery."""

import io
import threading
import time

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection

from evalsite.chatbots.models import Chatbot, Reply
from evalsite.endpoints.caller import Caller, SharedCaller
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Collection, Endpoint
from evalsite.endpoints.queue import endpoints_with_work
from evalsite.endpoints.services import endpoint_pause, endpoint_register
from evalsite.prompts.models import PromptSet
from tests.environment import PRODUCTION
from tests.evalsite.endpoints.server import ChatServer
from tests.evalsite.endpoints.steps import wanted
from tests.processes import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]
ASKED = ("collect_replies", "--organisation", "alice", "--chatbot", "Live bot", "--set", "Twelve")


@pytest.fixture
def live(chatbot: Chatbot, server: ChatServer, prompt_set: PromptSet) -> Endpoint:
    return endpoint_register(chatbot=chatbot, label="1", settings=wanted(url=server.url, timeout_s=30))


def test_collect_replies_shows_progress_until_the_end(live: Endpoint) -> None:
    stop, said = threading.Event(), io.StringIO()

    def call() -> None:
        Caller(owner="here:1").run_until(stop)
        connection.close()

    thread = threading.Thread(target=call)
    thread.start()
    call_command(*ASKED, stdout=said)
    stop.set()
    thread.join()
    assert said.getvalue().splitlines()[-1].startswith("12 of 12 replies, 0 failed, cost 0.0025 USD")
    assert Reply.objects.count() == 12


def test_collect_replies_pauses(live: Endpoint) -> None:
    said = io.StringIO()
    call_command(*ASKED, "--pause", stdout=said)
    assert Collection.objects.get().state == Collection.State.PAUSED
    assert "waits (paused)" in said.getvalue()


@pytest.mark.parametrize(
    ("change", "message"), [(("--label", "9"), "no such live version"), (("--set", "Thirteen"), "no prompt set")]
)
def test_collect_replies_names_what_is_missing(live: Endpoint, change: tuple[str, str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command(*ASKED, *change)


def test_collect_replies_says_that_the_endpoint_is_paused(live: Endpoint) -> None:
    endpoint_pause(endpoint=live)
    with pytest.raises(CommandError, match="Resume it first"):
        call_command(*ASKED)


def shared(number: int = 1, linger_s: float = 0.0) -> SharedCaller:
    """The caller of a process of this number."""
    return SharedCaller(lambda: f"here:{number}", linger_s=linger_s)


def test_message_of_celery_calls_until_nothing_is_due(live: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=live, prompt_set=prompt_set)
    assert endpoints_with_work() == [live.pk]
    shared().wake()
    assert endpoints_with_work() == []
    assert Collection.objects.get().state == Collection.State.COMPLETE


def test_processes_of_celery_together_keep_the_limit(live: Endpoint, server: ChatServer, prompt_set: PromptSet) -> None:
    server.delay_s = 0.05
    collection_start(endpoint=live, prompt_set=prompt_set)

    def run(number: int) -> None:
        while not Collection.objects.filter(state=Collection.State.COMPLETE).exists():
            shared(number).wake()
        connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most_running <= live.concurrency
    assert set(server.replies.values()) == {1}
    assert Reply.objects.count() == 12


def test_one_thread_of_a_process_calls_and_sees_later_work(
    live: Endpoint, server: ChatServer, prompt_set: PromptSet
) -> None:
    ours, server.delay_s = shared(linger_s=600), 0.05

    def run() -> None:
        ours.wake()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    wait_for(lambda: ours.is_running, what="the caller", every_s=0.01)
    collection_start(endpoint=live, prompt_set=prompt_set)
    ours.wake()  # returns, because the other thread calls
    wait_for(lambda: Reply.objects.count() == 12, what="all replies", every_s=0.01)
    ours.stop.set()
    thread.join()
    assert set(server.replies.values()) == {1}


def test_worker_without_threads_returns_after_its_slice(
    live: Endpoint, server: ChatServer, prompt_set: PromptSet
) -> None:
    server.delay_s = 0.2
    collection_start(endpoint=live, prompt_set=prompt_set)
    shared(linger_s=600).wake(until=time.monotonic() + 0.1)
    assert Reply.objects.count() == live.concurrency, "calls in progress are recorded, and none begins"


@pytest.mark.redis
@pytest.mark.skipif(not PRODUCTION, reason="the embedded form has no broker: its caller polls")
def test_new_work_sends_one_message_in_a_while(live: Endpoint, prompt_set: PromptSet) -> None:
    from evalsite.endpoints.tasks import WOKEN, callers_wake, messages_waiting

    cache.delete(WOKEN)
    before = messages_waiting()
    collection_start(endpoint=live, prompt_set=prompt_set)
    assert messages_waiting() - before == 1
    endpoint_test(endpoint=live)
    assert messages_waiting() - before == 1, "the caller that was woken sees this work, too"
    callers_wake()
    assert messages_waiting() - before == 2, "the sweep sends what a broker may have lost"
