"""A campaign's owners are told what they would want to know, once: by mail, and by a banner in the console."""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone, translation

from evalsite.accounts.models import Membership, User
from evalsite.adaptive.models import Notice, Refit, Unwanted
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.core.jobs import job_enqueue, job_waits
from evalsite.judgments.models import Assignment
from evalsite.judgments.selectors import budget_left, judgments_spent

log = logging.getLogger(__name__)

MAIL = "mail"
BUDGET_SHARE = 0.8
EMPTY_FOR = timedelta(minutes=5)
SHOWN_FOR = timedelta(days=30)


def notice_raise(*, campaign: Campaign, event: Notice.Event, mark: str, text: str) -> None:
    """Tell the owners, unless this occurrence was told before. Part of the caller's transaction, if there is one."""
    with write_transaction():
        notice, new = Notice.objects.get_or_create(campaign=campaign, event=event, mark=mark, defaults={"text": text})
        if not new:
            return
        for user in recipients(campaign, event):
            args = {"notice": notice.pk, "user": user.pk}
            job_enqueue(kind=MAIL, key=f"{MAIL}:{notice.pk}:{user.pk}", args=args)


def recipients(campaign: Campaign, event: str) -> QuerySet[User]:
    """Its owners, and its organisation's, who have an address and want mail about such events."""
    owners = Q(campaign_roles__campaign=campaign, campaign_roles__role=Membership.Role.OWNER) | Q(
        memberships__organisation=campaign.organisation_id, memberships__role=Membership.Role.OWNER
    )
    unwanted = Unwanted.objects.filter(user=OuterRef("pk"), event=event)
    return User.objects.filter(owners, ~Exists(unwanted), is_active=True).exclude(email="").distinct()


def mail_send(notice: Notice, user: User) -> None:
    """One mail to one person, in English. What goes wrong raises: the job is tried again."""
    with translation.override(settings.LANGUAGE_CODE):
        event = str(notice.get_event_display())
    subject = f"{notice.campaign.name}: {event}".replace("\n", " ").replace("\r", " ")
    lines = [notice.text, "", f"The campaign's page: /console/{notice.campaign.public_id}/"]
    lines.append("Which mails you get is set at /console/notices/.")
    send_mail(subject[:200], "\n".join(lines), settings.DEFAULT_FROM_EMAIL, [user.email])


def stop_tell(campaign: Campaign) -> None:
    """It has stopped, just now."""
    mark = campaign.stopped_at.isoformat() if campaign.stopped_at else ""
    text = f"{campaign.name} has stopped: {campaign.stop_reason}."
    notice_raise(campaign=campaign, event=Notice.Event.STOP, mark=mark, text=text)


def budget_tell(campaign: Campaign) -> None:
    """Four fifths of the budget are spent; told once for each budget."""
    budget = campaign.stopping.budget
    if budget is None or judgments_spent(campaign) < BUDGET_SHARE * budget:
        return
    mark = f"{budget} from {campaign.opened_at.isoformat() if campaign.opened_at else ''}"
    text = f"{judgments_spent(campaign):,} of the {budget:,} judgments of {campaign.name} are in."
    notice_raise(campaign=campaign, event=Notice.Event.BUDGET, mark=mark, text=text)


def empty_queues_tell() -> None:
    """A sweep: campaigns that collect and have had nothing to issue for minutes, while no plan is being made."""
    now = timezone.now()
    queued = Assignment.objects.filter(campaign=OuterRef("pk"), state=Assignment.State.QUEUED)
    for campaign in Campaign.objects.filter(~Exists(queued), state__in=Campaign.COLLECTING).select_related("stopping"):
        if job_waits(refit_key(campaign)) or budget_left(campaign) == 0 or not _is_quiet(campaign, now):
            continue
        newest = Assignment.objects.filter(campaign=campaign).aggregate(newest=Max("pk"))["newest"] or 0
        text = (
            f"Nothing waits to be judged in {campaign.name}, and no plan is being made. Ask for a refit in the console."
        )
        told = Notice.objects.filter(campaign=campaign, event=Notice.Event.QUEUE, mark=str(newest))
        if not told.exists():  # first without a lock: this is asked every second
            notice_raise(campaign=campaign, event=Notice.Event.QUEUE, mark=str(newest), text=text)


def _is_quiet(campaign: Campaign, now: datetime) -> bool:
    """Whether nothing was issued or refitted for some minutes."""
    issued = Assignment.objects.filter(campaign=campaign).aggregate(at=Max("issued_at"))["at"]
    refitted = Refit.objects.filter(board__default_of=campaign).aggregate(at=Max("finished_at"))["at"]
    last = max((at for at in (issued, refitted, campaign.opened_at) if at is not None), default=None)
    return last is None or now - last >= EMPTY_FOR


def notices_for(user: User, campaign: Campaign) -> list[Notice]:
    """What this person has not put away yet, newest first."""
    recent = Notice.objects.filter(campaign=campaign, raised_at__gte=timezone.now() - SHOWN_FOR)
    return list(recent.exclude(seen_by=user).order_by("-pk")[:5])


def notices_see(*, campaign: Campaign, user: User) -> None:
    """Put away what is shown to this person about the campaign."""
    with write_transaction():
        for notice in notices_for(user, campaign):
            notice.seen_by.add(user)


def mail_choose(*, user: User, wanted: Collection[str]) -> None:
    """Mail about these events, and about no others. Raises InvalidInput for an event that there is not."""
    unknown = sorted(set(wanted) - set(Notice.Event.values))
    if unknown:
        raise InvalidInput(f"There is no event {unknown[0]!r}.", field="wanted")
    with write_transaction():
        Unwanted.objects.filter(user=user).delete()
        off = [event for event in Notice.Event.values if event not in wanted]
        Unwanted.objects.bulk_create(Unwanted(user=user, event=event) for event in off)


def mail_wanted(user: User) -> list[str]:
    """Events about which this person gets mail."""
    off = set(Unwanted.objects.filter(user=user).values_list("event", flat=True))
    return [event for event in Notice.Event.values if event not in off]
