"""Views of the judging page. They parse, call one service or selector, and render."""

import uuid

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.admission import lacks_consent
from evalsite.judgments.answer_rows import Choice
from evalsite.judgments.arrivals import MTURK_HOSTS, ending_get
from evalsite.judgments.conflict_of_interest import is_left_out
from evalsite.judgments.leases import assignment_skip, skip_undo
from evalsite.judgments.models import Enrolment, Judgment
from evalsite.judgments.qualification import qualification_answer
from evalsite.judgments.services import annotator_enrol, block_claim, judgment_record
from evalsite.pages.chatting import chat_is_next
from evalsite.pages.judging import NOTHING, LastResult, stage_context
from evalsite.pages.known_devices import device_users
from evalsite.pages.visitors import at_campaign, browser_of, known_annotator, remember, user_of


@never_cache
@require_safe
def judge(request: HttpRequest, key: str) -> HttpResponse:
    """Show the page, or its stage for htmx: the first open item, or the answered one in `item`."""
    campaign, enrolment = at_campaign(request, key)
    if _chats(request, campaign, enrolment):
        return _to_chat(request, key)
    happened = LastResult(found_nothing="nothing" in request.GET)
    revisit, user = request.GET.get("item", ""), user_of(request)
    context = stage_context(
        campaign,
        key,
        enrolment,
        user=user,
        revisit=revisit,
        happened=happened,
        browser=browser_of(request),
        users=device_users(request),
    )
    return render(request, "_judge_stage.html" if request.htmx else "judge.html", context)  # type: ignore[attr-defined]


def _chats(request: HttpRequest, campaign: Campaign, enrolment: Enrolment | None) -> bool:
    """Return whether this visitor belongs on the chat page: admitted to a live campaign, and not at its end."""
    if not campaign.is_live or enrolment is None or lacks_consent(enrolment):
        return False
    return chat_is_next(enrolment, browser_of(request))


def _to_chat(request: HttpRequest, key: str) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponseClientRedirect(reverse("chat", args=[key]))
    return redirect("chat", key=key)


@require_POST
def judge_begin(request: HttpRequest, key: str) -> HttpResponse:
    """Enrol or continue. An annotator without open items gets the next block."""
    campaign, enrolment = at_campaign(request, key)
    users = device_users(request)
    if enrolment is None or lacks_consent(enrolment):
        if campaign.state == Campaign.State.STOPPED or is_left_out(campaign, user_of(request), users=users):
            return redirect("judge", key=key)  # An outdated page. The current one explains the situation.
        enrolment = _enrol(request, campaign, enrolment)
    if _chats(request, campaign, enrolment):
        return _to_chat(request, key)
    if campaign.is_live or ending_get(enrolment).state:
        return _next(request, campaign, key, enrolment, LastResult(found_nothing=True))
    address = client_address(request)
    claimed = block_claim(campaign=campaign, annotator=enrolment.annotator, address=address, users=users)
    return _next(request, campaign, key, enrolment, LastResult(found_nothing=not claimed.block, wait=claimed.wait))


def _enrol(request: HttpRequest, campaign: Campaign, earlier: Enrolment | None) -> Enrolment:
    known = earlier.annotator if earlier else known_annotator(request)
    if known is None:
        admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    consents = request.POST.get("consent") == "on"
    user = earlier.annotator.user if earlier else user_of(request)
    annotator = annotator_enrol(campaign=campaign, annotator=known, user=user, consents=consents)
    if earlier is None:
        remember(request, annotator)
    return Enrolment.objects.select_related("campaign", "annotator").get(campaign=campaign, annotator=annotator)


@require_POST
def judge_answer(request: HttpRequest, key: str) -> HttpResponse:
    """Record an answer.

    The next block is claimed only on request, so that the answers of this one can be changed until then.
    """
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None:
        return redirect("judge", key=key)
    annotator = enrolment.annotator
    admit(what="answer", who=str(annotator.public_id), at_most=settings.ANSWERS_PER_MINUTE, per_s=60)
    assignment = _uuid(request.POST.get("assignment", ""))
    try:
        recorded = judgment_record(
            annotator=annotator,
            assignment_id=assignment,
            choices=_choices(request, campaign),
            comment=request.POST.get("comment", ""),
            reasons=request.POST.getlist("reason"),
            client_ms=_whole(request.POST.get("client_ms", "")),
            supersedes=_uuid(request.POST["supersedes"]) if request.POST.get("supersedes") else None,
        )
    except InvalidInput as refused:
        if refused.code != "comment_missing":
            raise
        return _next(request, campaign, key, enrolment, LastResult(notice=f"{refused.message} {refused.hint}"))
    except Conflict as refused:
        notice = _refusal(refused)
        if not notice:
            raise
        # Show the recorded answer, not the submitted one.
        stands = str(assignment) if refused.code in ("answered", "superseded") else ""
        return _next(request, campaign, key, enrolment, LastResult(answered=stands, notice=notice))
    happened = LastResult(answered=str(assignment), notice=_lateness(recorded.judgment))
    return _next(request, campaign, key, enrolment, happened)


