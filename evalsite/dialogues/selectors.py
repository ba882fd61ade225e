"""Conversations as their annotators and owners see them."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Case, IntegerField, QuerySet, Value, When, prefetch_related_objects
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.selectors import aspects_of
from evalsite.core.composed import composed
from evalsite.core.db import as_stored, rows
from evalsite.core.errors import NotFound
from evalsite.dialogues.history import Transcript, TranscriptLine, replies_shown, transcript_of
from evalsite.dialogues.models import ChatbotReport, Conversation, Turn, TurnReply, Utterance
from evalsite.dialogues.turn_limits import may_end, turns_done
from evalsite.endpoints.adapters.base import TRUNCATED
from evalsite.judgments.models import LABELS, Annotator


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message of the history. `how` is null for the annotator's messages."""

    turn: int
    speaker: str
    text: str
    how: str | None


@dataclass(frozen=True, slots=True)
class ShownReply:
    """A released reply. It never says which chatbot wrote it."""

    label: str
    text: str
    cut_off: bool


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """The open turn. `replies` is empty until all have come."""

    row: Turn
    text: str
    replies: Sequence[ShownReply]
    aspects: Sequence[Aspect]


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """All that the chat page shows. `notice` is a code with words (`notice_text`), or ""."""

    row: Conversation
    campaign: Campaign
    messages: Sequence[ShownMessage]
    turn: ShownTurn | None
    chatbots: int
    turns_done: int
    can_send: bool
    can_end: bool
    notice: str
    etag: str


def notice_text(notice: str) -> str:
    """Return the words of a notice."""
    return {
        "": "",
        "turn_void": _(
            "A chatbot did not reply. The turn is not judged, but counted and paid. "
            "The conversation goes on with a reply that came."
        ),
        "no_reply": _(
            "No chatbot replied. The turn is counted and paid. Send your message again, or end the conversation."
        ),
        "campaign_paused": _("The campaign is paused. Come back later, or end the conversation."),
        "campaign_stopped": _("The campaign has ended. End the conversation."),
    }[notice]


def conversation_get(*, annotator: Annotator, conversation_id: uuid.UUID) -> Conversation:
    """Return the annotator's conversation. Raises NotFound, also for those of others."""
    found = _own(conversation_id, annotator.pk)
    if not found:
        raise NotFound(_("You have no such conversation."), hint=_("Start one."), field="conversation")
    return found[0]


@composed
def _own(public_id: uuid.UUID, annotator: int) -> QuerySet[Conversation, Conversation]:
    return Conversation.objects.select_related("campaign__live").filter(public_id=public_id, annotator=annotator)


def conversation_open(*, campaign: Campaign, annotator: Annotator) -> Conversation | None:
    """Return the annotator's open conversation in a campaign."""
    found = _open(campaign.pk, annotator.pk)
    return found[0] if found else None


@composed
def _open(campaign: int, annotator: int) -> QuerySet[Conversation, Conversation]:
    own = Conversation.objects.select_related("campaign__live").filter(campaign=campaign, annotator=annotator)
    return own.filter(state=Conversation.State.OPEN)


def turn_id_get(*, annotator: Annotator, conversation_id: uuid.UUID, number: int) -> uuid.UUID:
    """Return the id of a turn of the annotator's conversation. Raises NotFound."""
    found = _turn_ids(conversation_id, annotator.pk, number)
    if not found:
        conversation_get(annotator=annotator, conversation_id=conversation_id)
        raise NotFound(_("The conversation has no such turn."), hint=_("Read it again."), field="turn")
    return found[0]


@composed
def _turn_ids(conversation_id: uuid.UUID, annotator: int, number: int) -> QuerySet[Turn, uuid.UUID]:
    turns = Turn.objects.filter(conversation__public_id=conversation_id, conversation__annotator=annotator)
    return turns.filter(number=number).order_by().values_list("public_id", flat=True)


def labels_shown(annotator: Annotator, turn_id: uuid.UUID) -> list[str]:
    """Return the labels of the replies that the annotator sees in a turn."""
    shown = TurnReply.objects.filter(turn__public_id=turn_id, turn__conversation__annotator=annotator).shown()
    return [LABELS[position or 0] for position in shown.values_list("position", flat=True)]


def conversation_view(conversation: Conversation, transcript: Transcript | None = None) -> ShownConversation:
    """Return what the annotator sees of a conversation now. `transcript`: where it was read already."""
    transcript = transcript or transcript_of(conversation)
    turns, said = transcript.turns, transcript.lines
    # Of what was read first: a change since then causes another read.
    etag = _version(conversation, turns[-1] if turns else None)
    states = [turn.state for turn in turns]
    is_open = conversation.state == Conversation.State.OPEN
    last = turns[-1] if turns else None
    waits = last is not None and last.state in Turn.OPEN
    done, most = turns_done(states), conversation.campaign.live.maximum_turns
    room = most is None or done < most
    return ShownConversation(
        row=conversation,
        campaign=conversation.campaign,
        messages=[_message(line) for line in said if line.state not in Turn.OPEN],
        turn=_turn(last, _text_of_open_turn(said)) if last is not None and waits and is_open else None,
        chatbots=conversation.campaign.live.chatbots_per_conversation,
        turns_done=done,
        can_send=is_open and not waits and room and conversation.campaign.collecting,
        can_end=is_open and not waits and may_end(conversation, states),
        notice=_notice(conversation, last, said) if is_open else "",
        etag=etag,
    )


