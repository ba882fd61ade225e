"""Drift of live versions: an endpoint that is served by another model than before raises an alarm.

Signs are the model name and the fingerprint that responses carry, and the replies to the fixed prompts of the daily
check, if they were equal on two days and are all different now. An alarm proposes a new version.
"""

import hashlib
from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.core.audit import audit_record
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.endpoints.models import Drift, Endpoint, EndpointCheck
from evalsite.endpoints.services import version_follow


def models_observe(endpoint: Endpoint, seen: Iterable[tuple[str, str]]) -> None:
    """Compare returned model names and fingerprints with those seen before. The caller holds the endpoint's lock."""
    pairs = list(seen)
    for sign, values in (
        (Drift.Sign.MODEL, {pair[0] for pair in pairs if pair[0]}),
        (Drift.Sign.FINGERPRINT, {pair[1] for pair in pairs if pair[1]}),
    ):
        if not values:
            continue
        known = _values(endpoint.pk, sign.value)
        for value in sorted(values.difference(known)):
            _raise(endpoint, sign, value, known)
            known.append(value)


@composed
def _values(endpoint: int, sign: str) -> QuerySet[Drift, str]:
    return Drift.objects.filter(endpoint=endpoint, sign=sign).order_by("pk").values_list("value", flat=True)


def replies_compare(check: EndpointCheck) -> None:
    """Compare the replies of a daily check with those of the two before."""
    daily = EndpointCheck.objects.filter(
        endpoint=check.endpoint_id, kind=EndpointCheck.Kind.DAILY, state=EndpointCheck.State.PASSED
    )
    before = [_replies(one) for one in daily.filter(pk__lt=check.pk).order_by("-pk")[:2]]
    now = _replies(check)
    if len(before) < 2 or before[0] != before[1] or len(before[0]) != len(now):
        return
    if all(new != old for new, old in zip(now, before[0], strict=True)):
        value = _digest(now)
        if not check.endpoint.drifts.filter(sign=Drift.Sign.REPLIES, value=value).exists():
            _raise(check.endpoint, Drift.Sign.REPLIES, value, [_digest(before[0])])


def proposed_label(drift: Drift) -> str:
    """Return the label of the version that an alarm proposes: the present one with the day."""
    return f"{drift.endpoint.version.label[:80]} ({drift.raised_at:%Y-%m-%d})"


def drift_dismiss(*, drift: Drift, by: User | None = None) -> Drift:
    """Settle an alarm: the replies still count as those of one version."""
    return _settle(drift, Drift.Outcome.DISMISSED, by, None)


def drift_follow(*, drift: Drift, label: str = "", by: User | None = None) -> Endpoint:
    """Settle an alarm by a new live version with the same settings and secret. Return its endpoint."""
    with write_transaction():
        endpoint = version_follow(endpoint=drift.endpoint, label=label or proposed_label(drift), by=by)
        _settle(drift, Drift.Outcome.VERSION, by, endpoint)
    return endpoint


def _raise(endpoint: Endpoint, sign: Drift.Sign, value: str, known: list[str]) -> None:
    first = not known
    Drift.objects.create(
        endpoint=endpoint,
        sign=sign,
        value=value,
        before=known[-1] if known else "",
        outcome=Drift.Outcome.BASELINE if first else Drift.Outcome.OPEN,
    )


def _settle(drift: Drift, outcome: Drift.Outcome, by: User | None, endpoint: Endpoint | None) -> Drift:
    with write_transaction():
        locked = Drift.objects.select_for_update(no_key=True).get(pk=drift.pk)
        if locked.outcome != Drift.Outcome.OPEN:
            raise Conflict(_("This alarm is settled already."), hint=_("Reload the page."))
        locked.outcome, locked.settled_at = outcome, timezone.now()
        locked.new_version = endpoint.version if endpoint else None
        locked.save(update_fields=["outcome", "settled_at", "new_version"])
        version = locked.endpoint.version
        after = {"sign": locked.sign, "value": locked.value, "outcome": outcome}
        target = f"{version.chatbot} {version.label}"[:300]
        audit_record(act="settle_drift", subject=version.chatbot.public_id, by=by, target=target, after=after)
    return locked


def _replies(check: EndpointCheck) -> list[str | None]:
    return list(check.requests.order_by("pk").values_list("reply", flat=True))


def _digest(replies: list[str | None]) -> str:
    return hashlib.sha256("\0".join(reply or "" for reply in replies).encode()).hexdigest()[:16]
