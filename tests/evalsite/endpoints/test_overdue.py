"""Due calls that nobody makes are noticed; calls that wait for something else are not."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.overdue import overdue_s
from evalsite.endpoints.services import endpoint_pause
from evalsite.operations.service_health import service_health_get
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import claim, failed, said, work

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def collecting(endpoint: Endpoint, prompt_set: PromptSet) -> None:
    collection_start(endpoint=endpoint, prompt_set=prompt_set)


def later() -> time_machine.travel:
    return time_machine.travel(timezone.now() + timedelta(minutes=5), tick=False)


def test_due_call_without_a_caller_is_a_trouble() -> None:
    assert "caller" not in service_health_get().troubles
    with later():
        assert overdue_s() == pytest.approx(300, abs=10)
        assert "caller" in service_health_get().troubles


def test_caller_at_work_is_seen(endpoint: Endpoint) -> None:
    with later():
        claim(endpoint, 1)
        assert overdue_s() is None
    with later():
        work(endpoint, said())
        assert (overdue_s() or 0) < 1


def test_endpoint_that_may_not_be_called_is_no_trouble(endpoint: Endpoint) -> None:
    work(endpoint, failed(ErrorClass.UNAUTHORIZED, status=401))
    with later():
        assert overdue_s() is None, "it waits for its owner"
    endpoint_pause(endpoint=endpoint)
    with later():
        assert overdue_s() is None
