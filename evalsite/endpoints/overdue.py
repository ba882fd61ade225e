"""Calls that are due and that nobody makes: a sign that no caller runs."""

from datetime import datetime

from django.db.models import Max, Min, Q
from django.utils import timezone

from evalsite.endpoints.models import Call, CallBudget, CallRequest, Endpoint
from evalsite.endpoints.money import budget_reached, reservation
from evalsite.endpoints.queue import CHECK_PRIORITY, endpoints_with_work
from evalsite.endpoints.selectors import endpoint_cost
from evalsite.endpoints.states import CALLED

MOST_ENDPOINTS = 50


def overdue_s() -> float | None:
    """Return for how many seconds calls have been due without any caller at work; None if there are none.

    Requests at a cost cap do not count: no caller could begin them.
    """
    now, running = timezone.now(), CallRequest.objects.filter(state=CallRequest.State.RUNNING)
    if running.filter(lease_until__gt=now).exists():
        return None
    endpoints = Endpoint.objects.filter(pk__in=endpoints_with_work()[:MOST_ENDPOINTS])
    waiting = [endpoint for endpoint in endpoints if not endpoint_cost(endpoint).at_cap]
    due = CallRequest.objects.filter(endpoint__in=waiting, state=CallRequest.State.QUEUED, run_after__lte=now)
    due = due.filter(Q(endpoint__state__in=CALLED) | Q(priority__gte=CHECK_PRIORITY))
    for budget in CallBudget.objects.filter(cap__isnull=False, requests__in=due).distinct():
        used_up = [one.pk for one in waiting if budget_reached(one, budget, reservation(one, []))]
        due = due.exclude(budget=budget, endpoint__in=used_up)
    oldest = due.aggregate(since=Min("run_after"))["since"]
    if oldest is None:
        return None
    last = Call.objects.filter(pk=Call.objects.aggregate(newest=Max("pk"))["newest"]).values_list("ended_at", flat=True)
    rested = [endpoint.wait_until for endpoint in waiting if endpoint.wait_until and endpoint.wait_until <= now]
    since: datetime = max([oldest, *last, *rested])
    return (now - since).total_seconds()
