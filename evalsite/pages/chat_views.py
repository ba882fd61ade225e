"""Views of the chat page. They parse, call one service or selector, and render."""

import uuid
from dataclasses import replace

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.selectors import aspects_of
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.throttle import admit
from evalsite.dialogues.endings import conversation_end, conversation_leave
from evalsite.dialogues.messages import message_post
from evalsite.dialogues.reports import reply_report
from evalsite.dialogues.selectors import conversation_open, labels_shown
from evalsite.dialogues.starting import conversation_start
from evalsite.dialogues.turns import turn_judge, turn_skip
from evalsite.judgments.admission import lacks_consent
from evalsite.judgments.models import Annotator
from evalsite.pages.chatting import NOTHING, Sent, chat_context, chat_is_next, stamp_of
from evalsite.pages.known_devices import device_users
from evalsite.pages.turn_questions import answers_given, values_given
from evalsite.pages.visitors import at_campaign, browser_of

NO_NEWS = 204


@never_cache
@require_safe
def chat(request: HttpRequest, key: str) -> HttpResponse:
    """Show the page, or its stage for htmx. A poll names the version that it has `seen`: 204 if there is no other."""
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None or not campaign.is_live or lacks_consent(enrolment):
        return _elsewhere(request, key)
    conversation = conversation_open(campaign=campaign, annotator=enrolment.annotator)
    if request.GET.get("seen") == stamp_of(campaign, conversation):
        return HttpResponse(status=NO_NEWS)
    if conversation is None and not chat_is_next(enrolment, browser_of(request)):
        return _elsewhere(request, key)
    return _show(request, campaign, key, enrolment.annotator, NOTHING)


@require_POST
def chat_begin(request: HttpRequest, key: str) -> HttpResponse:
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    started = conversation_start(
        campaign=campaign,
        annotator=annotator,
        key=request.POST.get("key", "")[:100] or str(uuid.uuid4()),
        consents_to_review=request.POST.get("review") == "on",
        users=device_users(request),
    )
    return _next(request, campaign, key, annotator, Sent(refusal=started.refusal))


@require_POST
def chat_send(request: HttpRequest, key: str) -> HttpResponse:
    """Post a message. One that is refused stays in the box, with the reason beside it."""
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    text = request.POST.get("text", "")
    try:
        message_post(
            annotator=annotator,
            conversation_id=_uuid(request.POST.get("conversation", "")),
            text=text.replace("\r\n", "\n"),
            key=request.POST.get("key", "")[:100],
        )
    except InvalidInput as refused:
        sent = Sent(fault=f"{refused.message} {refused.hint}".strip(), draft=text)
        return _next(request, campaign, key, annotator, sent)
    except Conflict as refused:
        return _next(request, campaign, key, annotator, Sent(notice=_moved_on(refused), draft=text))
    return _next(request, campaign, key, annotator, NOTHING)


@require_POST
def chat_select(request: HttpRequest, key: str) -> HttpResponse:
    """Judge the turn. Without a selection the page asks once more, or for a better reply."""
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    labels, written = request.POST.getlist("selected"), request.POST.get("written", "").strip()
    one_best = campaign.live.selection == LiveSettings.Selection.SOBA
    given, turn = values_given(request.POST), _uuid(request.POST.get("turn", ""))
    sent = Sent(selected=labels, written=written, given=given, asks_none=not labels and not one_best)
    fault = _unfinished(campaign.live, labels, written, asked="none" in request.POST)
    primary, *others = aspects_of(campaign.pk)
    answers, missing = answers_given(given, others, labels_shown(annotator, turn) if others else (), labels)
    fault = missing or None if fault is None else fault
    if fault is not None:
        return _next(request, campaign, key, annotator, replace(sent, fault=fault))
    try:
        turn_judge(
            annotator=annotator,
            turn_id=turn,
            choices={**answers, primary.key: labels[0] if one_best else labels},
            written="" if labels else written,
            client_ms=_whole(request.POST.get("client_ms", "")),
        )
    except InvalidInput as refused:
        fault = f"{refused.message} {refused.hint}".strip()
        return _next(request, campaign, key, annotator, replace(sent, fault=fault))
    except Conflict as refused:
        return _next(request, campaign, key, annotator, Sent(notice=_moved_on(refused)))
    return _next(request, campaign, key, annotator, NOTHING)


def _unfinished(live: LiveSettings, labels: list[str], written: str, *, asked: bool) -> str | None:
    """Return what is still missing; "" if the page first says what happens without a selection; None if nothing is."""
    if live.selection == LiveSettings.Selection.SOBA:
        return None if len(labels) == 1 else _("Select one of the replies first.")
    if labels:
        return None
    if not asked:
        return ""
    wants_text = live.fallback == LiveSettings.Fallback.WRITTEN
    return _("Write a reply, or select one of those above.") if wants_text and not written else None


