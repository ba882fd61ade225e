"""Who is at the page: the account, the pseudonym that a cookie keeps, or whom a crowd platform sent to a campaign."""

from typing import Any

from django.db.models import Q
from django.http import HttpRequest

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid, campaign_get, visible_to
from evalsite.core.errors import NotFound
from evalsite.core.tokens import token_make
from evalsite.judgments.claim_sql import assignments_open
from evalsite.judgments.models import Annotator, Enrolment

ANNOTATOR = "annotator"
ARRIVED = "arrived"
BROWSER = "browser"


def user_of(request: HttpRequest) -> Any:
    return request.user if request.user.is_authenticated else None


def known_annotator(request: HttpRequest) -> Annotator | None:
    """The annotator of this account, or the pseudonym that this browser has had before.

    Never one that a platform sent: what an arrival opens is the campaign arrived at, and nothing else.
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
    """Return the secret by which a completion code is shown to the browser that earned it; "" where nobody arrived."""
    return str(request.session.get(BROWSER, ""))


def browser_ensure(request: HttpRequest) -> str:
    """Return this browser's secret; it is given one if it has none."""
    if not browser_of(request):
        request.session[BROWSER] = token_make("tsb")
    return browser_of(request)


def remember_arrival(request: HttpRequest, enrolment: Enrolment) -> None:
    """A platform's arrival opens its own campaign: anybody who knows a worker's id can type the address."""
    arrived = request.session.get(ARRIVED, {})
    request.session[ARRIVED] = {**arrived, str(enrolment.campaign.public_id): str(enrolment.annotator.public_id)}


def enrolments_of(request: HttpRequest, *, left: bool = False) -> list[Enrolment]:
    """Where this visitor takes part: first what a platform sent them to, then the account's, then the pseudonym's.

    The account's are all of them, as its password says who it is; of what platforms sent, those arrived at from here.
    With `left` also where they took part and have left.
    """
    user = user_of(request)
    mine = Q(annotator__user=user) if user is not None else Q(pk__in=[])
    if public_id := request.session.get(ANNOTATOR):
        mine |= Q(annotator__public_id=public_id, annotator__user__isnull=True, platform="")
    for campaign, annotator in request.session.get(ARRIVED, {}).items():
        mine |= Q(campaign__public_id=campaign, annotator__public_id=annotator) & ~Q(platform="")
    found = Enrolment.objects.filter(mine) if left else Enrolment.objects.filter(mine, left_at=None)
    rows = found.select_related("annotator__user", "invitation", "campaign__rubric", "campaign__organisation")
    return sorted(rows, key=lambda one: (not one.platform, one.annotator.user_id is None, -one.pk))


def opened(request: HttpRequest, enrolments: list[Enrolment]) -> set[int]:
    """Keys of the campaigns whose judging page opens for this visitor by its link, of those they take part in."""
    invited = {one.campaign_id for one in enrolments if one.invited}
    joined = Campaign.objects.filter(pk__in=[one.campaign_id for one in enrolments])
    return invited | set(joined.filter(visible_to(user_of(request), by_link=True)).values_list("pk", flat=True))


def at_campaign(request: HttpRequest, key: str) -> tuple[Campaign, Enrolment | None]:
    """The campaign at this address and the visitor's part in it. Raises NotFound.

    Whom an invitation or a platform admitted sees the campaign whatever its visibility, as long as that stands; and
    whoever was issued something sees it until that is answered.
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
    """Whether what was issued before the campaign closed to this annotator may still be answered: unless it was they
    whom it closed to, by the end of their invitation."""
    if enrolment.invitation_id is not None and not enrolment.invited:
        return False
    return bool(assignments_open(enrolment.campaign_id, enrolment.annotator_id))
