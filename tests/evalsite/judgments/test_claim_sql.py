"""Statements written by hand: the same on both databases."""

import uuid
from typing import Any

import pytest
from django.db import connection

from evalsite.campaigns.models import Campaign
from evalsite.judgments.claim_sql import claimable
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.queue_sql import AT_ONCE, queued_add, queued_replan

pytestmark = pytest.mark.database


def test_long_queue_is_added_in_parts_with_correct_items(campaign: Campaign) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(2 * AT_ONCE + 7)]
    asks = [(prompt, item, n, "measure", 1.0) for n, item in enumerate(items)]
    queued_add(campaign.pk, asks, policy="random", snapshot=None, plan_seed=7)
    added = Assignment.objects.filter(policy="random").order_by("priority").select_related("place")
    assert [(one.item, one.place.item, one.place.prompt_id) for one in added] == [
        (item, item, prompt) for item in items
    ]


def test_queued_rows_are_replanned_with_their_own_values(campaign: Campaign) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(1000, 1040)]
    planned = [(prompt, item, n, "measure", (n + 1) / 50) for n, item in enumerate(items)]
    queued_add(campaign.pk, planned, policy="random", snapshot=None, plan_seed=7)
    added = Assignment.objects.filter(item__in=items).order_by("priority")
    assert list(added.values_list("place__prompt", "item", "priority", "purpose", "probability")) == planned
    first = added[0]
    assert (first.campaign_id, first.policy, first.snapshot, first.plan_seed) == (campaign.pk, "random", None, 7)
    assert (first.state, first.source) == ("queued", "plan")
    assert first.order_known
    assert first.pay_rate == 0
    assert first.annotator_id is None
    assert len(set(added.values_list("public_id", flat=True))) == len(items)

    keys = list(added.values_list("pk", flat=True))
    snapshot = uuid.uuid4()
    anew = [(100 - n, "overlap" if n % 2 else "measure", 1 / (n + 1), key) for n, key in enumerate(keys)]
    queued_replan(anew, policy="adaptive", snapshot=snapshot, plan_seed=8)
    found = added.order_by("pk").values_list("priority", "purpose", "probability", "pk")
    assert list(found) == anew
    assert set(added.values_list("policy", "snapshot", "plan_seed")) == {("adaptive", snapshot, 8)}
    queued_replan([], policy="", snapshot=None, plan_seed=0)
    queued_add(campaign.pk, [], policy="", snapshot=None, plan_seed=0)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no statistics that could mislead it")
@pytest.mark.parametrize("known", [True, False], ids=["counted", "not counted yet"])
def test_claim_reads_only_the_needed_head_of_a_long_queue(campaign: Campaign, known: bool) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(2500)]
    queued_add(campaign.pk, [(prompt, item, n, "measure", 1.0) for n, item in enumerate(items)],
               policy="random", snapshot=None, plan_seed=7)  # fmt: skip
    Assignment.objects.exclude(item__in=items[:1000]).update(state=Assignment.State.WITHDRAWN)
    in_hand = list(Assignment.objects.filter(item__in=items[:10]).values_list("pk", flat=True))
    if known:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE judgments_assignment")
    annotator = Annotator.objects.create(kind=Annotator.Kind.SIMULATED)

    plans: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        execute("EXPLAIN " + sql, params, many, context)
        plans.append("\n".join(line for (line,) in context["cursor"].fetchall()))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        found = claimable(campaign.pk, annotator.pk, without=in_hand, at_most=20)
    assert len(found) == 20
    assert not set(found) & set(in_hand)
    (plan,) = [plan for plan in plans if "seen" in plan]
    assert "assignment_queue" in plan, plan
    assert "Sort" not in plan, plan