@require_POST
def chat_skip(request: HttpRequest, key: str) -> HttpResponse:
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    try:
        turn_skip(
            annotator=annotator,
            turn_id=_uuid(request.POST.get("turn", "")),
            reason=request.POST.get("reason", ""),
            note=request.POST.get("note", ""),
        )
    except Conflict as refused:
        return _next(request, campaign, key, annotator, Sent(notice=_moved_on(refused)))
    return _next(request, campaign, key, annotator, Sent(notice=_("Skipped. The turn is not judged.")))


@require_POST
def chat_report(request: HttpRequest, key: str) -> HttpResponse:
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    try:
        reply_report(
            annotator=annotator,
            turn_id=_uuid(request.POST.get("turn", "")),
            label=request.POST.get("label", ""),
            reason=request.POST.get("reason", ""),
            note=request.POST.get("note", ""),
        )
    except Conflict as refused:
        return _next(request, campaign, key, annotator, Sent(notice=_moved_on(refused)))
    notice = _("Reported. The people who run the campaign will read it.")
    return _next(request, campaign, key, annotator, Sent(notice=notice))


@require_POST
def chat_ending(request: HttpRequest, key: str) -> HttpResponse:
    """Go to the end of the conversation: what it is rated, if the campaign asks for that."""
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    return _show(request, campaign, key, annotator, Sent(ends=True))


@require_POST
def chat_end(request: HttpRequest, key: str) -> HttpResponse:
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    try:
        conversation_end(
            annotator=annotator,
            conversation_id=_uuid(request.POST.get("conversation", "")),
            rating=_whole(request.POST.get("rating", "")),
            feedback=request.POST.get("feedback", ""),
        )
    except InvalidInput as refused:
        sent = Sent(fault=f"{refused.message} {refused.hint}".strip(), ends=True)
        return _next(request, campaign, key, annotator, sent)
    except Conflict as refused:
        return _next(request, campaign, key, annotator, Sent(notice=_moved_on(refused)))
    return _next(request, campaign, key, annotator, NOTHING)


@require_POST
def chat_leave(request: HttpRequest, key: str) -> HttpResponse:
    campaign, annotator = _at_live_campaign(request, key)
    if annotator is None:
        return _elsewhere(request, key)
    conversation_leave(annotator=annotator, conversation_id=_uuid(request.POST.get("conversation", "")))
    return _next(request, campaign, key, annotator, NOTHING)


def _at_live_campaign(request: HttpRequest, key: str) -> tuple[Campaign, Annotator | None]:
    """Return the campaign, and the annotator if they may act here. Counts the request against their limit."""
    campaign, enrolment = at_campaign(request, key)
    if enrolment is None or not campaign.is_live or lacks_consent(enrolment):
        return campaign, None
    annotator: Annotator = enrolment.annotator
    admit(what="answer", who=str(annotator.public_id), at_most=settings.ANSWERS_PER_MINUTE, per_s=60)
    return campaign, annotator


def _elsewhere(request: HttpRequest, key: str) -> HttpResponse:
    """Go to the judging page: it has the welcome, the qualification, and the end of a study."""
    if getattr(request, "htmx", False):
        return HttpResponseClientRedirect(reverse("judge", args=[key]))
    return redirect("judge", key=key)


def _moved_on(refused: Conflict) -> str:
    """Return what to say when the conversation is not where this page thought: another window, or a late answer."""
    words = {
        "turn_open": _("A message of yours is being answered already. This is where the conversation stands."),
        "message_key": _("You sent another message in this place already. This is where the conversation stands."),
    }
    return words.get(refused.code, f"{refused.message} {refused.hint}".strip())


def _next(request: HttpRequest, campaign: Campaign, key: str, annotator: Annotator, sent: Sent) -> HttpResponse:
    """Return the next stage: a fragment for htmx, or a redirect for a browser without scripts.

    A redirect would lose what is said. So a response with something to say is the page itself.
    """
    if not getattr(request, "htmx", False) and sent == NOTHING:
        return redirect("chat", key=key)
    return _show(request, campaign, key, annotator, sent)


def _show(request: HttpRequest, campaign: Campaign, key: str, annotator: Annotator, sent: Sent) -> HttpResponse:
    template = "_chat_stage.html" if getattr(request, "htmx", False) else "chat.html"
    return render(request, template, chat_context(campaign, key, annotator, sent))


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise InvalidInput(
            _("The form does not name a turn. Reload the page and try again."), hint=_("Reload the page.")
        ) from None


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
