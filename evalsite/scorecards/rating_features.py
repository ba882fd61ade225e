"""Features of conversations from which their ratings are predicted: numbers, and the words of user and chatbot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer

from evalsite.scorecards.conversations import ScoredConversation, Speaker
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.evidence import Classify, contexts
from irt_engine.arrays import FloatArray, IntArray

_WORD = re.compile(r"\w+")
_NUMBER = {name: number for number, name in enumerate(DOMAINS)}
_MOST_N_GRAMS = 100_000
_MOST_COMPARED = 40  # Earlier replies with which a reply is compared for repetition.


@dataclass(frozen=True, slots=True)
class ConversationFeatures:
    """Features of n conversations.

    numbers (n, features): counts, lengths, overlaps, times and shares of domains; NaN where unknown.
    n_grams: how often each conversation (n, n-grams) has words and pairs of words of user and of chatbot.
    """

    numbers: FloatArray
    n_grams: Mapping[Speaker, csr_array]

    def rows(self, rows: IntArray) -> ConversationFeatures:
        """Return the features of some of the conversations."""
        return ConversationFeatures(self.numbers[rows], {who: counts[rows] for who, counts in self.n_grams.items()})


def features_of(conversations: Sequence[ScoredConversation], classify: Classify | None = None) -> ConversationFeatures:
    """Return the features of conversations; without `classify`, those of topics are unknown."""
    pairs = [pair for one in conversations for pair in contexts(one)]
    different = list(dict.fromkeys(pairs))
    domain = dict(zip(different, classify(different), strict=True)) if classify is not None else {}
    rows = [
        [*_counts(one), *_overlaps(one), *_times(one), *_domains([domain.get(pair) for pair in contexts(one)])]
        for one in conversations
    ]
    numbers = np.array(rows, np.float64).reshape(len(conversations), -1)
    return ConversationFeatures(numbers, {speaker: _n_grams(conversations, speaker) for speaker in Speaker})


def _n_grams(conversations: Sequence[ScoredConversation], speaker: Speaker) -> csr_array:
    texts = ["\n".join(turn.text for turn in one.turns if turn.speaker is speaker) for one in conversations]
    try:
        return csr_array(CountVectorizer(ngram_range=(1, 2), min_df=2, max_features=_MOST_N_GRAMS).fit_transform(texts))
    except ValueError:  # No word is in two conversations.
        return csr_array((len(texts), 0))


def _counts(conversation: ScoredConversation) -> list[float]:
    """Return numbers of turns and words, and shares of questions and of short turns, for both speakers."""
    found = [float(len(conversation.turns))]
    for speaker in Speaker:
        texts = [turn.text for turn in conversation.turns if turn.speaker is speaker]
        words = [_words(text) for text in texts]
        lengths = [float(len(one)) for one in words]
        every = [word for one in words for word in one]
        found += [
            len(texts),
            _mean(lengths),
            float(np.std(lengths)) if lengths else np.nan,
            sum(lengths),
            len(set(every)) / len(every) if every else np.nan,
            _mean(["?" in text for text in texts]),
            _mean([length < 3 for length in lengths]),
            lengths[-1] if lengths else np.nan,
        ]
    return found


def _overlaps(conversation: ScoredConversation) -> list[float]:
    """Return mean token overlaps of each speaker with the turn before, and of replies with earlier replies."""
    words = [(turn.speaker, frozenset(_words(turn.text))) for turn in conversation.turns]
    found = []
    for speaker in Speaker:
        steps = [(a, b) for (before, a), (now, b) in pairwise(words) if now is speaker and before is not speaker]
        found.append(_mean([_overlap(a, b) for a, b in steps]))
    replies = [one for speaker, one in words if speaker is Speaker.CHATBOT]
    repeated = [
        max(_overlap(one, other) for other in replies[max(0, place - _MOST_COMPARED) : place])
        for place, one in enumerate(replies)
        if place
    ]
    return [*found, _mean([_overlap(a, b) for a, b in pairwise(replies)]), _mean(repeated), max(repeated, default=0.0)]


def _times(conversation: ScoredConversation) -> list[float]:
    """Return the duration and the median response time of the chatbot, in seconds."""
    waits = conversation.response_times_s
    duration = conversation.duration_s
    return [np.nan if duration is None else duration, float(np.median(waits)) if waits else np.nan]


def _domains(domains: Sequence[str | None]) -> list[float]:
    """Return the share of each domain, the number of domains, and how often an utterance keeps the domain."""
    shares = np.zeros(len(DOMAINS))
    known = [name for name in domains if name is not None]
    if not known:
        return [np.nan] * (len(DOMAINS) + 2)
    for name in known:
        shares[_NUMBER[name]] += 1 / len(known)
    return [*shares, len(set(known)), _mean([a == b for a, b in pairwise(known)])]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, len(a | b))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
