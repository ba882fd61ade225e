"""Money is reserved before a call and settled after it; at a cap no call begins."""

from datetime import timedelta
from decimal import Decimal

import pytest
import time_machine
from django.utils import timezone

from evalsite.chatbots.models import Chatbot
from evalsite.core.errors import Conflict
from evalsite.endpoints.call import CallOutcome
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import Call, Endpoint
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.endpoints.selectors import collection_progress, daily_costs, endpoint_cost
from evalsite.endpoints.services import endpoint_register, endpoint_update
from evalsite.prompts.models import PromptSet
from tests.evalsite.endpoints.steps import claim, failed, said, wanted, work

pytestmark = [pytest.mark.django_db, pytest.mark.database]
CALL = Decimal("0.0101")  # a little more than what is reserved for a call: 1,000 tokens, and the prompt


def all_tokens() -> CallOutcome:
    """A reply as long as it may be: with its prompt it costs CALL."""
    return said(prompt_tokens=100, completion_tokens=1000)


@pytest.fixture
def capped(chatbot: Chatbot, prompt_set: PromptSet) -> Endpoint:
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=wanted(daily_cap=3 * CALL))
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    return endpoint


def test_reservations_count_against_the_cap(capped: Endpoint) -> None:
    plans = claim(capped)
    assert len(plans) == 3, "although four may run at once"
    assert claim(capped) == []
    assert all(Decimal("0.01") < plan.reserved < CALL for plan in plans)


def test_settled_calls_free_what_was_reserved(capped: Endpoint) -> None:
    calls_record([CallResult(plan, said()) for plan in claim(capped)])
    cost = endpoint_cost(capped)
    assert (cost.today, cost.total, cost.calls, cost.at_cap) == (Decimal("0.00063"), Decimal("0.00063"), 3, "")
    assert len(claim(capped)) == 2


def test_at_the_cap_no_call_begins_and_running_ones_end(capped: Endpoint) -> None:
    first, second, third = claim(capped)
    calls_record([CallResult(first, all_tokens()), CallResult(second, all_tokens())])
    assert claim(capped) == []
    assert calls_record([CallResult(third, all_tokens())]) == 1
    collection = capped.collections.get()
    assert endpoint_cost(capped).at_cap == "daily"
    assert collection_progress(collection).waits_for == "daily_cap"


def test_test_at_the_cap_is_refused(capped: Endpoint) -> None:
    work(capped, *[all_tokens()] * 3)
    with pytest.raises(Conflict, match="cap of this endpoint is reached"):
        endpoint_test(endpoint=capped)


def test_next_day_has_its_own_budget(capped: Endpoint) -> None:
    work(capped, *[all_tokens()] * 3)
    assert claim(capped) == []
    tomorrow = timezone.now() + timedelta(days=1)
    with time_machine.travel(tomorrow, tick=False):
        assert len(claim(capped)) == 3


def test_version_cap_holds_over_days(capped: Endpoint) -> None:
    capped = endpoint_update(endpoint=capped, settings=wanted(version_cap=3 * CALL))
    work(capped, *[all_tokens()] * 3)
    with time_machine.travel(timezone.now() + timedelta(days=1), tick=False):
        assert claim(capped) == []
        assert endpoint_cost(capped).at_cap == "version"


@pytest.mark.parametrize(
    ("error", "charged"),
    [
        (ErrorClass.SERVER_ERROR, False),
        (ErrorClass.CONNECT, False),
        (ErrorClass.BAD_RESPONSE, False),
        (ErrorClass.TIMEOUT, True),
        (ErrorClass.EMPTY, True),
    ],
)
def test_failure_costs_its_reservation_if_it_may_be_billed(capped: Endpoint, error: ErrorClass, charged: bool) -> None:
    (plan,) = claim(capped, 1)
    calls_record([CallResult(plan, failed(error))])
    call = Call.objects.get()
    assert (call.cost, call.cost_estimated) == (plan.reserved if charged else Decimal(0), charged)


def test_reply_that_cannot_be_stored_costs_what_it_used(capped: Endpoint) -> None:
    work(capped, said("nul \0"))
    call = Call.objects.get()
    assert (call.error_class, call.cost) == ("bad_response", Decimal("0.00021"))


def test_missing_usage_is_estimated(capped: Endpoint) -> None:
    work(capped, said("A reply of thirty characters..", prompt_tokens=None, completion_tokens=None))
    call = Call.objects.get()
    assert (call.output_tokens, call.cost_estimated) == (10, True)
    assert call.cost > 0


def test_absurd_usage_is_not_believed(capped: Endpoint) -> None:
    work(capped, said(prompt_tokens=-5, completion_tokens=10**30))
    assert Call.objects.get().cost_estimated


def test_progress_tells_cost_so_far_and_expected(capped: Endpoint) -> None:
    collection = capped.collections.get()
    before = collection_progress(collection)
    assert (before.cost, before.open) == (Decimal(0), 12)
    assert Decimal("0.12") < before.expected_cost < 12 * CALL
    work(capped, said(), said())
    after = collection_progress(collection)
    assert (after.cost, after.expected_cost) == (Decimal("0.00042"), Decimal("0.0021"))
    assert [row[1:] for row in daily_costs(capped)] == [(2, 0, Decimal("0.00042"))]


def test_endpoint_without_prices_costs_nothing(chatbot: Chatbot, prompt_set: PromptSet) -> None:
    settings = wanted(input_price=None, output_price=None)
    endpoint = endpoint_register(chatbot=chatbot, label="1", settings=settings)
    collection_start(endpoint=endpoint, prompt_set=prompt_set)
    work(endpoint, said())
    assert endpoint_cost(endpoint).total == 0
