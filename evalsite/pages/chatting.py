"""The states of the chat page: what an annotator sees of a conversation, in words."""

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.campaigns.selectors import aspect_primary, entrants_active
from evalsite.dialogues.models import ChatbotReport, Conversation, Turn
from evalsite.dialogues.selectors import (
    ShownConversation,
    ShownMessage,
    conversation_etag,
    conversation_open,
    conversation_view,
    notice_text,
)
from evalsite.dialogues.starting import StartRefusal
from evalsite.judgments.arrivals import ending_get
from evalsite.judgments.models import Annotator, Enrolment, Skip
from evalsite.judgments.qualification import qualification_get
from evalsite.pages.turn_questions import Given, reply_fields, turn_fields
from evalsite.presentation.formatting import fixed, whole

POLL_MS = 400  # While replies are awaited; it was measured that half a second is noticed.
IDLE_POLL_MS = 15_000  # While the campaign is paused.
LONGEST_MESSAGE = 4_000


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of the last request: what was refused, with what was sent, or what comes next."""

    fault: str = ""
    notice: str = ""
    draft: str = ""
    selected: Sequence[str] = ()
    written: str = ""
    given: Given = field(default_factory=dict)
    asks_none: bool = False
    ends: bool = False
    refusal: StartRefusal | None = None


NOTHING = Sent()


def chat_is_next(enrolment: Enrolment, browser: str) -> bool:
    """Return whether an annotator chats now. The judging page has the qualification, and the end of a study."""
    if conversation_open(campaign=enrolment.campaign, annotator=enrolment.annotator) is not None:
        return True
    return not ending_get(enrolment, browser).state and qualification_get(enrolment).passed


def stamp_of(campaign: Campaign, conversation: Conversation | None) -> str:
    """Return the version of the page for polls, by few small queries."""
    return conversation_etag(conversation) if conversation else f"none-{campaign.state}"


def chat_context(campaign: Campaign, key: str, annotator: Annotator, sent: Sent = NOTHING) -> dict[str, Any]:
    """Return the context of chat.html and its stage."""
    conversation = conversation_open(campaign=campaign, annotator=annotator)
    if conversation is None:
        campaign.refresh_from_db()
    else:
        campaign = conversation.campaign
    frame = {"key": key, "campaign": _campaign(campaign, key), "notice": sent.notice}
    if conversation is None:
        return {**frame, **_outside(campaign, annotator, sent)}
    view = conversation_view(conversation)
    state = _state(view, sent)
    talk = _talk(campaign.live, view, state, sent)
    notice = sent.notice or notice_text(view.notice)
    stage = {
        "state": state,
        "stamp": view.etag,
        "said": _said(state, notice, talk),
        "poll_ms": POLL_MS if state == "waiting" else IDLE_POLL_MS if view.notice == "campaign_paused" else 0,
    }
    return {**frame, "stage": stage, "talk": talk, "notice": notice}


def _campaign(campaign: Campaign, key: str) -> dict[str, Any]:
    public = campaign.visibility == Campaign.Visibility.PUBLIC
    return {
        "name": campaign.name,
        "question": aspect_primary(campaign).question,
        "url": reverse("chat", args=[key]),
        "board_url": reverse("board", args=[key]) if public else "",
        "public": public,
        "releases_data": campaign.releases_data,
    }


# Outside of a conversation ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Words:
    """A heading, sentences, and the words of the button that begins a conversation."""

    heading: str
    lines: list[str] = field(default_factory=list)
    button: str = ""


def _outside(campaign: Campaign, annotator: Annotator, sent: Sent) -> dict[str, Any]:
    """Return the stage without an open conversation: before the first one, after one, or why none begins."""
    last = Conversation.objects.filter(campaign=campaign, annotator=annotator).order_by("-pk").first()
    if sent.refusal is not None:
        state, words = sent.refusal.value, _refused(sent.refusal)
    elif not campaign.collecting:
        refusal = StartRefusal.PAUSED if campaign.state == Campaign.State.PAUSED else StartRefusal.STOPPED
        state, words = refusal.value, _refused(refusal)
        words = Words(words.heading, [*_thanks(last), *words.lines]) if last else words
    elif last is None:
        state, words = "ready", _ready(campaign)
    else:
        state, words = "ended", _after(campaign, annotator, last)
    waits = state in {StartRefusal.PAUSED.value, StartRefusal.CHATBOTS.value}
    stage = {
        "state": state,
        "stamp": stamp_of(campaign, None),
        "said": words.heading,
        "poll_ms": IDLE_POLL_MS if state == StartRefusal.PAUSED.value else 0,
        "heading": words.heading,
        "lines": words.lines,
        "button": words.button or (_("Try again") if waits and campaign.collecting else ""),
        "links": last is not None or sent.refusal is not None or not campaign.collecting,
    }
    talk = {"open": False, "start_key": str(uuid.uuid4()), "asks_review": state in {"ready", "ended"}}
    return {"stage": stage, "talk": talk}


def _ready(campaign: Campaign) -> Words:
    live = campaign.live
    lines = [how_it_goes(live), *([pay_text(campaign)] if campaign.pay_rate else [])]
    lines.append(_("You can close the page at any time. The conversation waits here until you come back."))
    return Words(_("Begin a conversation"), lines, _("Start the conversation"))


def how_it_goes(live: LiveSettings) -> str:
    """Return in one sentence each what a turn is and how many there are."""
    number = live.chatbots_per_conversation
    replies = ngettext(
        "You write messages, and an anonymous chatbot replies.",
        "You write messages, and %(n)s anonymous chatbots reply to each of them.",
        number,
    ) % {"n": number}
    least = ngettext(
        "A conversation has at least %(n)s turn.", "A conversation has at least %(n)s turns.", live.minimum_turns
    ) % {"n": whole(live.minimum_turns)}
    return f"{replies} {selection_text(live)} {least}"


def selection_text(live: LiveSettings) -> str:
    """Return what is selected in a turn, and what continues the conversation."""
    if live.selection == LiveSettings.Selection.SOBA:
        return _("Select the best reply: it continues the conversation.")
    if live.chatbots_per_conversation == 1:
        return _("Select the reply if it is appropriate.")
    return _("Select every appropriate reply. One of those that you select continues the conversation, at random.")


def pay_text(campaign: Campaign) -> str:
    """Return the pay in words; "" without pay."""
    if not campaign.pay_rate:
        return ""
    digits = 2 if campaign.pay_rate == round(campaign.pay_rate, 2) else 4
    amount = f"{fixed(campaign.pay_rate, digits)} {campaign.currency}"
    per_turn = campaign.live.pay_per == LiveSettings.PayPer.TURN
    return (_("%(amount)s for each turn") if per_turn else _("%(amount)s for the conversation")) % {"amount": amount}


def _thanks(last: Conversation) -> list[str]:
    """Return how the last conversation ended."""
    done = last.turns.exclude(state__in=Turn.OPEN).count()
    turns = ngettext("It had %(n)s turn.", "It had %(n)s turns.", done) % {"n": whole(done)}
    words = {
        Conversation.State.ENDED: _("Your conversation is over, and everything in it is saved."),
        Conversation.State.LEFT: _("You left the conversation. What you judged in it is kept."),
        Conversation.State.EXPIRED: _("The conversation ended, because nothing happened in it for a long time."),
    }
    return [f"{words[Conversation.State(last.state)]} {turns}"]


def _after(campaign: Campaign, annotator: Annotator, last: Conversation) -> Words:
    heading = _("Thank you") if last.state == Conversation.State.ENDED else _("The conversation is over")
    if _may_have_more(campaign, annotator):
        more = _("If you like, chat again.")
        return Words(heading, [*_thanks(last), more], _("Start another conversation"))
    return Words(heading, [*_thanks(last), _("You have had all conversations that one person may have here.")])


def _may_have_more(campaign: Campaign, annotator: Annotator) -> bool:
    """Return whether the limit of conversations may allow another one. The start itself checks it exactly."""
    live = campaign.live
    sets = math.comb(entrants_active(campaign).count(), live.chatbots_per_conversation)
    had = Conversation.objects.filter(campaign=campaign, annotator=annotator, setting=live.setting).count()
    return had < sets * live.conversations_per_annotator


def _refused(refusal: StartRefusal) -> Words:
    """Say why no conversation begins, and what to do."""
    closed, finished = _("This campaign is not open"), _("The campaign has finished")
    stands: Mapping[StartRefusal, Words] = {
        StartRefusal.NOT_STARTED: Words(closed, [_("It has not started yet.")]),
        StartRefusal.PAUSED: Words(
            _("The campaign is paused"),
            [_("The people who run it have paused it. This page goes on automatically when it continues.")],
        ),
        StartRefusal.STOPPED: Words(finished, [_("It needs no further conversations.")]),
        StartRefusal.BUDGET: Words(finished, [_("Its budget is used up.")]),
        StartRefusal.EXCLUDED: Words(
            _("You can chat no more here"),
            [_("The people who run this campaign no longer count your judgments. Ask them if this is a mistake.")],
        ),
        StartRefusal.ON_HOLD: Words(
            _("Your participation is paused"),
            [_("The people who run this campaign have paused it. Ask them when it continues.")],
        ),
        StartRefusal.CONSENT: Words(closed, [_("Read the notice and agree to it first, on the page of the campaign.")]),
        StartRefusal.QUALIFICATION: Words(closed, [_("The qualification comes first, on the page of the campaign.")]),
        StartRefusal.NOT_QUALIFIED: Words(closed, [_("The qualification did not admit you to this campaign.")]),
        StartRefusal.LIMIT: Words(
            _("You have done your share"), [_("You have had all conversations that one person may have here.")]
        ),
        StartRefusal.CHATBOTS: Words(
            _("No chatbots are free right now"),
            [_("Too few chatbots can reply at the moment. Nothing is lost: try again in a few minutes.")],
        ),
        StartRefusal.OWN_CHATBOTS: Words(
            _("These chatbots are your own"),
            [_("Members of an organisation do not judge its chatbots where others see the board.")],
        ),
    }
    return stands[refusal]


# In a conversation --------------------------------------------------------------------------------------


def _state(view: ShownConversation, sent: Sent) -> str:
    if view.turn is not None:
        return "waiting" if view.turn.row.state == Turn.State.WAITING else "choose"
    if view.can_end and (sent.ends or not (view.can_send or view.notice == "campaign_paused")):
        return "rate"
    return "write" if view.can_send else "held"


def _talk(live: LiveSettings, view: ShownConversation, state: str, sent: Sent) -> dict[str, Any]:
    number = view.turn.row.number if view.turn else _next_number(view)
    turns = [_message(one) for one in view.messages]
    if view.turn and not any(one.turn == number for one in view.messages):
        turns.append({"speaker": "user", "text": view.turn.text, "mark": "", "erased": False})
    talk: dict[str, Any] = {
        "open": True,
        "id": str(view.row.public_id),
        "number": number,
        "key": f"page-{number}",
        "progress": _progress(live, view, number, state),
        "percent": min(100, round(100 * view.turns_done / live.minimum_turns)),
        "pay": pay_text(view.campaign),
        "topic": view.row.topic,
        "turns": turns,
        "may_end": view.can_end,
        "is_over": view.notice == "campaign_stopped",
        "leave_text": _leave_text(live, view),
        "longest": LONGEST_MESSAGE,
        "fault": sent.fault,
        "draft": sent.draft,
    }
    if state == "waiting":
        several = live.chatbots_per_conversation > 1
        talk["waiting_text"] = _("Replies are being written") if several else _("A reply is being written")
    if state == "choose":
        talk |= _choice(live, view, sent)
    if state == "rate":
        talk |= {"rates": live.end_rating, "asks_feedback": live.end_feedback, "scale": _scale()}
    return talk


def _next_number(view: ShownConversation) -> int:
    return max((one.turn for one in view.messages), default=0) + 1


def _message(one: ShownMessage) -> dict[str, Any]:
    marks = {
        "random_of_selected": _("A random one of the replies that you selected continues:"),
        "random_of_none": _("A random reply continues:"),
        "written": _("The reply that you wrote:"),
        "only": _("The only reply that came:"),
    }
    return {"speaker": one.speaker, "text": one.text, "mark": marks.get(one.how or "", ""), "erased": not one.text}


def _progress(live: LiveSettings, view: ShownConversation, number: int, state: str) -> str:
    if state == "rate":
        return _("The end of the conversation")
    if view.turns_done < live.minimum_turns:
        return _("Turn %(n)s of at least %(least)s") % {"n": whole(number), "least": whole(live.minimum_turns)}
    if live.maximum_turns:
        return _("Turn %(n)s of at most %(most)s") % {"n": whole(number), "most": whole(live.maximum_turns)}
    return _("Turn %(n)s; you may end now") % {"n": whole(number)}


def _leave_text(live: LiveSettings, view: ShownConversation) -> str:
    if not view.campaign.pay_rate:
        return _("If you leave for good, the conversation ends. What you judged is kept.")
    if live.pay_per == LiveSettings.PayPer.TURN:
        return _("If you leave for good, the conversation ends. What you judged is kept and paid.")
    return _(
        "If you leave for good, the conversation ends, and what you judged is kept. A conversation is paid once it has "
        "its minimum of turns."
    )


def _choice(live: LiveSettings, view: ShownConversation, sent: Sent) -> dict[str, Any]:
    assert view.turn is not None  # noqa: S101
    replies, questions = view.turn.replies, view.turn.aspects[1:]
    layout = "single" if len(replies) == 1 else "sides" if len(replies) == 2 else "list"
    one_best = live.selection == LiveSettings.Selection.SOBA
    written = live.fallback == LiveSettings.Fallback.WRITTEN and not one_best
    return {
        "turn": str(view.turn.row.public_id),
        "layout": layout,
        "selects_one": one_best,
        "about": selection_text(live),
        "candidates": [
            {
                "label": reply.label,
                "digit": str(place),
                "text": reply.text,
                "cut": reply.cut_off,
                "pick": _pick(reply.label, layout, one_best),
                "selected": reply.label in sent.selected,
                "questions": reply_fields(questions, reply.label, sent.given),
            }
            for place, reply in enumerate(replies, start=1)
        ],
        "questions": turn_fields(questions, sent.given),
        "asks_none": sent.asks_none,
        "asks_written": sent.asks_none and written,
        "written": sent.written,
        "none_text": _none_text(layout, written=written),
        "skip_reasons": _skip_reasons(),
        "report_reasons": [(reason.value, str(reason.label)) for reason in ChatbotReport.Reason],
    }


def _pick(label: str, layout: str, one_best: bool) -> str:
    if layout == "single":
        return _("The reply is appropriate")
    words = _("Reply %(label)s is the best") if one_best else _("Reply %(label)s is appropriate")
    return words % {"label": label}


def _none_text(layout: str, *, written: bool) -> str:
    if written:
        return _("Write a better reply: it continues the conversation.")
    if layout == "single":
        return _("The conversation continues with it all the same. Continue, or select it.")
    return _("If you continue, a random one of them continues the conversation.")


def _skip_reasons() -> list[tuple[str, str]]:
    words = {
        "cannot_judge": _("I cannot judge this (topic or language)"),
        "broken": _("A reply is missing or broken"),
        "offensive": _("I do not want to read this"),
        "recognised": _("I recognize the chatbot"),
        "other": _("Something else"),
    }
    return [(reason.value, words[reason.value]) for reason in Skip.Reason]


def _scale() -> list[dict[str, Any]]:
    words = {1: _("very bad"), 2: _("bad"), 3: _("so-so"), 4: _("good"), 5: _("very good")}
    return [{"value": value, "words": text} for value, text in words.items()]


def _said(state: str, notice: str, talk: Mapping[str, Any]) -> str:
    """Return what a screen reader says when the page changes."""
    if state == "choose":
        count = len(talk["candidates"])
        if talk["asks_none"]:
            return _("Nothing is selected.") + " " + str(talk["none_text"])
        text = ngettext("%(n)s reply is here.", "%(n)s replies are here.", count) % {"n": count}
        return f"{text} {talk['about']}"
    if state == "waiting":
        return f"{talk['waiting_text']}."
    if state == "held":
        return notice
    text = _("Your turn: write a message.") if state == "write" else _("Rate the conversation.")
    newest = talk["turns"][-1] if talk["turns"] else None
    heard = newest["mark"] if state == "write" and newest and newest["speaker"] == "chatbot" else ""
    return " ".join(part for part in (notice, heard, text) if part)
