"""Progress of checks: the next turn of a test, and the end of each kind."""

from django.utils import timezone

from evalsite.endpoints.adapters.base import Message
from evalsite.endpoints.drift_alarms import replies_compare
from evalsite.endpoints.health import check_judge
from evalsite.endpoints.messages import TEST_TURNS, messages_read, messages_stored
from evalsite.endpoints.models import Call, CallRequest, EndpointCheck
from evalsite.endpoints.queue import requests_enqueue


def check_advance(check: EndpointCheck) -> None:
    """Continue a check after one of its calls: queue the next turn of a test, or end the check.

    The caller holds the lock of the endpoint's row.
    """
    if check.state != EndpointCheck.State.RUNNING:
        return
    requests = list(check.requests.order_by("pk"))
    failed = any(request.state == CallRequest.State.FAILED for request in requests)
    if not failed and any(request.state != CallRequest.State.DONE for request in requests):
        return
    if not failed and check.kind == EndpointCheck.Kind.TEST and len(requests) < len(TEST_TURNS):
        _ask_next(requests[-1], TEST_TURNS[len(requests)])
        return
    _end(check, EndpointCheck.State.FAILED if failed else EndpointCheck.State.PASSED)


def _ask_next(last: CallRequest, text: str) -> None:
    said = (*messages_read(last.messages or []), Message("assistant", last.reply or ""), Message("user", text))
    requests_enqueue(
        [
            CallRequest(
                endpoint=last.endpoint,
                check_run=last.check_run,
                messages=messages_stored(said),
                priority=last.priority,
            )
        ]
    )


def _end(check: EndpointCheck, state: EndpointCheck.State) -> None:
    check.requests.filter(state=CallRequest.State.QUEUED).update(
        state=CallRequest.State.FAILED, finished_at=timezone.now()
    )
    check.state, check.finished_at = state, timezone.now()
    check.save(update_fields=["state", "finished_at"])
    calls = Call.objects.filter(request__check_run=check).order_by("pk")
    check_judge(check, list(calls.values_list("error_class", flat=True)))
    if check.kind == EndpointCheck.Kind.DAILY and state == EndpointCheck.State.PASSED:
        replies_compare(check)
