"""Working time, where hours are paid: by the server's clock, from one answer of a block to the next."""

from datetime import datetime, timedelta

from django.db.models import Max

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Assignment, Judgment

LONGEST = timedelta(minutes=10)  # for one assignment: a break is not work, and a page may stand open all night


def time_worked(assignment: Assignment, now: datetime) -> None:
    """Keep how long this assignment took: since its issue or the answer before it, LONGEST at the most.

    Part of the transaction that records its first answer. Nothing where judgments are paid one by one.
    """
    if assignment.pay_per != Campaign.PayPer.HOUR or assignment.issued_at is None:
        return
    others = Judgment.objects.filter(assignment__block=assignment.block, assignment__annotator=assignment.annotator_id)
    before = (
        others.exclude(assignment=assignment).filter(answered_at__lte=now).aggregate(last=Max("answered_at"))["last"]
    )
    began = max(assignment.issued_at, before) if before else assignment.issued_at
    worked = max(timedelta(0), min(now - began, LONGEST))
    assignment.worked_ms = int(worked / timedelta(milliseconds=1))
    assignment.save(update_fields=["worked_ms"])
