"""Live conversations of a campaign as scorecards read them. Their texts are never copied: erasure finds them all.

A scorecard is about one chatbot at a time. So only conversations with exactly one chatbot are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Prefetch, Q, QuerySet

from evalsite.boards.live_turns import chatbot_names
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.dialogues.models import Continuation, Conversation, ConversationEntrant, Utterance
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Answer
from evalsite.judgments.selectors import annotators_uncounted
from evalsite.scorecards.conversations import (
    ERRORS,
    ConversationRating,
    ScoredConversation,
    ScoredTurn,
    Speaker,
    TurnLabel,
)

CRITERION = "rating"
_CHUNK = 500
# A reply that the annotator wrote is not one of the chatbot.
_WRITTEN = Q(speaker=Utterance.Speaker.CHATBOT, turn__continuation__how=Continuation.How.WRITTEN)


def finished_conversations(campaign: Campaign) -> QuerySet[Conversation]:
    """Return the finished conversations with one chatbot, of annotators whose judgments count."""
    rows = Conversation.objects.filter(campaign=campaign, erased_at=None).exclude(state=Conversation.State.OPEN)
    rows = rows.exclude(annotator__in=annotators_uncounted(campaign))
    rows = rows.annotate(chatbots=Count("members", filter=Q(members__left_at=None)))
    replied = Utterance.objects.filter(conversation=OuterRef("pk"), speaker=Utterance.Speaker.CHATBOT)
    return rows.filter(Exists(replied.exclude(_WRITTEN)), chatbots=1).order_by("pk")


def live_conversations(campaign: Campaign) -> Iterator[ScoredConversation]:
    """Yield the finished conversations with their ratings, a few at a time in memory."""
    names = chatbot_names(campaign)
    present = Prefetch("members", ConversationEntrant.objects.filter(left_at=None), to_attr="present")
    said = Prefetch("utterances", Utterance.objects.exclude(_WRITTEN).order_by("pk"), to_attr="said")
    rows = finished_conversations(campaign).select_related("annotator").prefetch_related(present, said)
    for row in rows.iterator(_CHUNK):
        yield _conversation_of(row, names)


def live_labels(campaign: Campaign) -> list[TurnLabel]:
    """Return the labels that annotators gave to replies turn by turn, as errors or not.

    They are the answers to the first question whose labels include an error. Turns are numbered in their conversation.
    """
    labels = campaign.rubric.aspects.filter(kind=Aspect.Kind.LABEL).order_by("position")
    aspect = next((one for one in labels if ERRORS.intersection(one.labels)), None)
    if aspect is None:
        return []
    names, turn = chatbot_names(campaign), "judgment__assignment__turn"
    answers = Answer.objects.filter(aspect=aspect, judgment__superseded_by=None).exclude(value=Answer.Value.NONE)
    answers = answers.filter(**{f"{turn}__conversation__in": finished_conversations(campaign).values("pk")})
    fields = (f"{turn}__conversation__public_id", "judgment__assignment__item", f"{turn}__number", "value")
    rows = answers.order_by("pk").values_list(*fields)
    return [
        TurnLabel(str(conversation), names[item_parts(item)[1][0]], number, value in ERRORS)
        for conversation, item, number, value in rows.iterator()
    ]


def live_mark(campaign: Campaign) -> str:
    """Return a value that changes whenever the scorecard of the campaign would; empty without any conversation."""
    counts = finished_conversations(campaign).aggregate(
        n=Count("pk"), last=Max(F("pk")), rated=Count("rating"), ended=Max("ended_at")
    )
    return hashlib.sha256(repr(sorted(counts.items())).encode()).hexdigest()[:32] if counts["n"] else ""


def _conversation_of(row: Any, names: Mapping[int, str]) -> ScoredConversation:
    chatbot = names[row.present[0].entrant_id]
    key, user = str(row.public_id), str(row.annotator.public_id)
    rating = ConversationRating(key, chatbot, CRITERION, float(row.rating or 0), user_id=user, at=row.ended_at)
    return ScoredConversation(
        conversation_id=key,
        chatbot=chatbot,
        turns=tuple(ScoredTurn(Speaker(one.speaker), one.text, one.written_at) for one in row.said),
        user_id=user,
        started_at=row.started_at,
        ended_at=row.ended_at,
        assignment_probability=row.probability,
        ratings=() if row.rating is None else (rating,),
        feedback=row.feedback,
    )
