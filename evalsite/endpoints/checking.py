"""Checks of endpoints: the test that a person asks for, the daily check, and attempts to reach a failing one."""

from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.audit import audit_record
from evalsite.core.db import CLOCK_SET_BACK, write_transaction
from evalsite.core.encryption import key_ids
from evalsite.core.errors import Conflict
from evalsite.endpoints.messages import DAILY_PROMPTS, RECOVERY_PROMPT, TEST_TURNS, said_by_user
from evalsite.endpoints.models import CallRequest, Endpoint, EndpointCheck, Secret
from evalsite.endpoints.queue import CHECK_PRIORITY, TEST_PRIORITY, requests_enqueue, secret_unreadable
from evalsite.endpoints.selectors import endpoint_cost
from evalsite.endpoints.services import secret_of
from evalsite.endpoints.states import DAY, recovery_delay


def endpoint_test(*, endpoint: Endpoint, by: User | None = None) -> EndpointCheck:
    """Queue a test: a fixed conversation of three turns. The page polls for its result (`selectors.check_result`).

    A check in progress gives way to the test. Raises Conflict for a secret that cannot be read, and at a cap.
    """
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        secret_of(locked)
        running = EndpointCheck.objects.filter(endpoint=locked, state=EndpointCheck.State.RUNNING).first()
        if running is not None and running.kind == EndpointCheck.Kind.TEST:
            return running
        _check_affordable(locked)
        if running is not None:
            check_abandon(running)
        check = _begin(locked, EndpointCheck.Kind.TEST, [TEST_TURNS[0]], TEST_PRIORITY)
        target = f"{locked.version.chatbot} {locked.version.label}"[:300]
        audit_record(act="test_endpoint", subject=locked.version.chatbot.public_id, by=by, target=target)
    return check


def checks_schedule() -> None:
    """Begin the checks that are due: of each endpoint once a day, and of failing ones after a growing delay."""
    for number in _check_due(timezone.now()).values_list("pk", flat=True)[:20]:
        with write_transaction():
            endpoint = _check_due(timezone.now()).select_for_update(no_key=True, skip_locked=True).filter(pk=number)
            for locked in endpoint:
                _check(locked)


def unreadable_secrets_pause() -> None:
    """Pause each endpoint whose secret is encrypted with a key that this site does not have."""
    unknown = Secret.objects.exclude(endpoint__state=Endpoint.State.PAUSED)
    if not unknown.exists():
        return
    for number in unknown.exclude(key_id__in=key_ids()).values_list("endpoint", flat=True):
        with write_transaction():
            for locked in Endpoint.objects.select_for_update(no_key=True).filter(pk=number):
                secret_unreadable(locked)


def check_abandon(check: EndpointCheck) -> None:
    """End a check without a result. What is called now ends, and is recorded."""
    now = timezone.now()
    check.requests.filter(state=CallRequest.State.QUEUED).update(state=CallRequest.State.FAILED, finished_at=now)
    check.state, check.finished_at = EndpointCheck.State.FAILED, now
    check.save(update_fields=["state", "finished_at"])


def _check_affordable(endpoint: Endpoint) -> None:
    """Raise Conflict at a cap, where the test would wait until the cap is raised or the day is over."""
    if endpoint_cost(endpoint).at_cap:
        raise Conflict(
            _("The cost cap of this endpoint is reached, so that no call begins."),
            hint=_("Raise the cap, or wait for the next day if it is the daily one."),
            code="cap_reached",
        )


def _check_due(now: datetime) -> QuerySet[Endpoint]:
    running = EndpointCheck.objects.filter(state=EndpointCheck.State.RUNNING).values("endpoint")
    active = Endpoint.objects.exclude(state=Endpoint.State.PAUSED).exclude(pk__in=running)
    return active.filter(next_check_at__lte=now) | active.filter(next_check_at__gt=now + DAY + CLOCK_SET_BACK)


def _check(endpoint: Endpoint) -> None:
    failing = endpoint.state == Endpoint.State.FAILING
    kind = EndpointCheck.Kind.RECOVERY if failing else EndpointCheck.Kind.DAILY
    _begin(endpoint, kind, [RECOVERY_PROMPT] if failing else DAILY_PROMPTS, CHECK_PRIORITY)
    endpoint.next_check_at = timezone.now() + (recovery_delay(endpoint.failed_checks) if failing else DAY)
    endpoint.save(update_fields=["next_check_at"])


def _begin(
    endpoint: Endpoint, kind: EndpointCheck.Kind, prompts: list[str] | tuple[str, ...], priority: int
) -> EndpointCheck:
    check = EndpointCheck.objects.create(endpoint=endpoint, kind=kind)
    requests_enqueue(
        [
            CallRequest(endpoint=endpoint, check_run=check, messages=said_by_user(text), priority=priority)
            for text in prompts
        ]
    )
    return check
