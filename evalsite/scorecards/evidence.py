"""Conversations, ratings and labels of one chatbot, as arrays from which the engine computes its metrics."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array

from evalsite.scorecards.conversations import ConversationRating, RaterGroup, ScoredConversation, Speaker, TurnLabel
from evalsite.scorecards.domains import DOMAINS, RATING_GROUPS, UNATTACHED
from evalsite.scorecards.keywords import keywords
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.scorecard import Run, conversation_domain, domain_runs

Row = TypeVar("Row", ConversationRating, TurnLabel)

_NUMBER = {name: number for number, name in enumerate(DOMAINS)}
_UNATTACHED = frozenset(_NUMBER[name] for name in UNATTACHED)

Runs = Mapping[str, tuple[Run, ...]]  # By conversation.
Classify = Callable[[Sequence[tuple[str, str]]], Sequence[str]]  # (previous, utterance) to domain


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about one chatbot.

    clusters: the label of each conversation's cluster: its user, or itself.
    runs: of each conversation; None without a classifier.
    """

    conversations: tuple[ScoredConversation, ...]
    ratings: tuple[ConversationRating, ...]
    labels: tuple[TurnLabel, ...]
    clusters: Mapping[str, str]
    runs: tuple[tuple[Run, ...], ...] | None

    def cluster(self, conversation_id: str) -> str:
        return self.clusters.get(conversation_id, f"conversation {conversation_id}")

    def rated(self, *groups: RaterGroup, frequent: bool = False) -> list[ConversationRating]:
        """Return the ratings of the groups; with `frequent`, of users with two conversations or more."""
        counts = Counter(one.user_id for one in self.conversations if one.user_id is not None)
        return [
            one
            for one in self.ratings
            if one.group in groups and (not frequent or (one.user_id is not None and counts[one.user_id] > 1))
        ]

    def rater(self, rating: ConversationRating) -> str:
        """Return the label of a rating's cluster."""
        return f"user {rating.user_id}" if rating.user_id is not None else self.cluster(rating.conversation_id)

    def rating_weights(self, ratings: Sequence[ConversationRating]) -> FloatArray | None:
        """Return 1 / (assignment probability) of each rating, or None if a conversation has no such probability."""
        logged = {one.conversation_id: one.assignment_probability for one in self.conversations}
        found = [logged.get(one.conversation_id) for one in ratings]
        known = [one for one in found if one is not None]
        return 1 / np.array(known) if found and len(known) == len(found) else None

    def error_shares(self) -> dict[tuple[str, int], float]:
        """Return for each labelled reply the share of its labels that are errors."""
        labels: defaultdict[tuple[str, int], list[bool]] = defaultdict(list)
        for one in self.labels:
            labels[one.conversation_id, one.turn].append(one.erroneous)
        return {reply: sum(errors) / len(errors) for reply, errors in labels.items()}

    def domains(self) -> list[int | None]:
        """Return the number of each conversation's domain."""
        return [conversation_domain(runs) for runs in self.runs or ()]

    def mean_ratings(self) -> dict[str, float]:
        """Return the mean user rating of each rated conversation."""
        values: defaultdict[str, list[float]] = defaultdict(list)
        for one in self.rated(RaterGroup.USER):
            values[one.conversation_id].append(one.value)
        return {name: sum(found) / len(found) for name, found in values.items()}


def evidence_by_chatbot(
    conversations: Sequence[ScoredConversation],
    ratings: Sequence[ConversationRating],
    labels: Sequence[TurnLabel],
    classify: Classify | None,
    runs: Runs | None = None,
) -> dict[str, Evidence]:
    """Return the evidence of each chatbot, by name in alphabetical order."""
    if runs is None and classify is not None:
        runs = runs_by_conversation(conversations, classify)
    grouped: defaultdict[str, list[ScoredConversation]] = defaultdict(list)
    for conversation in conversations:
        grouped[conversation.chatbot].append(conversation)
    rated, labelled = _by_chatbot(ratings), _by_chatbot(labels)
    return {
        chatbot: Evidence(
            tuple(mine),
            tuple(rated[chatbot]),
            tuple(labelled[chatbot]),
            {one.conversation_id: _cluster(one) for one in mine},
            tuple(runs[one.conversation_id] for one in mine) if runs is not None else None,
        )
        for chatbot, mine in sorted(grouped.items())
    }


def runs_by_conversation(conversations: Sequence[ScoredConversation], classify: Classify) -> dict[str, tuple[Run, ...]]:
    """Return the runs of domains of each conversation; equal utterances in equal context are classified once."""
    in_context = {one.conversation_id: contexts(one) for one in conversations}
    different = list(dict.fromkeys(pair for pairs in in_context.values() for pair in pairs))
    domain = {pair: _NUMBER[name] for pair, name in zip(different, classify(different), strict=True)}
    return {name: runs_of([domain[pair] for pair in pairs]) for name, pairs in in_context.items()}


def runs_of(domains: Sequence[int]) -> tuple[Run, ...]:
    """Return the runs of the numbered domains of a conversation."""
    return tuple(domain_runs(domains, _UNATTACHED))


def keyword_counts(evidence: Evidence) -> tuple[csr_array, FloatArray]:
    """Return the replies with each keyword (conversations, keywords), and the number of replies (conversations,)."""
    columns: dict[str, int] = {}
    rows, places, numbers = [], [], []
    replies = np.zeros(len(evidence.conversations))
    for row, conversation in enumerate(evidence.conversations):
        texts = [turn.text for turn in conversation.turns if turn.speaker is Speaker.CHATBOT]
        replies[row] = len(texts)
        for word, count in Counter(word for text in texts for word in keywords(text)).items():
            rows.append(row)
            places.append(columns.setdefault(word, len(columns)))
            numbers.append(float(count))
    return csr_array((numbers, (rows, places)), shape=(len(replies), len(columns))), replies


def rating_groups(domains: Sequence[int | None]) -> list[int | None]:
    """Return the number of the group of each domain; None for domains outside all groups."""
    group = {_NUMBER[name]: number for number, names in enumerate(RATING_GROUPS) for name in names}
    return [group.get(domain) if domain is not None else None for domain in domains]


def cluster_indices(labels: Sequence[str], numbers: dict[str, int]) -> IntArray:
    """Return a number for each label, new labels being added to `numbers`."""
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)


def contexts(conversation: ScoredConversation) -> list[tuple[str, str]]:
    """Return each utterance after the one before it."""
    texts = [turn.text for turn in conversation.turns]
    return list(zip(["", *texts[:-1]], texts, strict=True))


def _by_chatbot(rows: Sequence[Row]) -> defaultdict[str, list[Row]]:
    grouped: defaultdict[str, list[Row]] = defaultdict(list)
    for one in rows:
        grouped[one.chatbot].append(one)
    return grouped


def _cluster(conversation: ScoredConversation) -> str:
    if conversation.user_id is not None:
        return f"user {conversation.user_id}"
    return f"conversation {conversation.conversation_id}"
