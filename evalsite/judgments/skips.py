"""Limits on skips and returns; closing of items by skips, and reopening by the owner."""

import math
from collections.abc import Collection
from datetime import datetime

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.audit import audit_record
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.core.models import AuditEntry
from evalsite.judgments.models import Annotator, Assignment, Judgment, Skip
from evalsite.judgments.selectors import RANKING_PURPOSES, annotators_excluded

SKIPS_THAT_CLOSE = 2
FREE_SKIPS = 10  # in a campaign, before any answer
SKIPS_PER_ANSWER = 0.5  # additional ones for each answer
FREE_RETURNS = 20  # in a campaign, before any answer
RETURNS_PER_ANSWER = 2  # additional ones for each answer
REOPEN = "reopen_skipped"
SKIPPED = Q(state=Assignment.State.RETURNED, skip__isnull=False)  # without skips that were taken back


def vouched(campaign: Campaign) -> QuerySet[Annotator]:
    """Return the annotators that somebody vouches for: members, role holders, invited people and platform workers.

    Pseudonyms that anybody can create on a public page are not included.
    """
    here = Q(enrolments__campaign=campaign)
    invited = here & Q(enrolments__invitation__isnull=False, enrolments__invitation__revoked_at__isnull=True)
    sent = here & ~Q(enrolments__platform="")
    member = Q(user__memberships__organisation=campaign.organisation_id) | Q(user__campaign_roles__campaign=campaign)
    return Annotator.objects.filter(invited | sent | member)


def is_vouched(campaign: Campaign, annotator: Annotator) -> bool:
    return vouched(campaign).filter(pk=annotator.pk).exists()


def reopened_at(campaign: Campaign) -> datetime | None:
    """Return when the owner last reopened skipped items: earlier skips close nothing."""
    entries = AuditEntry.objects.filter(subject=campaign.public_id, act=REOPEN).order_by("-pk")
    return entries.values_list("at", flat=True).first()


def _in_force(campaign: Campaign) -> QuerySet[Assignment]:
    """Return skipped assignments since the last reopening, without those of excluded annotators."""
    skipped = Assignment.objects.filter(SKIPPED, campaign=campaign, purpose__in=RANKING_PURPOSES)
    since = reopened_at(campaign)
    if since is not None:
        skipped = skipped.filter(skip__skipped_at__gt=since)
    return skipped.exclude(annotator__in=annotators_excluded(campaign))


def items_closed(campaign: Campaign, *, among: Collection[str] | None = None) -> set[str]:
    """Return the items (of `among`, or of all) that are closed because enough vouched annotators skipped them."""
    skipped = _in_force(campaign).filter(annotator__in=vouched(campaign).values("pk"))
    if among is not None:
        skipped = skipped.filter(place__campaign=campaign, place__item__in=among)
    counted = skipped.order_by().values("item").annotate(count=Count("annotator", distinct=True))
    return set(counted.filter(count__gte=SKIPS_THAT_CLOSE).values_list("item", flat=True))


def has_skips(campaign: Campaign) -> bool:
    return bool(_first_skip(campaign.pk))


@composed
def _first_skip(campaign: int) -> QuerySet[Skip, int]:
    return Skip.objects.filter(assignment__campaign=campaign).values_list("pk", flat=True)[:1]


def items_skipped(campaign: Campaign) -> int:
    """Return how many items at least two annotators of any kind skipped. The owner should check them."""
    if not has_skips(campaign):
        return 0
    counted = _in_force(campaign).order_by().values("item").annotate(count=Count("annotator", distinct=True))
    return counted.filter(count__gte=SKIPS_THAT_CLOSE).count()


def skips_check(assignment: Assignment) -> None:
    """Raise Conflict if the annotator has no skips left in this block or in this campaign."""
    own = Assignment.objects.filter(campaign=assignment.campaign_id, annotator=assignment.annotator_id)
    block = own.filter(block=assignment.block)
    if block.filter(SKIPPED).count() >= math.ceil(block.count() / 2):
        raise Conflict(
            _("You have skipped half of this round, which is the most."),
            hint=_("Judge the rest as well as you can, or give it back."),
            code="skips_used",
        )
    skips = own.filter(SKIPPED).count()
    answers = Judgment.objects.filter(assignment__in=own, supersedes=None).count()
    if skips >= FREE_SKIPS + SKIPS_PER_ANSWER * answers:
        raise Conflict(
            _("You have skipped as many questions as one annotator may."),
            hint=_("Each two answers allow one more skip."),
            code="skips_used",
        )


def may_return(campaign: Campaign, annotator: Annotator) -> bool:
    """Return whether the annotator may return more assignments. Returns are limited, like skips."""
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    returned = own.filter(state=Assignment.State.RETURNED, skip__isnull=True).count()
    answers = Judgment.objects.filter(assignment__in=own, supersedes=None).count()
    return returned < FREE_RETURNS + RETURNS_PER_ANSWER * answers


def returns_check(campaign: Campaign, annotator: Annotator) -> None:
    """Raise Conflict if the annotator has open assignments but no returns left."""
    held = Assignment.objects.filter(campaign=campaign, annotator=annotator, state=Assignment.State.ISSUED)
    if held.exists() and not may_return(campaign, annotator):
        raise Conflict(
            _("You have given back as many questions as one annotator may."),
            hint=_("Judge some of these, or leave them until their lease ends. Each answer allows two more."),
            code="returns_used",
        )


def skip_counts(campaign: Campaign, *, least: int = 0) -> dict[int, tuple[int, int]]:
    """Return (skips, first answers) in this campaign by annotator id, for those with at least `least` skips."""
    own = Assignment.objects.filter(campaign=campaign, purpose__in=RANKING_PURPOSES, annotator__isnull=False)
    counted = (
        own.order_by()
        .values("annotator")
        .annotate(
            skips=Count("pk", filter=SKIPPED),
            answers=Count("pk", filter=Q(state=Assignment.State.ANSWERED)),
        )
    )
    found = counted.filter(skips__gte=max(1, least)).values_list("annotator", "skips", "answers")
    return {annotator: (skips, answers) for annotator, skips, answers in found}


def skips_reopen(*, campaign: Campaign, by: User | None = None) -> None:
    """Reopen items that were closed by skips. Raises Conflict if there are none."""
    with write_transaction():
        count = items_skipped(campaign)
        if not count:
            raise Conflict(_("No item of this campaign is closed by skips."), hint=_("There is nothing to reopen."))
        audit_record(act=REOPEN, subject=campaign.public_id, by=by, before={"skipped": count}, after={"skipped": 0})
        refit_request(campaign)
