"""Notices to owners about their campaigns. Each is sent once, by mail and as a banner in the console."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone, translation
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from evalsite.accounts.models import Membership, User
from evalsite.boards.feasibility import OutOfReach, infeasibility_text, out_of_reach, required_se
from evalsite.boards.models import Refit
from evalsite.campaigns.limits import budget_of, limits_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.core.jobs import job_enqueue, job_is_pending
from evalsite.core.reasons import reason_text
from evalsite.core.terminal import shown
from evalsite.judgments.models import Assignment
from evalsite.judgments.selectors import budget_left, judgments_spent
from evalsite.judgments.skips import reopened_at
from evalsite.operations.models import Notice, NotificationOptOut
from evalsite.refits.models import Alarm

log = logging.getLogger(__name__)

MAIL = "mail"
BUDGET_SHARE = 0.8
EMPTY_FOR = timedelta(minutes=5)
SHOWN_FOR = timedelta(days=30)

Facts = Mapping[str, Any]


def notice_raise(*, campaign: Campaign, event: Notice.Event, mark: str, facts: Facts) -> None:
    """Notify the owners, unless this occurrence was sent before.

    Part of the caller's transaction, if there is one.
    """
    facts = {"campaign": campaign.name, **facts}
    with translation.override(settings.LANGUAGE_CODE):
        given = {"text": _event_text(event, facts), "facts": facts}
    with write_transaction():
        notice, new = Notice.objects.get_or_create(campaign=campaign, event=event, mark=mark, defaults=given)
        if not new:
            return
        for user in recipients(campaign, event):
            args = {"notice": notice.pk, "user": user.pk}
            job_enqueue(kind=MAIL, key=f"{MAIL}:{notice.pk}:{user.pk}", args=args)


def notice_text(notice: Notice) -> str:
    """Return the text of the notice in the active language."""
    return _event_text(notice.event, notice.facts) if notice.facts else notice.text


def _event_text(event: str, facts: Facts) -> str:
    if event == Notice.Event.REACH:
        return _infeasible_target_text(facts)
    words = {
        Notice.Event.STOP: _("%(campaign)s has stopped: %(reason)s."),
        Notice.Event.BUDGET: _("%(spent)s of the %(budget)s judgments of %(campaign)s are in."),
        Notice.Event.QUEUE: _(
            "Nothing waits to be judged in %(campaign)s, and no plan is being made. Choose “Update the board” in the"
            " console."
        ),
        Notice.Event.ALARM: _(
            "The board of %(campaign)s cannot be updated, which is tried again; the board before is shown: %(message)s"
        ),
    }
    if event == Notice.Event.QUEUE and "skipped" in facts:
        words[Notice.Event.QUEUE] = _(
            "%(campaign)s has nothing left to ask but %(skipped)s items that annotators skipped. It goes on: read "
            "these items, then reopen them or stop the campaign."
        )
    if facts.get("about") == Alarm.About.SLICES:
        words[Notice.Event.ALARM] = _(
            "The filters of the board of %(campaign)s cannot be fitted anew; the board itself goes on: %(message)s"
        )
    said = {name: _formatted(value) for name, value in facts.items() if name != "reason_data"}
    if "reason" in facts:
        said["reason"] = reason_text(facts["reason"], facts.get("reason_data"))
    return words[Notice.Event(event)] % said


def _infeasible_target_text(facts: Mapping[str, Any]) -> str:
    found = OutOfReach(**{field.name: facts[field.name] for field in fields(OutOfReach)})
    return _("The target of %(campaign)s is out of reach. %(why)s") % {
        "campaign": shown(str(facts["campaign"])),
        "why": infeasibility_text(found),
    }


def _formatted(value: str | int | float) -> str:
    if not isinstance(value, str):
        return str(number_format(value, force_grouping=True))
    return shown(value)


def recipients(campaign: Campaign, event: str) -> QuerySet[User]:
    """Return the owners of the campaign and its organisation who have an address and want such mail."""
    owners = Q(campaign_roles__campaign=campaign, campaign_roles__role=Membership.Role.OWNER) | Q(
        memberships__organisation=campaign.organisation_id, memberships__role=Membership.Role.OWNER
    )
    unwanted = NotificationOptOut.objects.filter(user=OuterRef("pk"), event=event)
    return User.objects.filter(owners, ~Exists(unwanted), is_active=True).exclude(email="").distinct()


def mail_send(notice: Notice, user: User) -> None:
    """Send one mail to one person, in their language.

    Raises on failure, so that the job is retried.
    """
    with translation.override(user.mail_language):
        # Remove all characters that could start a new line in a header; there are more than two.
        subject = " ".join(f"{shown(notice.campaign.name)}: {_subject(notice)}".split())
        console = f"{settings.SITE_URL}/console"
        page = _("The campaign's page: %(path)s") % {"path": f"{console}/{notice.campaign.public_id}/"}
        choice = _("Which mails you get is set at %(path)s") % {"path": f"{console}/notices/"}
        body = "\n".join([notice_text(notice), "", page, choice])
    send_mail(subject[:200], body, settings.DEFAULT_FROM_EMAIL, [user.email])


def _subject(notice: Notice) -> str:
    """Return the subject of the mail.

    The event labels do not fit here, because they appear in the list of notifications.
    """
    words = {
        Notice.Event.STOP: pgettext("subject of a mail", "a campaign has stopped"),
        Notice.Event.ALARM: pgettext("subject of a mail", "its board cannot be updated"),
        Notice.Event.QUEUE: pgettext("subject of a mail", "nothing waits to be judged"),
        Notice.Event.BUDGET: pgettext("subject of a mail", "four fifths of its budget are spent"),
        Notice.Event.REACH: pgettext("subject of a mail", "its target is out of reach"),
    }
    return words[Notice.Event(notice.event)]


def stop_tell(campaign: Campaign) -> None:
    """Notify that the campaign has just stopped."""
    mark = campaign.stopped_at.isoformat() if campaign.stopped_at else ""
    facts = {"reason": campaign.stop_reason, "reason_data": campaign.stop_reason_data}
    notice_raise(campaign=campaign, event=Notice.Event.STOP, mark=mark, facts=facts)


def alarm_tell(alarm: Alarm) -> None:
    """Notify that the refits of the campaign or of its slices fail."""
    facts = {"about": alarm.about, "message": alarm.message}
    notice_raise(campaign=alarm.campaign, event=Notice.Event.ALARM, mark=str(alarm.pk), facts=facts)


def progress_tell(campaign: Campaign, evidence: Mapping[str, float]) -> None:
    """Notify what the last decision of a collecting campaign shows: budget, skipped items, a target out of reach."""
    if campaign.collecting:
        budget_tell(campaign)
        skips_tell(campaign, evidence)
        reach_tell(campaign, evidence)


def budget_tell(campaign: Campaign) -> None:
    """Notify that four fifths of the budget are spent, once for each budget."""
    budget = budget_of(campaign)
    if budget is None or judgments_spent(campaign) < BUDGET_SHARE * budget:
        return
    mark = f"{budget} from {campaign.opened_at.isoformat() if campaign.opened_at else ''}"
    facts = {"spent": judgments_spent(campaign), "budget": budget}
    notice_raise(campaign=campaign, event=Notice.Event.BUDGET, mark=mark, facts=facts)


def skips_tell(campaign: Campaign, evidence: Mapping[str, float]) -> None:
    """Notify that only skipped items are left, once for each number of them."""
    skipped = round(evidence.get("withheld_items", 0.0))
    if skipped:
        since = reopened_at(campaign)
        mark = f"skipped {skipped} since {since.isoformat() if since else ''}"
        notice_raise(campaign=campaign, event=Notice.Event.QUEUE, mark=mark, facts={"skipped": skipped})


def reach_tell(campaign: Campaign, evidence: Mapping[str, float]) -> None:
    """Notify that the prompts cannot reach the target, once for each target and number of prompts."""
    limits = limits_of(campaign.stopping)
    found = out_of_reach(limits, evidence)
    if found is None:
        return
    aim = "difference" if found.difference else "SE"
    mark = f"{aim} {required_se(limits):g}, {found.prompts} prompts"
    notice_raise(campaign=campaign, event=Notice.Event.REACH, mark=mark, facts=asdict(found))


def empty_queues_tell() -> None:
    """Notify about collecting campaigns with an empty queue for some minutes and no plan in progress.

    Runs as a sweep.
    """
    now = timezone.now()
    queued = Assignment.objects.filter(campaign=OuterRef("pk"), state=Assignment.State.QUEUED)
    for campaign in Campaign.objects.filter(~Exists(queued), state__in=Campaign.COLLECTING).select_related("stopping"):
        if job_is_pending(refit_key(campaign)) or budget_left(campaign) == 0 or not _is_quiet(campaign, now):
            continue
        newest = Assignment.objects.filter(campaign=campaign).aggregate(newest=Max("pk"))["newest"] or 0
        previous = Notice.objects.filter(campaign=campaign, event=Notice.Event.QUEUE, mark=str(newest))
        if not previous.exists():  # First without a lock, because this runs every second.
            notice_raise(campaign=campaign, event=Notice.Event.QUEUE, mark=str(newest), facts={})


def _is_quiet(campaign: Campaign, now: datetime) -> bool:
    """Return whether nothing was issued or refitted for some minutes."""
    issued = Assignment.objects.filter(campaign=campaign).aggregate(at=Max("issued_at"))["at"]
    refitted = Refit.objects.filter(board__default_of=campaign).aggregate(at=Max("finished_at"))["at"]
    last = max((at for at in (issued, refitted, campaign.opened_at) if at is not None), default=None)
    return last is None or now - last >= EMPTY_FOR


def notices_for(user: User, campaign: Campaign) -> list[Notice]:
    """Return the notices that this person has not dismissed, newest first.

    A campaign that has opened again shows neither its earlier stop nor what was spent before.
    """
    recent = Notice.objects.filter(campaign=campaign, raised_at__gte=timezone.now() - SHOWN_FOR)
    if campaign.collecting and campaign.opened_at is not None:
        past = [Notice.Event.STOP, Notice.Event.BUDGET]
        recent = recent.exclude(event__in=past, raised_at__lt=campaign.opened_at)
    return list(recent.exclude(seen_by=user).order_by("-pk")[:5])


def notices_see(*, campaign: Campaign, user: User) -> None:
    """Dismiss the notices about the campaign that this person sees."""
    with write_transaction():
        for notice in notices_for(user, campaign):
            notice.seen_by.add(user)


def mail_choose(*, user: User, wanted: Collection[str]) -> None:
    """Choose mail about these events and no others.

    Raises InvalidInput for an unknown event.
    """
    unknown = sorted(set(wanted) - set(Notice.Event.values))
    if unknown:
        raise InvalidInput(_("There is no event %(unknown)s.") % {"unknown": repr(unknown[0])}, field="wanted")
    with write_transaction():
        NotificationOptOut.objects.filter(user=user).delete()
        off = [event for event in Notice.Event.values if event not in wanted]
        NotificationOptOut.objects.bulk_create(NotificationOptOut(user=user, event=event) for event in off)


def mail_wanted(user: User) -> list[str]:
    """Return the events about which this person gets mail."""
    off = set(NotificationOptOut.objects.filter(user=user).values_list("event", flat=True))
    return [event for event in Notice.Event.values if event not in off]
