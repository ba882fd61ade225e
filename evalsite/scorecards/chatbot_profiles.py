"""What a chatbot talks about and how fast it replies: keywords, ratings by domain, response time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evalsite.scorecards.conversations import ConversationRating, RaterGroup, ScoredConversation, Speaker
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.evidence import Evidence, Runs, evidence_by_chatbot
from evalsite.scorecards.keywords import keywords
from irt_engine.scorecard import Estimate, Sample, cluster_numbers, clustered_mean, median, resample

KEYWORDS = 20
LEAST_RATINGS = 5  # Of a domain.


def chatbot_profiles(
    conversations: Sequence[ScoredConversation], ratings: Sequence[ConversationRating], runs: Runs, *, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Return the profile of each chatbot in plain types.

    {"response_time_s": {"value", "lower", "upper", "n"} or null, "keywords": [[keyword, share of replies]],
    "strengths": {domain: {"value", "lower", "upper", "n"}}}. Strengths are mean user ratings of conversations on a
    domain, best first.
    """
    evidence = evidence_by_chatbot(conversations, ratings, (), None, runs)
    return {
        chatbot: {
            "response_time_s": _values(_response_time(one, seed)),
            "keywords": _keywords(one),
            "strengths": {domain: _values(found) for domain, found in _strengths(one)},
        }
        for chatbot, one in evidence.items()
    }


def _response_time(evidence: Evidence, seed: int) -> Estimate | None:
    """Return the median over conversations of their median response times, with a bootstrap interval by user."""
    waits = {one.conversation_id: one.response_times_s for one in evidence.conversations}
    known = {name: float(np.median(times)) for name, times in waits.items() if times}
    if not known:
        return None
    clusters = cluster_numbers([evidence.cluster(name) for name in known])
    sample = Sample(median(list(known.values())), clusters, "percentile")
    return resample({"response_time": sample}, seed=seed)["response_time"].estimate


def _keywords(evidence: Evidence) -> list[list[Any]]:
    """Return the keywords in the largest shares of replies."""
    counts: Counter[str] = Counter()
    replies = 0
    for conversation in evidence.conversations:
        for turn in conversation.turns:
            if turn.speaker is Speaker.CHATBOT:
                counts.update(keywords(turn.text))
                replies += 1
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:KEYWORDS]
    return [[word, round(count / replies, 4)] for word, count in top]


def _strengths(evidence: Evidence) -> list[tuple[str, Estimate]]:
    domain = dict(zip((one.conversation_id for one in evidence.conversations), evidence.domains(), strict=True))
    rated: defaultdict[int, list[ConversationRating]] = defaultdict(list)
    for one in evidence.rated(RaterGroup.USER):
        number = domain.get(one.conversation_id)
        if number is not None:
            rated[number].append(one)
    found = [
        (DOMAINS[number], clustered_mean([one.value for one in mine], [evidence.rater(one) for one in mine]))
        for number, mine in rated.items()
        if len(mine) >= LEAST_RATINGS
    ]
    return sorted(found, key=lambda row: (-row[1].value, row[0]))


def _values(found: Estimate | None) -> Mapping[str, Any] | None:
    return None if found is None else asdict(found)
