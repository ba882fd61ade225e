"""A campaign's cost cap holds for the calls of all endpoints that collect replies to its prompts."""

from decimal import Decimal

import pytest

from evalsite.accounts.models import User
from evalsite.campaigns.call_costs import call_cap_set, call_cost
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.chatbots.models import Chatbot
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.endpoints.collecting import collection_start
from evalsite.endpoints.models import CallRequest, Collection, Endpoint
from evalsite.endpoints.overdue import overdue_s
from evalsite.endpoints.queue import calls_claim
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.endpoints.selectors import collection_progress, endpoint_cost
from evalsite.endpoints.services import endpoint_register, endpoint_update
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.prompts.models import PromptSet
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import CampaignMaker
from tests.evalsite.endpoints.steps import claim, said, wanted, work
from tests.shared import shared

pytestmark = [pytest.mark.django_db, pytest.mark.database]
CALL = Decimal("0.0101")  # a little more than what is reserved for a call


@shared
def draft(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(chatbots=2, prompts=6, start=False)


@pytest.fixture
def endpoints(draft: Campaign) -> list[Endpoint]:
    """Two live chatbots that may make four calls at once."""
    chatbots = Chatbot.objects.filter(organisation=draft.organisation).order_by("pk")[:2]
    return [endpoint_register(chatbot=chatbot, label="live", settings=wanted()) for chatbot in chatbots]


def collect(endpoints: list[Endpoint], prompt_set: PromptSet) -> list[Collection]:
    return [collection_start(endpoint=endpoint, prompt_set=prompt_set) for endpoint in endpoints]


def test_cap_holds_over_all_endpoints(draft: Campaign, endpoints: list[Endpoint]) -> None:
    call_cap_set(campaign=draft, cap=5 * CALL)
    collections = collect(endpoints, draft.prompt_set)
    plans = calls_claim(owner="here:1", room={one.pk: 100 for one in endpoints})
    assert [sum(plan.endpoint_id == one.pk for plan in plans) for one in endpoints] == [4, 1]
    longest = said(prompt_tokens=100, completion_tokens=1000)
    assert calls_record([CallResult(plan, longest) for plan in plans]) == 5, "calls in progress end"
    assert calls_claim(owner="here:1", room={one.pk: 100 for one in endpoints}) == []
    cost = call_cost(draft)
    assert cost is not None
    assert (cost.spent, cost.reached) == (5 * CALL, True)
    assert [collection_progress(one).waits_for for one in collections] == ["campaign_cap"] * 2
    assert overdue_s() is None, "nobody could begin these calls"


def test_work_that_the_cap_does_not_concern_goes_on(draft: Campaign, endpoints: list[Endpoint]) -> None:
    call_cap_set(campaign=draft, cap=CALL)
    collect(endpoints[:1], draft.prompt_set)
    work(endpoints[0], said(prompt_tokens=100, completion_tokens=1000))
    new = [NewPrompt(f"o{n}", [{"speaker": "user", "text": "And this?"}], "") for n in range(2)]
    others = prompt_set_create(organisation=draft.organisation, name="Others", prompts=new)
    collect(endpoints[:1], others)
    assert len(claim(endpoints[0])) == 2


def test_raised_cap_lets_calls_go_on(draft: Campaign, endpoints: list[Endpoint], alice: User) -> None:
    call_cap_set(campaign=draft, cap=CALL)
    collect(endpoints, draft.prompt_set)
    assert len(claim(endpoints[0])) == 1
    act_perform(key=draft.slug, act=Act.CAP_CALLS, user=alice, given=ActionArguments(call_cap=3 * CALL))
    assert len(claim(endpoints[1])) == 2
    act_perform(key=draft.slug, act=Act.CAP_CALLS, user=alice, given=ActionArguments())
    assert call_cost(draft) is None
    assert len(claim(endpoints[1])) == 2, "as many as it makes at once"
    acts = audit_of(draft.public_id).filter(act="cap_calls")
    assert [entry.after for entry in acts.order_by("pk")] == [
        {"call_cap": "0.0101"},
        {"call_cap": "0.0303"},
        {"call_cap": None},
    ]


def test_cap_counts_what_was_collected_before_it(draft: Campaign, endpoints: list[Endpoint]) -> None:
    collect(endpoints, draft.prompt_set)
    work(endpoints[0], said(prompt_tokens=100, completion_tokens=1000))
    call_cap_set(campaign=draft, cap=2 * CALL)
    cost = call_cost(draft)
    assert cost is not None
    assert (cost.spent, cost.reached) == (CALL, False)
    assert len(claim(endpoints[1])) == 1


@pytest.mark.parametrize("cap", ["0", "-1", "NaN", "Infinity", "1000001"])
def test_cap_that_cannot_be_one_is_refused(draft: Campaign, cap: str) -> None:
    with pytest.raises(InvalidInput, match="more than 0") as refused:
        call_cap_set(campaign=draft, cap=Decimal(cap))
    assert refused.value.field == "call_cap"
    draft.refresh_from_db()
    assert draft.call_budget is None


@pytest.mark.parametrize("changes", [{"currency": "EUR"}, {"input_price": None}])
def test_cap_needs_prices_in_its_currency(
    draft: Campaign, endpoints: list[Endpoint], changes: dict[str, str | None]
) -> None:
    call_cap_set(campaign=draft, cap=CALL)
    endpoint = endpoint_update(endpoint=endpoints[0], settings=wanted(**changes))
    with pytest.raises(Conflict, match="no prices in this currency") as refused:
        collect([endpoint], draft.prompt_set)
    assert "USD" in refused.value.hint
    assert not CallRequest.objects.exists()
    call_cap_set(campaign=draft, cap=None)
    collect([endpoint], draft.prompt_set)
    with pytest.raises(Conflict, match="no prices in this currency"):
        call_cap_set(campaign=draft, cap=CALL)
    assert call_cost(draft) is None


def test_prices_stay_while_they_are_needed_for_a_cap(draft: Campaign, endpoints: list[Endpoint]) -> None:
    call_cap_set(campaign=draft, cap=CALL)
    collect(endpoints, draft.prompt_set)
    with pytest.raises(Conflict, match="no prices in this currency"):
        endpoint_update(endpoint=endpoints[0], settings=wanted(input_price=None, output_price=None))


def test_cost_is_told_before_it_is_spent(draft: Campaign, endpoints: list[Endpoint]) -> None:
    collect(endpoints, draft.prompt_set)
    assert Decimal("0.06") < endpoint_cost(endpoints[0]).expected < 6 * CALL
    work(endpoints[0], said(), said())
    assert endpoint_cost(endpoints[0]).expected == 4 * Decimal("0.00021")


def test_only_owners_set_the_cap(draft: Campaign, charlie: User) -> None:
    draft.roles.create(user=charlie, role="manager")
    with pytest.raises(NotAllowed):
        act_perform(key=draft.slug, act=Act.CAP_CALLS, user=charlie, given=ActionArguments(call_cap=CALL))
