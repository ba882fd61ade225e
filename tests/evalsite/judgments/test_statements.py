"""Statements written by hand: the same on both databases."""

import uuid

from evalsite.campaigns.models import Campaign
from evalsite.judgments.items import item_of
from evalsite.judgments.models import Assignment
from evalsite.judgments.queue_statements import AT_ONCE, queued_add, queued_replan


def test_a_long_queue_is_added_in_parts_and_every_place_has_its_own_item(campaign: Campaign) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(2 * AT_ONCE + 7)]
    asks = [(prompt, item, n, "measure", 1.0) for n, item in enumerate(items)]
    queued_add(campaign.pk, asks, policy="random", snapshot=None, plan_seed=7)
    added = Assignment.objects.filter(policy="random").order_by("priority").select_related("place")
    assert [(one.item, one.place.item, one.place.prompt_id) for one in added] == [
        (item, item, prompt) for item in items
    ]


def test_many_rows_are_queued_and_planned_anew_each_with_its_own_values(campaign: Campaign) -> None:
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