def _message(line: TranscriptLine) -> ShownMessage:
    how = line.how if line.speaker == Utterance.Speaker.CHATBOT else None
    return ShownMessage(line.number, line.speaker, line.text, how)


def _text_of_open_turn(said: Iterable[TranscriptLine]) -> str:
    return next((line.text for line in said if line.state in Turn.OPEN), "")


def _turn(turn: Turn, text: str) -> ShownTurn:
    if turn.state != Turn.State.RELEASED:
        return ShownTurn(turn, text, (), ())
    replies = [
        ShownReply(LABELS[row.position or 0], row.text, TRUNCATED in row.flags) for row in replies_shown(turn.pk)
    ]
    return ShownTurn(turn, text, replies, aspects_of(turn.conversation.campaign_id))


def _notice(conversation: Conversation, last: Turn | None, said: Sequence[TranscriptLine]) -> str:
    campaign = conversation.campaign
    if not campaign.collecting:
        return "campaign_stopped" if campaign.state == Campaign.State.STOPPED else "campaign_paused"
    if last is None or last.state != Turn.State.VOID:
        return ""
    went_on = any(line.number == last.number and line.how is not None for line in said)
    return "turn_void" if went_on else "no_reply"


def conversation_etag(conversation: Conversation) -> str:
    """Return the version of a conversation for If-None-Match."""
    return etag_get(annotator=conversation.annotator_id, conversation_id=conversation.public_id)


def etag_get(*, annotator: int, conversation_id: uuid.UUID) -> str:
    """Return the version of the annotator's (key) conversation; "" if there is none.

    All who wait for replies ask for it, so it is one statement by hand: the ORM took three times the processor time.
    """
    found = rows(_VERSION, [as_stored(conversation_id), annotator])
    return _etag_of(found[0]) if found else ""


_VERSION = """
SELECT own.state, campaign.state, own.active_at, own.erased_at, turn.number, turn.state, turn.deadline
FROM dialogues_conversation own JOIN campaigns_campaign campaign ON campaign.id = own.campaign_id
LEFT JOIN dialogues_turn turn ON turn.conversation_id = own.id
WHERE own.public_id = %s AND own.annotator_id = %s ORDER BY turn.number DESC LIMIT 1
"""


def _version(conversation: Conversation, last: Turn | None) -> str:
    """Return the same version, of rows that were read already."""
    own = conversation.state, conversation.campaign.state, conversation.active_at, conversation.erased_at
    turn = (last.number, last.state, last.deadline) if last else (None, None, None)
    return _etag_of([*own, *turn])


def _etag_of(words: Iterable[object]) -> str:
    return f'"{".".join(_mark(word) for word in words)}"'


def _mark(word: object) -> str:
    """Return a part of the version. SQLite gives times without their zone, which is UTC."""
    if not isinstance(word, datetime):
        return str(word or "")
    return format((word if word.tzinfo else word.replace(tzinfo=UTC)).timestamp(), ".6f")


@dataclass(frozen=True, slots=True)
class ChatbotReportRow:
    """A report in the triage list of an owner. The text is "" after an erasure."""

    row: ChatbotReport
    chatbot: str
    version: str
    text: str
    message: str
    paused: bool


def reports_in(campaign: Campaign) -> QuerySet[ChatbotReport]:
    """Return the reports of replies in a campaign."""
    return ChatbotReport.objects.filter(reply__turn__conversation__campaign=campaign)


def reports_of(campaign: Campaign) -> list[ChatbotReportRow]:
    """Return the reports of a campaign, open ones first, newest first."""
    order = Case(When(outcome=ChatbotReport.Outcome.OPEN, then=Value(0)), default=Value(1), output_field=IntegerField())
    return report_rows(reports_in(campaign).order_by(order, "-pk"))


def report_rows(reports: Iterable[ChatbotReport]) -> list[ChatbotReportRow]:
    """Return these reports with the texts that they are about, in the given order, by a fixed number of queries."""
    rows = list(reports)
    prefetch_related_objects(rows, "reply__entrant__version__chatbot", "reply__entrant__live_pause", "reply__turn")
    turns = {row.reply.turn_id for row in rows}
    users = Utterance.objects.filter(turn__in=turns, speaker=Utterance.Speaker.USER)
    said = dict(users.values_list("turn", "text"))
    return [
        ChatbotReportRow(
            row,
            row.reply.entrant.name,
            row.reply.entrant.version.label,
            row.reply.text,
            said.get(row.reply.turn_id, ""),
            hasattr(row.reply.entrant, "live_pause"),
        )
        for row in rows
    ]
