"""Erasure of a person's conversations: their texts and the keys of the hashes are deleted, the facts stay."""

from django.utils import timezone

from evalsite.dialogues.endings import open_turn_drop
from evalsite.dialogues.locking import conversations_lock
from evalsite.dialogues.models import ChatbotReport, Conversation, ConversationKey, Turn, TurnReply, Utterance
from evalsite.dialogues.replies import requests_lock
from evalsite.dialogues.third_parties import reviews_erase
from evalsite.endpoints.models import CallRequest
from evalsite.judgments.models import Enrolment


def conversations_erase(part: Enrolment) -> None:
    """Erase the texts of an annotator's conversations in one campaign. An open conversation ends.

    Runs in the transaction of the erasure, before all other locks.
    """
    own = Conversation.objects.filter(campaign=part.campaign_id, annotator=part.annotator_id)
    numbers = list(own.order_by("pk").values_list("pk", flat=True))
    requests = [request for number in numbers for request in requests_lock(number)]
    rows, now = conversations_lock(numbers), timezone.now()
    for row in rows:
        if row.state == Conversation.State.OPEN:
            open_turn_drop(row, now)
            row.state, row.ended_at = Conversation.State.LEFT, now
        row.feedback, row.erased_at = "", row.erased_at or now
        row.save(update_fields=["state", "ended_at", "feedback", "erased_at"])
    Utterance.objects.filter(conversation__in=numbers, erased_at=None).update(text="", erased_at=now)
    turns = Turn.objects.filter(conversation__in=numbers)
    TurnReply.objects.filter(turn__in=turns).update(text="")
    CallRequest.objects.filter(pk__in=requests).update(messages=[], reply=None)
    ChatbotReport.objects.filter(annotator=part.annotator_id, reply__turn__conversation__in=numbers).update(note="")
    ConversationKey.objects.filter(conversation__in=numbers).delete()
    reviews_erase(numbers)
