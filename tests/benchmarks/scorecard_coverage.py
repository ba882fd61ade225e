"""Coverage of the intervals of a scorecard, with conversations clustered by user.

    DJANGO_SETTINGS_MODULE=evalsite.settings python -m tests.benchmarks.scorecard_coverage [--studies 400]

Users differ in how kindly they rate, how often they meet errors and how long they stay. Each has two or three
conversations with one chatbot. The true values are those of the population of users; the true unified scores are
computed from the true metrics.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from math import sqrt

import numpy as np

from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, ScoredTurn, Speaker, TurnLabel
from evalsite.scorecards.scorecard import Scorecard, scorecard_of
from irt_engine.scorecard import ranks

from .report import Check, conclude, say

RATINGS, ERRORS, SECONDS = (3.0, 3.3, 3.5, 4.0), (0.30, 0.25, 0.2, 0.1), (120.0, 150.0, 160.0, 240.0)
USERS, REPLIES, REPLICATES = 60, 4, 400
TURNS = tuple(ScoredTurn(list(Speaker)[place % 2], "hi") for place in range(2 * REPLIES))
START = datetime(2026, 5, 1, tzinfo=UTC)
LOWEST, HIGHEST = 0.93, 0.97


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=400)
    studies = parser.parse_args().studies
    held: defaultdict[str, list[bool]] = defaultdict(list)
    truth = _truth()
    for seed in range(studies):
        found = _study(seed)
        for name, cells in {**found.metrics, **found.unified}.items():
            for place, chatbot in enumerate(found.chatbots):
                one = cells[chatbot]
                if name in truth and one is not None and one.lower is not None and one.upper is not None:
                    held[name].append(one.lower - 1e-9 <= truth[name][place] <= one.upper + 1e-9)
    return conclude("Coverage of scorecards", [_check(name, found) for name, found in held.items()])


def _check(name: str, held: list[bool]) -> Check:
    share = float(np.mean(held))
    say(f"{name}: {share:.3f}, standard error {sqrt(share * (1 - share) / len(held)):.3f}")
    return Check(name, f"{share:.3f}", f"{LOWEST} to {HIGHEST}", LOWEST <= share <= HIGHEST)


def _truth() -> dict[str, tuple[float, ...]]:
    """Return the true values by metric, and the true stack ranks: rating counts twice, all users being frequent."""
    rating, errors = ranks(RATINGS, higher_is_better=True), ranks(ERRORS, higher_is_better=False)
    equal_turns = (1 + len(RATINGS)) / 2
    total = 2 * rating + errors + ranks(SECONDS, higher_is_better=True) + equal_turns
    return {
        "rating": RATINGS,
        "response_error_rate": ERRORS,
        "median_duration_s": SECONDS,
        "stack_rank": tuple(float(value) for value in total),
    }


def _study(seed: int) -> Scorecard:
    rng = np.random.default_rng(seed)
    conversations: list[ScoredConversation] = []
    ratings: list[ConversationRating] = []
    labels: list[TurnLabel] = []
    for chatbot, (mean, errors, seconds) in enumerate(zip(RATINGS, ERRORS, SECONDS, strict=True)):
        for user in range(USERS):
            kind, often, patient = rng.normal(0, 0.7), rng.uniform(0.4, 1.6) * errors, rng.normal(0, 0.3)
            for number in range(int(rng.integers(2, 4))):
                name, bot = f"{chatbot}-{user}-{number}", f"bot{chatbot}"
                ended = START + timedelta(seconds=float(seconds * np.exp(patient + rng.normal(0, 0.5))))
                conversations.append(ScoredConversation(name, bot, TURNS, f"{chatbot}-{user}", START, ended))
                value = float(mean + kind + rng.normal(0, 0.8))
                ratings.append(ConversationRating(name, bot, "rating", value, user_id=f"{chatbot}-{user}"))
                labels += [TurnLabel(name, bot, turn, bool(rng.random() < often)) for turn in range(1, REPLIES + 1)]
    return scorecard_of(conversations, ratings, labels, replicates=REPLICATES, seed=seed)


if __name__ == "__main__":
    sys.exit(main())
