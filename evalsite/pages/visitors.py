"""The visitor of a page: an account, a pseudonym in a cookie, or a participant of a crowd platform."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid, campaign_get, visible_to
from evalsite.core.composed import composed
from evalsite.core.errors import NotFound
from evalsite.core.tokens import token_make
from evalsite.judgments.claim_selectors import assignments_open
from evalsite.judgments.models import Annotator, Enrolment

ANNOTATOR = "annotator"
ARRIVED = "arrived"
BROWSER = "browser"


def user_of(request: HttpRequest) -> Any:
    return request.user if request.user.is_authenticated else None


def known_annotator(request: HttpRequest) -> Annotator | None:
    """Return the annotator of this account, or the pseudonym of this browser.

    Never returns an annotator that a platform sent, because an arrival opens its own campaign only.
    """
    user = user_of(request)
    if user is not None and (own := Annotator.objects.filter(user=user).first()) is not None:
        return own
    public_id = request.session.get(ANNOTATOR)
    if not public_id:
        return None
    before = Annotator.objects.filter(public_id=public_id, user__isnull=True)
    return before.exclude(enrolments__platform__gt="").first()


def remember(request: HttpRequest, annotator: Annotator) -> None:
    request.session[ANNOTATOR] = str(annotator.public_id)


def browser_of(request: HttpRequest) -> str:
    """Return the secret that authorises this browser to see its completion codes; "" without an arrival."""
    return str(request.session.get(BROWSER, ""))


def browser_ensure(request: HttpRequest) -> str:
    """Return this browser's secret; create it on the first call."""
    if not browser_of(request):
        request.session[BROWSER] = token_make("tsb")
    return browser_of(request)


def remember_arrival(request: HttpRequest, enrolment: Enrolment) -> None:
    """Store that this browser arrived from a platform.

    An arrival opens its own campaign only, because anybody who knows a worker's ID can type the address.
    """
    arrived = request.session.get(ARRIVED, {})
    request.session[ARRIVED] = {**arrived, str(enrolment.campaign.public_id): str(enrolment.annotator.public_id)}


def enrolments_of(request: HttpRequest, *, left: bool = False) -> list[Enrolment]:
    """Return this visitor's enrolments: first platform arrivals, then the account's, then the pseudonym's.

    The account's are complete, because the password proves the identity. Of a platform's enrolments, only arrivals in
    this browser count.

    left: whether to include campaigns that they have left.
    """
    user, arrived = user_of(request), request.session.get(ARRIVED, {})
    pseudonym = request.session.get(ANNOTATOR)
    if user is None and not arrived and not left:
        return _in_order(_of_pseudonym(uuid.UUID(pseudonym)) if pseudonym else [])
    mine = Q(annotator__user=user) if user is not None else Q(pk__in=[])
    if pseudonym:
        mine |= Q(annotator__public_id=pseudonym, annotator__user__isnull=True, platform="")
    for campaign, annotator in arrived.items():
        mine |= Q(campaign__public_id=campaign, annotator__public_id=annotator) & ~Q(platform="")
    found = Enrolment.objects.filter(mine) if left else Enrolment.objects.filter(mine, left_at=None)
    return _in_order(_with_campaign(found))


@composed
def _of_pseudonym(public_id: uuid.UUID) -> QuerySet[Enrolment, Enrolment]:
    own = Enrolment.objects.filter(annotator__public_id=public_id, annotator__user__isnull=True, platform="")
    return _with_campaign(own.filter(left_at=None))


def _with_campaign(found: QuerySet[Enrolment, Enrolment]) -> QuerySet[Enrolment, Enrolment]:
    return found.select_related("annotator__user", "invitation", "campaign__rubric", "campaign__organisation")


def _in_order(rows: Iterable[Enrolment]) -> list[Enrolment]:
    return sorted(rows, key=lambda one: (not one.platform, one.annotator.user_id is None, -one.pk))


def opened(request: HttpRequest, enrolments: list[Enrolment]) -> set[int]:
    """Return the keys of their campaigns whose judging page this visitor can open by link."""
    invited = {one.campaign_id for one in enrolments if one.invited}
    joined = Campaign.objects.filter(pk__in=[one.campaign_id for one in enrolments])
    return invited | set(joined.filter(visible_to(user_of(request), by_link=True)).values_list("pk", flat=True))


def at_campaign(request: HttpRequest, key: str) -> tuple[Campaign, Enrolment | None]:
    """Return the campaign at this address and the visitor's enrolment.

    Raises NotFound. A visitor with a valid invitation or platform admission sees the campaign at any visibility. A
    visitor with issued assignments sees it until they are answered.
    """
    enrolments = [one for one in enrolments_of(request) if key in {one.campaign.slug, str(one.campaign.public_id)}]
    enrolment = enrolments[0] if enrolments else None
    if enrolment is not None and enrolment.invited and as_uuid(key):
        return enrolment.campaign, enrolment
    try:
        return campaign_get(key=key, user=user_of(request)), enrolment
    except NotFound:
        if enrolment is None or not _may_finish(enrolment):
            raise
        return enrolment.campaign, enrolment


def _may_finish(enrolment: Enrolment) -> bool:
    """Return whether this annotator may still answer assignments from before the campaign closed.

    Not allowed if it closed to them only, because their invitation ended.
    """
    if enrolment.invitation_id is not None and not enrolment.invited:
        return False
    return bool(assignments_open(enrolment.campaign_id, enrolment.annotator_id))
