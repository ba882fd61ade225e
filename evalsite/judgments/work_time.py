"""Working time for hourly pay, by the server's clock: from one answer of an annotator to the next."""

from datetime import datetime, timedelta

from django.db.models import Max

from evalsite.campaigns.models import Campaign
from evalsite.core.db import CLOCK_SET_BACK
from evalsite.judgments.models import Annotator, Assignment, Judgment

LONGEST = timedelta(minutes=10)  # for one assignment: a break is not work, and a page may stay open all night


def work_time_record(assignment: Assignment, now: datetime) -> None:
    """Store the working time of this assignment: since its issue or the annotator's previous answer, at most LONGEST.

    The previous answer may be from any block and any campaign, because nobody works twice in one minute. Runs in the
    transaction of the first answer. Does nothing for pay by judgment.
    """
    if assignment.pay_per != Campaign.PayPer.HOUR or assignment.issued_at is None or assignment.annotator_id is None:
        return
    # Of two simultaneous answers, the second waits here and counts from the first, even if it is slightly younger.
    Annotator.objects.select_for_update(no_key=True).get(pk=assignment.annotator_id)
    others = Judgment.objects.filter(annotator=assignment.annotator_id).exclude(assignment=assignment)
    before = others.filter(answered_at__lte=now + CLOCK_SET_BACK).aggregate(last=Max("answered_at"))["last"]
    began = max(assignment.issued_at, before) if before else assignment.issued_at
    worked = max(timedelta(0), min(now - began, LONGEST))
    assignment.worked_ms = int(worked / timedelta(milliseconds=1))
    assignment.save(update_fields=["worked_ms"])
