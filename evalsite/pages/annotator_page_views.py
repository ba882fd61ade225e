"""The annotator's own page: available campaigns, past judgments and payments, and how to leave."""

import uuid
from collections.abc import Iterable

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsite.accounts.services import user_language_set
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.selectors import campaigns_to_judge, onboarding_of
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.core.throttle import client_address
from evalsite.judgments.annotators import Participation, campaign_leave, part_get, round_minutes
from evalsite.judgments.arrivals import ending_get
from evalsite.judgments.campaign_choice import work_claim
from evalsite.judgments.conflict_of_interest import campaigns_with_others, is_left_out
from evalsite.judgments.models import Enrolment
from evalsite.judgments.person_erasure import Erased, person_erase
from evalsite.judgments.qualification import qualification_get
from evalsite.pages.known_devices import device_users
from evalsite.pages.visitors import enrolments_of, known_annotator, opened, user_of
from evalsite.presentation.rich_text import visible

SHOWN = 30


@never_cache
@require_safe
def me(request: HttpRequest) -> HttpResponse:
    enrolments, user = enrolments_of(request), user_of(request)
    parts, pages = [part_get(enrolment) for enrolment in enrolments], opened(request, enrolments)
    others = campaigns_to_judge().exclude(pk__in=[one.campaign_id for one in enrolments])
    if user is not None:
        others = others.filter(pk__in=campaigns_with_others(user))
    context = {
        "parts": [_part(part, opens=part.enrolment.campaign_id in pages) for part in parts],
        "several": sum(one.campaign.collecting for one in _shared(request, enrolments).values()) > 1,
        "open": [_open(campaign, campaign.slug) for campaign in others.prefetch_related("rubric__aspects")[:SHOWN]],
        "account": user,
        "sign_up": settings.SIGN_UP,
        "languages": settings.LANGUAGES,
        "sent": any(part.enrolment.platform for part in parts),
        **_erasing(request),
    }
    return render(request, "me.html", context)


def _shared(request: HttpRequest, enrolments: list[Enrolment]) -> dict[int, Enrolment]:
    """Map campaigns to this visitor's enrolments, for the campaigns that share their time.

    These campaigns are open and may give them assignments. Studies of a platform are excluded: only participants sent
    by the platform work on them, from its own page.
    """
    pages, annotator = opened(request, enrolments), known_annotator(request)
    mine = [one for one in enrolments if one.annotator == annotator and not one.platform and one.campaign_id in pages]
    user, users = user_of(request), device_users(request)
    left_out = {one.campaign_id for one in mine if is_left_out(one.campaign, user, users=users)}
    return {one.campaign_id: one for one in mine if one.campaign_id not in left_out and not ending_get(one).state}


@require_POST
def go_on(request: HttpRequest) -> HttpResponse:
    """Redirect to the open block, or to the next block of the campaign whose turn it is."""
    shared, annotator = _shared(request, enrolments_of(request)), known_annotator(request)
    address, users = client_address(request), device_users(request)
    work = work_claim(annotator=annotator, among=shared.keys(), address=address, users=users) if annotator else None
    if work is not None and work.campaign is not None:
        return redirect("judge", key=work.campaign.public_id)
    collecting = (one for one in shared.values() if one.campaign.collecting)
    asked_first = next((one.campaign for one in collecting if not qualification_get(one).passed), None)
    if asked_first is not None:
        return redirect("judge", key=asked_first.public_id)
    messages.info(request, _("There is nothing for you to judge at the moment. Try again in a few minutes."))
    return redirect("me")


def _erasing(request: HttpRequest) -> dict[str, object]:
    """Return what an erasure would do to this visitor's judgments.

    removing: names of campaigns, including left ones, that would remove them.
    keeping: whether any campaign would keep them.
    """
    parts = enrolments_of(request, left=True)
    removing = [part.campaign for part in parts if part.erasure == Onboarding.Erasure.REMOVE]
    return {"removing": _quoted(removing), "keeping": len(removing) < len(parts)}


def _quoted(campaigns: Iterable[Campaign]) -> str:
    """Return the campaign names in quotation marks, because owners choose them freely and they stand in a sentence."""
    return ", ".join(_("“%(name)s”") % {"name": visible(campaign.name)} for campaign in campaigns)


def _part(part: Participation, *, opens: bool) -> dict[str, object]:
    campaign = part.enrolment.campaign
    return {
        **_open(campaign, str(campaign.public_id)),
        "id": campaign.public_id,
        "judgments": part.judgments,
        "since": part.since,
        "paid": part.paid,
        "owed": part.owed,
        "goes_on": opens and campaign.collecting,
    }


def _open(campaign: Campaign, key: str) -> dict[str, object]:
    """Return the campaign for a list: question, minutes per round, pay, language."""
    by_the_hour = campaign.pay_per == Campaign.PayPer.HOUR
    return {
        "name": campaign.name,
        "question": campaign.rubric.aspects.all()[0].question,
        "url": reverse("judge", args=[key]),
        "size": campaign.block_size,
        "minutes": round_minutes(campaign),
        "pay": campaign.pay_rate if by_the_hour else campaign.judgment_price * campaign.block_size,
        "by_the_hour": by_the_hour,
        "currency": campaign.currency,
        "language": onboarding_of(campaign).language,
    }


@require_POST
def mail_language(request: HttpRequest) -> HttpResponse:
    """Save the language of mails to this account."""
    user = user_of(request)
    if user is None:
        return redirect("login")
    user_language_set(user=user, language=request.POST.get("language", ""))
    messages.success(request, _("Saved."))
    return redirect("me")


@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    """Leave one campaign and keep the judgments and earnings."""
    try:
        wanted = uuid.UUID(request.POST.get("campaign", ""))
    except ValueError:
        raise InvalidInput(
            _("The form does not name a campaign. Reload the page and try again."), hint=_("Reload the page.")
        ) from None
    mine = [enrolment for enrolment in enrolments_of(request) if enrolment.campaign.public_id == wanted]
    if not mine:
        raise NotFound(_("You take no part in such a campaign."), hint=_("Reload the page."))
    for enrolment in mine:
        campaign_leave(enrolment=enrolment)
    messages.success(request, _("You have left. What you judged is kept, and what you earned is owed to you."))
    return redirect("me")


@require_POST
def erase(request: HttpRequest) -> HttpResponse:
    """Erase the person.

    The judgments stay without an author or are removed, as the campaign promised.
    """
    if request.POST.get("sure") != "on":
        raise InvalidInput(_("Nothing was erased."), hint=_("Select “I am sure” to continue."), field="sure")
    erased = person_erase(user=user_of(request), parts=enrolments_of(request, left=True))
    logout(request)
    messages.success(request, _erased_text(erased))
    return redirect("home")


def _erased_text(erased: Erased) -> str:
    """Return the confirmation for a person who was just erased: what happened to their judgments."""
    if not erased.removed_from:
        text = _("Erased. Your judgments stay, given by nobody in particular: nothing here leads from them to you.")
        return text if erased.kept else _("Erased. You had judged nothing.")
    if not erased.kept:
        return _("Erased. Your judgments were removed with you.")
    return _(
        "Erased. Your judgments in %(names)s were removed with you; the others stay, given by nobody in particular: "
        "nothing here leads from them to you."
    ) % {"names": _quoted(erased.removed_from)}
