"""Statements written by hand: the same on both databases."""

import uuid
from typing import Any

import pytest
from django.db import connection

from evalsite.campaigns.models import Campaign
from evalsite.judgments.claim_sql import claimable, queued_replan
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Annotator, Assignment, Place

pytestmark = pytest.mark.database


def test_queued_rows_are_replanned_with_their_own_values(campaign: Campaign) -> None:
    queued = Assignment.objects.filter(state="queued").order_by("pk")
    keys = list(queued.values_list("pk", flat=True))
    issued, *waiting = keys
    queued.filter(pk=issued).update(state="withdrawn")
    snapshot = uuid.uuid4()
    anew = [(100 - n, "overlap" if n % 2 else "measure", 1 / (n + 1), key) for n, key in enumerate(keys)]
    queued_replan(anew, policy="random", snapshot=snapshot, plan_seed=8)
    assert list(queued.values_list("priority", "purpose", "probability", "pk")) == anew[1:], "only what is queued"
    assert set(queued.values_list("policy", "snapshot", "plan_seed")) == {("random", snapshot, 8)}
    assert Assignment.objects.get(pk=issued).policy != "random"
    queued_replan([], policy="", snapshot=None, plan_seed=0)
    assert len(waiting) == queued.count()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps no statistics that could mislead it")
@pytest.mark.parametrize("known", [True, False], ids=["counted", "not counted yet"])
def test_claim_reads_only_the_needed_head_of_a_long_queue(campaign: Campaign, known: bool) -> None:
    prompt = campaign.prompt_set.prompts.all()[0].pk
    items = [item_of(prompt, [n, n + 1]) for n in range(2500)]
    places = Place.objects.bulk_create(Place(campaign=campaign, prompt_id=prompt, item=item) for item in items)
    Assignment.objects.bulk_create(
        Assignment(campaign=campaign, place=place, item=place.item, priority=n) for n, place in enumerate(places)
    )
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
