"""Callers that are killed in the middle of their calls: no reply is missing, none is recorded twice."""

import os
import subprocess
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import dj_database_url
import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from evalsite.accounts.models import Organisation
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import Call, CallRequest, Collection, DailyCost
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.databases import connected
from tests.environment import REDIS_PREFIX, REDIS_URL
from tests.evalsite.endpoints.server import ChatServer
from tests.processes import Start, end, wait_for
from tests.templates import copy_of_postgresql

PROMPTS, KILLS, KEY = 60, 3, "the-key-of-callers-that-die-0123456789"
ENVIRONMENT = {"TOUCHSTONE_ENDPOINT_NETWORKS": "127.0.0.0/8", "TOUCHSTONE_ENDPOINT_KEYS": KEY}


def collecting(server: ChatServer) -> Collection:
    """Begin to collect the replies of an endpoint to all prompts."""
    owner = Organisation.objects.found(name="Lab")
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "") for n in range(PROMPTS)]
    prompt_set = prompt_set_create(organisation=owner, name="Sixty", prompts=new)
    chosen = EndpointSettings("openai", server.url, model="tiny", concurrency=4, timeout_s=20)
    chatbot = chatbot_create(organisation=owner, name="Live bot")
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=chosen, secret="a-secret-of-tests-01")
    return collection_start(endpoint=endpoint, prompt_set=prompt_set)


def killed(caller: "subprocess.Popen[str]", replies: int) -> None:
    """Kill the caller once so many replies are stored and calls are in progress."""

    def in_the_middle() -> bool:
        assert caller.poll() is None, "it ended by itself"
        running = CallRequest.objects.filter(state=CallRequest.State.RUNNING)
        return Reply.objects.count() >= replies and running.exists()

    wait_for(in_the_middle, what=f"{replies} replies", every_s=0.01)
    os.kill(caller.pid, 9)
    caller.wait()


@pytest.mark.postgresql
@pytest.mark.redis
@pytest.mark.database
def test_callers_on_postgresql_share_the_limit_and_the_work(manage: Start, django_db_blocker: DjangoDbBlocker) -> None:
    with copy_of_postgresql() as database:
        _two_callers(manage, database, django_db_blocker)


def _two_callers(manage: Start, database: str, django_db_blocker: DjangoDbBlocker) -> None:
    production = {
        "DATABASE_URL": database,
        "REDIS_URL": REDIS_URL,
        "TOUCHSTONE_REDIS_PREFIX": f"{REDIS_PREFIX}-callers",
        "SECRET_KEY": "callers-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJK",
        "ALLOWED_HOSTS": "127.0.0.1",
        **ENVIRONMENT,
    }
    with (
        django_db_blocker.unblock(),
        connected(dict(dj_database_url.parse(database))),
        override_settings(ENDPOINT_KEYS=[KEY], ENDPOINT_NETWORKS=[ip_network("127.0.0.0/8")]),
        ChatServer(delay_s=0.1) as server,
    ):
        # The endpoint allows four calls at once: three of one caller leave one for the other.
        callers = [manage("call_endpoints", "--slots", "3", **production) for _ in range(2)]
        wait_for(lambda: others_connected() >= len(callers), what="the connections of both")
        collection = collecting(server)
        wait_for(lambda: Reply.objects.count() > 20, what="replies", every_s=0.01)
        server.open.clear()
        running = CallRequest.objects.filter(state=CallRequest.State.RUNNING)
        wait_for(lambda: running.values("lease_owner").distinct().count() > 1, what="calls of both", every_s=0.01)
        os.kill(callers[0].pid, 9)
        dead = running.filter(lease_owner__endswith=f":{callers[0].pid}")
        assert dead.update(lease_until=timezone.now())  # nobody waits here until the leases of the dead one end
        server.open.set()
        wait_for(lambda: not Collection.objects.exclude(state="complete").exists(), what="the end of the collection")
        end(callers[1])
        assert server.most_running <= 4, "the limit of the endpoint holds over both"
        check_recorded(collection, server)
        connection.close()


def others_connected() -> int:
    """Return how many other connections this PostgreSQL database has."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        count: int = cursor.fetchone()[0]
    return count


def check_recorded(collection: Collection, server: ChatServer) -> None:
    """Every prompt has one reply, and each call is one row."""
    assert Reply.objects.values("prompt").distinct().count() == Reply.objects.count() == PROMPTS
    assert not collection.requests.exclude(state=CallRequest.State.DONE).exists()
    lost = Call.objects.filter(error_class="lost").count()
    assert Call.objects.filter(error_class="").count() == PROMPTS
    assert Call.objects.values("request", "attempt").distinct().count() == Call.objects.count()
    assert Call.objects.count() - lost <= len(server.requests) <= Call.objects.count(), "each call is a row"
    assert sum(server.replies.values()) - PROMPTS <= lost, "only what was not recorded is asked again"
    assert DailyCost.objects.get().calls == Call.objects.count()


@pytest.mark.database
def test_killed_callers_lose_nothing_and_record_nothing_twice(
    manage: Start, tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    database: dict[str, Any] = {**settings.SQLITE, "NAME": tmp_path / "data" / "touchstone.sqlite3"}
    networks = [ip_network("127.0.0.0/8")]
    with (
        django_db_blocker.unblock(),
        connected(database),
        override_settings(ENDPOINT_KEYS=[KEY], ENDPOINT_NETWORKS=networks),
        ChatServer(delay_s=0.05, fault=lambda number: (503, {}) if number % 5 == 0 else None) as server,
    ):
        collection = collecting(server)
        for kill in range(KILLS):
            killed(manage("call_endpoints", **ENVIRONMENT), 12 * (kill + 1))
        manage("call_endpoints", **ENVIRONMENT)
        wait_for(lambda: not Collection.objects.exclude(state="complete").exists(), what="the end of the collection")
        assert Call.objects.filter(error_class="lost").exists()
        check_recorded(collection, server)
        connection.close()
