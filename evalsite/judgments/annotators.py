"""An annotator's own view of their part, what they are paid, and how they leave (erasure.py: and are forgotten)."""

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
    """What somebody did in a campaign. Money by currency; owed is earned less paid."""

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
    """About how long a round takes, by the median of the last judgments of all; None before there are some."""
    last = Judgment.objects.filter(batch__campaign=campaign, client_ms__isnull=False).order_by("-pk")
    times = [one for one in last.values_list("client_ms", flat=True)[:PACE_OF_LAST] if one is not None]
    return max(1, round(campaign.block_size * median(times) / 60_000)) if times else None


def annotator_adopt(*, annotator: Annotator | None, user: User) -> None:
    """What a browser's pseudonym did becomes the account's, unless either belongs to somebody already.

    Whom a crowd platform sent stays apart from any account: the platform was promised a pseudonym.
    """
    if annotator is None or annotator.identities.exists():
        return
    with write_transaction():
        if not Annotator.objects.filter(user=user).exists():
            Annotator.objects.filter(pk=annotator.pk, user=None).update(user=user)


def campaign_leave(*, enrolment: Enrolment) -> None:
    """Give back what is open and take part no longer; what was judged stays. Beginning again undoes it.

    Whoever has given back all that they may leaves too: what they hold stays theirs until its lease ends.
    """
    if may_return(enrolment.campaign, enrolment.annotator):
        assignments_return(campaign=enrolment.campaign, annotator=enrolment.annotator)
    with write_transaction():
        Enrolment.objects.filter(pk=enrolment.pk, left_at=None).update(left_at=timezone.now())
