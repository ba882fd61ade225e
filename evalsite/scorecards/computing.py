"""Computation of the scorecard of a set: its topics, metrics and predicted ratings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.scorecards.annotated_replies import turn_labels
from evalsite.scorecards.chatbot_profiles import chatbot_profiles
from evalsite.scorecards.conversations import ERRORS, ConversationRating, ScoredConversation, TurnLabel
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.evidence import Classify, contexts, runs_of
from evalsite.scorecards.live_conversations import live_conversations, live_labels
from evalsite.scorecards.models import ConversationSet, ImportedConversation, ImportedRating, StoredScorecard
from evalsite.scorecards.rating_prediction import predict_ratings
from evalsite.scorecards.scorecard import Scorecard, scorecard_of
from evalsite.scorecards.stored_conversations import RATING_FIELDS, conversation_of, rating_of, rows_of
from evalsite.scorecards.unified_scores import ScoreCells
from evalsite.scorecards.values import prediction_values, scorecard_values
from irt_engine.errors import NotIdentified
from irt_engine.scorecard import Run

CHUNK = 1_000  # Conversations whose topics are classified at a time.
MOST_LEARNED = 5_000  # Rated conversations from which ratings are predicted.
MOST_PREDICTED = 2_000  # Unrated conversations with a prediction.
_STORED_REPLICATES = 200
_NUMBER = {name: number for number, name in enumerate(DOMAINS)}


def scorecard_compute(*, conversation_set: ConversationSet, classify: Classify, seed: int = 0) -> StoredScorecard:
    """Compute and store the scorecard of a set, first without predicted ratings: readers need not wait for them.

    Utterances are classified once in their life.
    """
    read = (
        _live(conversation_set.campaign, classify) if conversation_set.campaign else _stored(conversation_set, classify)
    ).with_annotations(turn_labels(conversation_set))
    conversations, ratings = read.conversations, read.ratings
    found = scorecard_of(conversations, ratings, read.labels, runs=read.runs, seed=seed)
    content = scorecard_values(found.with_warnings(read.warnings))
    content |= {
        "cells": _cells(found),
        "domains": _domains(conversations, read.runs),
        "over_time": _over_time(ratings),
        "profiles": chatbot_profiles(conversations, ratings, read.runs, seed=seed),
    }
    with write_transaction():
        stored = StoredScorecard.objects.create(
            conversation_set=conversation_set, conversations=len(conversations), content=content
        )
    prediction = _prediction(conversation_set, read, seed)
    with write_transaction():
        StoredScorecard.objects.filter(pk=stored.pk).update(prediction=prediction)
    return stored


@dataclass(frozen=True, slots=True)
class _Read:
    """What a scorecard is computed from. `known` is a classifier that looks up the domains of these conversations."""

    conversations: list[ScoredConversation]
    runs: dict[str, tuple[Run, ...]]
    ratings: list[ConversationRating]
    labels: list[TurnLabel]
    warnings: list[str]
    known: Callable[[Sequence[ScoredConversation]], Classify]

    def with_annotations(self, labels: list[TurnLabel]) -> _Read:
        """Return the same with the labels of campaigns in place of those of files: their samples must not be mixed."""
        if not labels:
            return self
        note = "response_error_rate uses the labels of annotation campaigns, not those of files or of the chat itself."
        return replace(self, labels=labels, warnings=[*self.warnings, *([note] if self.labels else [])])


def _live(campaign: Campaign, classify: Classify) -> _Read:
    """Read the live conversations of a campaign. Their topics are classified anew, since nothing of them is stored."""
    conversations = list(live_conversations(campaign))
    pairs = {one.conversation_id: contexts(one) for one in conversations}
    different = list(dict.fromkeys(pair for some in pairs.values() for pair in some))
    domain = dict(zip(different, classify(different), strict=True))
    runs = {key: runs_of([_NUMBER[domain[pair]] for pair in some]) for key, some in pairs.items()}
    ratings = [rating for one in conversations for rating in one.ratings]
    return _Read(
        conversations,
        runs,
        ratings,
        live_labels(campaign),
        [],
        lambda _: lambda asked: [domain.get(one, "none") for one in asked],
    )


def _stored(conversation_set: ConversationSet, classify: Classify) -> _Read:
    """Read the imported conversations of a set."""
    domains_store(conversation_set, classify)
    conversations: list[ScoredConversation] = []
    runs = {}
    for row in rows_of(conversation_set):
        conversations.append(conversation_of(row))
        runs[row.key] = runs_of(row.domains or ())
    ratings, warnings = _ratings(conversation_set)
    labels, label_warnings = _labels(conversation_set)
    known = partial(_stored_domains, conversation_set)
    return _Read(conversations, runs, ratings, labels, [*warnings, *label_warnings], known)


def domains_store(conversation_set: ConversationSet, classify: Classify) -> int:
    """Classify the utterances of conversations that are not classified yet. Return the number of conversations."""
    waiting = ImportedConversation.objects.filter(conversation_set=conversation_set, domains__isnull=True).order_by(
        "pk"
    )
    count = 0
    while rows := list(waiting[:CHUNK]):
        pairs = [contexts(conversation_of(row)) for row in rows]
        different = list(dict.fromkeys(pair for some in pairs for pair in some))
        domain = dict(zip(different, classify(different), strict=True))
        for row, some in zip(rows, pairs, strict=True):
            row.domains = [_NUMBER[domain[pair]] for pair in some]
        with write_transaction():
            # An upsert, because the statement of bulk_update grows with the square of its rows.
            ImportedConversation.objects.bulk_create(
                rows, update_conflicts=True, unique_fields=["id"], update_fields=["domains"]
            )
        count += len(rows)
    return count


def _ratings(conversation_set: ConversationSet) -> tuple[list[ConversationRating], list[str]]:
    """Return the ratings of the criterion that is the rating, and a warning if there are others only."""
    rows = ImportedRating.objects.filter(conversation__conversation_set=conversation_set, turn=None)
    wanted = [conversation_set.criterion] if conversation_set.criterion else ["rating", "overall"]
    main = rows.filter(criterion__in=wanted).order_by("pk").values_list(*RATING_FIELDS)
    found = [rating_of(*row) for row in main.iterator(2_000)]
    if found or not rows.exists():
        return found, []
    others = sorted(rows.order_by().values_list("criterion", flat=True).distinct())
    return [], [f"No rating has the criterion {' or '.join(wanted)}. The set has {', '.join(others[:10])}."]


def _labels(conversation_set: ConversationSet) -> tuple[list[TurnLabel], list[str]]:
    """Return the labels of replies: words, or numbers of one criterion, which are errors below 1."""
    rows = ImportedRating.objects.filter(conversation__conversation_set=conversation_set).exclude(turn=None)
    counts = Counter(dict.fromkeys(rows.order_by().values_list("criterion", flat=True).distinct(), 0))
    if not counts:
        return [], []
    names = sorted(counts, key=lambda name: (name != "label", "overall" not in name, name))
    chosen = rows.filter(criterion=names[0]).order_by("pk")
    fields = ("conversation__key", "conversation__chatbot", "turn", "value", "label")
    labels = [
        TurnLabel(key, chatbot, turn, label in ERRORS if value is None else value < 1)
        for key, chatbot, turn, value, label in chosen.values_list(*fields).iterator(2_000)
    ]
    several = len(names) > 1
    return labels, [f"response_error_rate uses the criterion {names[0]} of {len(names)}."] if several else []


def _prediction(
    conversation_set: ConversationSet,
    read: _Read,
    seed: int,
) -> dict[str, Any] | None:
    """Return the report of predicted ratings on a sample of a large set; None if there are too few ratings."""
    rated = {one.conversation_id for one in read.ratings}
    order = list(read.conversations)
    random.Random(seed).shuffle(order)  # noqa: S311  not for secrets
    learned = list(islice((one for one in order if one.conversation_id in rated), MOST_LEARNED))
    predicted = list(islice((one for one in order if one.conversation_id not in rated), MOST_PREDICTED))
    names = {one.conversation_id for one in learned}
    scale = (conversation_set.lowest, conversation_set.highest)
    try:
        report = predict_ratings(
            [*learned, *predicted],
            [one for one in read.ratings if one.conversation_id in names],
            classify=read.known([*learned, *predicted]),
            scale=scale,
            seed=seed,
        )
    except NotIdentified:
        return None
    return prediction_values(report)


def _stored_domains(conversation_set: ConversationSet, conversations: Sequence[ScoredConversation]) -> Classify:
    """Return a classifier that knows the stored domains of these conversations."""
    domain: dict[tuple[str, str], str] = {}
    wanted = {one.conversation_id: one for one in conversations}
    keys = list(wanted)
    for start in range(0, len(keys), CHUNK):
        rows = conversation_set.conversations.filter(key__in=keys[start : start + CHUNK])
        for key, numbers in rows.values_list("key", "domains"):
            domain.update(zip(contexts(wanted[key]), (DOMAINS[number] for number in numbers or ()), strict=False))
    return lambda pairs: [domain.get(pair, "none") for pair in pairs]


def _cells(found: Scorecard) -> dict[str, Any]:
    return {name: _cells_of(one) for name, one in found.cells.items()}


def _cells_of(one: ScoreCells) -> dict[str, Any]:
    step = max(1, len(one.replicates) // _STORED_REPLICATES)
    replicates = one.replicates[::step][:_STORED_REPLICATES]
    return {
        "metrics": list(one.metrics),
        "cells": one.cells.tolist(),
        "replicates": np.round(replicates, 1).tolist(),
    }


def _domains(conversations: Sequence[ScoredConversation], runs: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the number of utterances of each chatbot's conversations on each domain."""
    counts: dict[str, Counter[str]] = {}
    for one in conversations:
        mine = counts.setdefault(one.chatbot, Counter())
        for run in runs[one.conversation_id]:
            mine[DOMAINS[run.domain]] += run.length
    return {chatbot: dict(mine.most_common()) for chatbot, mine in sorted(counts.items())}


def _over_time(ratings: Sequence[ConversationRating]) -> dict[str, list[dict[str, Any]]]:
    """Return the mean user rating of each chatbot by day, of ratings with a time."""
    days: dict[str, dict[str, list[float]]] = {}
    for one in ratings:
        if one.at is not None and one.group == "user":
            days.setdefault(one.chatbot, {}).setdefault(one.at.date().isoformat(), []).append(one.value)
    return {
        chatbot: [{"day": day, "mean": float(np.mean(found)), "n": len(found)} for day, found in sorted(mine.items())]
        for chatbot, mine in sorted(days.items())
    }
