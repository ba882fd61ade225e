"""An annotator's own view: their progress, their pay, and how they leave. Erasure is in person_erasure.py."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median

from django.db.models import Sum
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.judgments.leases import assignments_return
from evalsite.judgments.models import Annotator, Bonus, Enrolment, Judgment, Payment
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.skips import may_return

PACE_OF_LAST = 200


@dataclass(frozen=True, slots=True)
class Participation:
    """An annotator's work in a campaign. Amounts by currency; owed is earned minus paid."""

    enrolment: Enrolment
    judgments: int
    open: int
    since: datetime
    paid: Mapping[str, Decimal]
    owed: Mapping[str, Decimal]


def part_get(enrolment: Enrolment) -> Participation:
    progress = progress_get(campaign=enrolment.campaign, annotator=enrolment.annotator)
    payments = Payment.objects.filter(campaign=enrolment.campaign_id, annotator=enrolment.annotator_id)
    paid = dict(payments.values_list("currency").annotate(sum=Sum("amount")).order_by("currency"))
    bonuses = Bonus.objects.filter(campaign=enrolment.campaign_id, annotator=enrolment.annotator_id)
    extra = dict(bonuses.values_list("currency").annotate(sum=Sum("amount")).order_by("currency"))
    none = Decimal(0)
    owed = {
        name: progress.pay.get(name, none) + extra.get(name, none) - paid.get(name, none)
        for name in {*progress.pay, *extra, *paid}
    }
    return Participation(
        enrolment,
        progress.judgments,
        progress.open,
        enrolment.joined_at,
        {name: amount for name, amount in paid.items() if amount},
        {name: amount for name, amount in sorted(owed.items()) if amount},
    )


def round_minutes(campaign: Campaign) -> int | None:
    """Return the approximate minutes for a block, from the median of the latest judgments of all annotators.

    Returns None before there are any judgments.
    """
    last = Judgment.objects.filter(batch__campaign=campaign, client_ms__isnull=False).order_by("-pk")
    times = [one for one in last.values_list("client_ms", flat=True)[:PACE_OF_LAST] if one is not None]
    return max(1, round(campaign.block_size * median(times) / 60_000)) if times else None


def annotator_adopt(*, annotator: Annotator | None, user: User) -> None:
    """Assign the work of a browser's pseudonym to the account, unless either is already linked.

    Annotators from a crowd platform stay separate from accounts, because the platform was promised a pseudonym.
    """
    if annotator is None or annotator.identities.exists():
        return
    with write_transaction():
        if not Annotator.objects.filter(user=user).exists():
            Annotator.objects.filter(pk=annotator.pk, user=None).update(user=user)


def campaign_leave(*, enrolment: Enrolment) -> None:
    """Return the open assignments and leave the campaign. The judgments stay. Joining again undoes it.

    An annotator who has used up all returns leaves, too: their open assignments stay theirs until the leases end.
    """
    if may_return(enrolment.campaign, enrolment.annotator):
        assignments_return(campaign=enrolment.campaign, annotator=enrolment.annotator)
    with write_transaction():
        Enrolment.objects.filter(pk=enrolment.pk, left_at=None).update(left_at=timezone.now())
