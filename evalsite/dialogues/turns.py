"""Judging and skipping turns, and how the conversation goes on."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.campaigns.models import LiveSettings
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.row_writes import rows_update
from evalsite.dialogues.history import replies_shown, turn_continue, turn_rng
from evalsite.dialogues.locking import over_error, turn_lock
from evalsite.dialogues.models import LONGEST_MESSAGE, Continuation, Turn, TurnReply
from evalsite.dialogues.texts import text_checked
from evalsite.judgments.answer_rows import Choice
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Answer, Assignment, Judgment
from evalsite.judgments.services import judgment_record


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A judged turn. `created` False: the same answer had been recorded before."""

    turn: Turn
    judgment: Judgment
    created: bool


def turn_judge(
    *,
    annotator: Annotator,
    turn_id: uuid.UUID,
    choices: Mapping[str, Choice],
    written: str = "",
    client_ms: int | None = None,
    comment: str = "",
    reasons: Sequence[str] = (),
) -> JudgedTurn:
    """Record the annotator's answers on a released turn and continue the conversation, in one transaction.

    `choices` maps aspect keys to a label ("A"), to a list of labels (select_any; [] is none), to a rating or a mapping
    of labels to ratings (rating), or to a list or a mapping of labels to lists (label). `written` is the annotator's
    own reply: required if nothing was selected and the fallback is "written" (`written_missing`), else refused.
    """
    written = text_checked(written, longest=LONGEST_MESSAGE, field="written")
    with write_transaction():
        turn = turn_lock(annotator, turn_id)
        assignment = _assignment(turn, judged=True)
        recorded = judgment_record(
            annotator=annotator,
            assignment_id=assignment.public_id,
            choices=choices,
            client_ms=client_ms,
            comment=comment,
            reasons=reasons,
            in_conversation=True,
        )
        if recorded.created:
            _go_on(turn, _selected(turn, recorded.judgment), written)
            _close(turn, Turn.State.JUDGED)
    return JudgedTurn(turn, recorded.judgment, recorded.created)


def turn_skip(*, annotator: Annotator, turn_id: uuid.UUID, reason: str, note: str = "") -> Turn:
    """Skip a released turn with a reason (`judgments.models.Skip.Reason`). It goes on with a random reply."""
    with write_transaction():
        turn = turn_lock(annotator, turn_id)
        if turn.state == Turn.State.SKIPPED:
            return turn
        assignment = _assignment(turn, judged=False)
        assignment_skip(
            annotator=annotator, assignment_id=assignment.public_id, reason=reason, note=note, in_conversation=True
        )
        turn_continue(turn, Continuation.How.RANDOM_OF_NONE, reply=_drawn(turn, replies_shown(turn.pk)))
        _close(turn, Turn.State.SKIPPED)
    return turn


def _assignment(turn: Turn, *, judged: bool) -> Assignment:
    """Return the assignment of a turn that can be judged (or was, where `judged` allows the same answer again)."""
    if turn.state == Turn.State.WAITING:
        raise Conflict(
            _("The replies have not come yet."), hint=_("Wait until they are shown."), code="waiting", field="turn"
        )
    if turn.state == Turn.State.DROPPED:
        raise over_error()
    if turn.state == Turn.State.VOID:
        raise Conflict(
            _("This turn is not judged, because a chatbot did not reply. It is counted and paid."),
            hint=_("Go on with the next message."),
            code="void",
            field="turn",
        )
    if turn.state != Turn.State.RELEASED and not judged:
        raise Conflict(_("This turn is judged already."), hint=_("Go on with the next message."), code="answered")
    assert turn.assignment is not None  # noqa: S101  a released turn has one
    return turn.assignment


def _selected(turn: Turn, judgment: Judgment) -> list[TurnReply]:
    """Return the replies that the answer to the primary aspect selects."""
    positions = set(_positions(judgment.pk))
    return [row for row in replies_shown(turn.pk) if row.position in positions]


@composed
def _positions(judgment: int) -> QuerySet[Answer, Any]:
    primary = Answer.objects.filter(judgment=judgment, aspect__position=0, value=Answer.Value.CHOSEN)
    return primary.filter(candidate__isnull=False).values_list("candidate__position", flat=True)


def _go_on(turn: Turn, selected: Sequence[TurnReply], written: str) -> None:
    live = turn.conversation.campaign.live
    writes = live.selection == LiveSettings.Selection.SATA and live.fallback == LiveSettings.Fallback.WRITTEN
    if written and (selected or not writes):
        raise InvalidInput(
            _("A reply of your own is taken only where no reply was selected and the campaign asks for one."),
            hint=_("Leave it out."),
            field="written",
            code="written_refused",
        )
    if not selected and writes:
        if not written:
            raise InvalidInput(
                _("No reply was selected: the conversation goes on with a better one that you write."),
                hint=_("Write the reply that you would have liked."),
                field="written",
                code="written_missing",
            )
        turn_continue(turn, Continuation.How.WRITTEN, written=written)
    elif not selected:
        turn_continue(turn, Continuation.How.RANDOM_OF_NONE, reply=_drawn(turn, replies_shown(turn.pk)))
    elif len(selected) == 1:
        turn_continue(turn, Continuation.How.CHOSEN, reply=selected[0])
    else:
        turn_continue(turn, Continuation.How.RANDOM_OF_SELECTED, reply=_drawn(turn, selected))


def _drawn(turn: Turn, among: Sequence[TurnReply]) -> TurnReply:
    return turn_rng(turn, "continuation").choice(sorted(among, key=lambda row: row.pk))


def _close(turn: Turn, state: Turn.State) -> None:
    now, conversation = timezone.now(), turn.conversation
    turn.state, turn.closed_at = state, now
    rows_update([turn], ["state", "closed_at"])
    conversation.active_at = now
    rows_update([conversation], ["active_at"])