def _lateness(given: Judgment) -> str:
    """Say what happened to a late answer; "" for one in time."""
    if not given.late:
        return ""
    if given.over_quota:
        text = _("It is kept, but not paid, and does not count: all that is asked of you is answered or open.")
    elif given.counts:
        paid = _("It is kept and paid, and counts: nobody had taken its place.")
        text = paid if given.is_paid else _("It is kept, and counts: nobody had taken its place.")
    else:
        paid = _("It is kept and paid, but does not count: somebody else had taken its place.")
        text = paid if given.is_paid else _("It is kept, but does not count: somebody else had taken its place.")
    return _("That answer came after its time. %(kept)s") % {"kept": text}


def _refusal(refused: Conflict) -> str:
    """Return the message above the next stage, without mentioning the API; "" if the annotator cannot continue."""
    texts = {
        "block_closed": _("This round is closed, so your earlier answer stands."),
        "answered": _("You had answered this one already, so your earlier answer stands."),
        "superseded": _("You had changed this answer already, so your latest answer stands."),
    }
    return texts.get(refused.code, "")


@require_POST
def judge_skip(request: HttpRequest, key: str) -> HttpResponse:
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None:
        return redirect("judge", key=key)
    try:
        assignment_skip(
            annotator=enrolment.annotator,
            assignment_id=_uuid(request.POST.get("assignment", "")),
            reason=request.POST.get("reason", ""),
            note=request.POST.get("note", ""),
        )
    except Conflict as refused:
        if refused.code != "skips_used":
            raise
        return _next(request, campaign, key, enrolment, LastResult(notice=f"{refused.message} {refused.hint}"))
    return _next(request, campaign, key, enrolment, LastResult(skipped=request.POST.get("assignment", "")))


@require_POST
def judge_unskip(request: HttpRequest, key: str) -> HttpResponse:
    """Take a skip back and show its item again."""
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None:
        return redirect("judge", key=key)
    admit(what="answer", who=str(enrolment.annotator.public_id), at_most=settings.ANSWERS_PER_MINUTE, per_s=60)
    try:
        skip_undo(annotator=enrolment.annotator, assignment_id=_uuid(request.POST.get("skipped", "")))
    except Conflict as refused:
        return _next(request, campaign, key, enrolment, LastResult(notice=f"{refused.message} {refused.hint}"))
    return _next(request, campaign, key, enrolment, NOTHING)


@require_POST
def judge_qualify(request: HttpRequest, key: str) -> HttpResponse:
    """Record the answer of a qualification item and show its explanation at once."""
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None:
        return redirect("judge", key=key)
    answer = qualification_answer(
        enrolment=enrolment,
        item_id=_whole(request.POST.get("item", "")) or 0,
        attempt=_whole(request.POST.get("attempt", "")) or 0,
        choice=request.POST.get("choice", ""),
    )
    context = stage_context(
        campaign, key, enrolment, happened=LastResult(explained=answer), browser=browser_of(request)
    )
    return render(request, "_judge_stage.html" if request.htmx else "judge.html", context)  # type: ignore[attr-defined]


@csp_update({"form-action": list(MTURK_HOSTS)})  # type: ignore[arg-type]  # its stubs know views without arguments only
@never_cache
@require_safe
def judge_submit(request: HttpRequest, key: str) -> HttpResponse:
    """Show the form that submits the finished task to Mechanical Turk."""
    _, enrolment = at_campaign(request, key)
    ending = ending_get(enrolment, browser_of(request)) if enrolment else None
    if ending is None or ending.arrival is None or not ending.arrival.submit_to or not ending.code:
        return redirect("judge", key=key)
    context = {"ending": ending, "action": f"{ending.arrival.submit_to}/mturk/externalSubmit"}
    return render(request, "mturk_submit.html", context)


def _next(
    request: HttpRequest, campaign: Campaign, key: str, enrolment: Enrolment, happened: LastResult
) -> HttpResponse:
    """Return the next stage: a fragment for htmx, or a redirect for a browser without scripts.

    A redirect would lose a message. So a response with a message is the page itself.
    """
    scripted = getattr(request, "htmx", False)
    if not scripted and not happened.notice:
        return redirect(reverse("judge", args=[key]) + ("?nothing=1" if happened.found_nothing else ""))
    campaign.refresh_from_db()
    context = stage_context(campaign, key, enrolment, happened=happened, browser=browser_of(request))
    return render(request, "_judge_stage.html" if scripted else "judge.html", context)


def _choices(request: HttpRequest, campaign: Campaign) -> dict[str, Choice]:
    """Return the answer in the request. A button's choice is for the only aspect; several aspects have fields."""
    aspects = list(campaign.rubric.aspects.all())
    if len(aspects) == 1 and "choice" in request.POST:
        return {aspects[0].key: _choice(aspects[0], request.POST.getlist("choice"))}
    return {aspect.key: _choice(aspect, request.POST.getlist(f"answer.{aspect.key}")) for aspect in aspects}


def _choice(aspect: Aspect, given: list[str]) -> Choice:
    """Return the values of a field as the answer to its aspect."""
    if aspect.kind == Aspect.Kind.LABEL:
        return given
    value = given[-1] if given else ""
    number = _whole(value) if aspect.kind == Aspect.Kind.RATING else None
    return value if number is None else number


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise InvalidInput(
            _("The form does not name an assignment. Reload the page and try again."), hint=_("Reload the page.")
        ) from None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
