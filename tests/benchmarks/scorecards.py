"""Scorecards against published figures: ratings, chatbots in order, errors, turns, agreement and topics.

    EVAL_DATA_DIR=... python -m tests.benchmarks.scorecards

Reads dstc9, conture, abceval_turn and topics_dev. Without the folder every check is skipped.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from evalsite.exchange.conversation_files.judgment_tables import read_ratings, read_turn_labels
from evalsite.exchange.conversation_files.reader import read_conversations
from evalsite.exchange.conversation_files.values import RatingScale
from evalsite.exchange.topic_file import read_topic_labels
from evalsite.scorecards.conversations import ConversationRating, ScoredConversation
from evalsite.scorecards.rating_prediction import predict_ratings
from evalsite.scorecards.topic_classifier import TopicClassifier
from evalsite.scorecards.topic_evaluation import evaluate
from evalsite.scorecards.topics import SHIPPED
from irt_engine.agreement import krippendorff_alpha
from irt_engine.scorecard import clustered_mean, clustered_share, correlate

from .report import Check, conclude, say

# Means of chatbot1 (PLATO-2) as published; the mean of overall is published with two decimals.
PUBLISHED = {
    "coherent": 2.8017,
    "consistent": 0.9390,
    "diverse": 2.7441,
    "error recovery": 2.7518,
    "flexible": 2.8000,
    "informative": 2.7881,
    "inquisitive": 2.7949,
    "likeable": 2.7878,
    "topic depth": 2.7678,
    "understanding": 2.8285,
}
ALPHAS = (0.4420, 0.5135, 0.5712, 0.6515, 0.4561, 0.4355, 0.4363, 0.5514, 0.4067)
LEAST_SHARE = 0.6  # Of the ceiling of predicted ratings.
LEAST_ACCURACY, MOST_ECE, MOST_SECONDS = 0.75, 0.08, 5.0
ANY_SCALE = RatingScale(criterion="overall")

Means = Mapping[str, float]


def main() -> int:
    folder = os.environ.get("EVAL_DATA_DIR")
    if not folder:
        names = (
            "dstc9 means",
            "dstc9 order",
            "median turns",
            "response error rate",
            "abceval agreement",
            "prediction",
            "topics",
        )
        return conclude("Scorecards", [Check(name, "EVAL_DATA_DIR is not set", "", None) for name in names])
    data = Path(folder)
    conversations = {
        one.conversation_id: one for one in read_conversations(data / "dstc9.prompts.jsonl.gz").conversations
    }
    ratings, _ = read_ratings(data / "dstc9.ratings.csv.gz", conversations, scale=ANY_SCALE)
    overall = _overall(ratings)
    return conclude(
        "Scorecards",
        [
            *_means(ratings),
            _order(overall),
            *_turns(data, conversations, overall),
            *_errors(data, conversations, overall),
            *_agreement(data),
            *_prediction(list(conversations.values()), ratings),
            *_topics(data),
        ],
    )


def _means(ratings: tuple[ConversationRating, ...]) -> list[Check]:
    checks = []
    for criterion, published in PUBLISHED.items():
        rows = [one for one in ratings if one.chatbot == "chatbot1" and one.criterion == criterion]
        found = clustered_mean([one.value for one in rows], [one.conversation_id for one in rows]).value
        checks.append(
            Check(f"chatbot1, {criterion}", f"{found:.4f}", f"{published:.4f}", f"{found:.4f}" == f"{published:.4f}")
        )
    return checks


def _overall(ratings: tuple[ConversationRating, ...]) -> Means:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for one in ratings:
        if one.criterion == "overall":
            values[one.chatbot].append(one.value)
    return {name: clustered_mean(found).value for name, found in values.items()}


def _order(overall: Means) -> Check:
    ranked = sorted(overall, key=lambda name: -overall[name])
    say("overall: " + ", ".join(f"{name} {overall[name]:.3f}" for name in ranked))
    expected = [f"chatbot{number}" for number in range(1, 12)]
    return Check("order of the chatbots", " ".join(name[7:] for name in ranked), "1 to 11", ranked == expected)


def _turns(data: Path, conversations: Mapping[str, ScoredConversation], overall: Means) -> list[Check]:
    """The published correlation counts entries of the file; continued lines and an empty last entry are among them."""
    with gzip.open(data / "dstc9.prompts.jsonl.gz", "rt", encoding="utf-8") as file:
        entries = [(str(row["system"]), len(row["turns"])) for row in map(json.loads, file)]
    turns = [(one.chatbot, len(one.turns)) for one in conversations.values()]
    found = [_correlation(_by_chatbot(rows, np.median), overall) for rows in (entries, turns)]
    return [
        Check("overall with median entries of `turns`, r", f"{found[0]:.3f}", "0.85", round(found[0], 2) == 0.85),
        Check("overall with median turns, continued lines joined, r", f"{found[1]:.3f}", "above 0.85", found[1] > 0.85),
    ]


def _errors(data: Path, conversations: Mapping[str, ScoredConversation], overall: Means) -> list[Check]:
    checks = []
    for limit, name in ((1, "0"), (2, "below 2")):
        labels, _ = read_turn_labels(data / "conture.ratings.csv.gz", conversations, error_below=limit)
        rates = {
            chatbot: clustered_share(
                [float(one.erroneous) for one in labels if one.chatbot == chatbot],
                [one.conversation_id for one in labels if one.chatbot == chatbot],
            ).value
            for chatbot in overall
        }
        found = _correlation(rates, overall)
        checks.append(
            Check(f"overall with error rate (label {name}), r", f"{found:.3f}", "-0.90 to -0.80", -0.9 <= found <= -0.8)
        )
    return checks


def _agreement(data: Path) -> list[Check]:
    labels: defaultdict[str, defaultdict[tuple[str, str], Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    with gzip.open(data / "abceval_turn.ratings.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            labels[row["criterion"]][row["prompt_id"], row["turn"]][row["rating"]] += 1
    found = {
        name: krippendorff_alpha([[counts["0"], counts["1"]] for counts in items.values()]).value or 0.0
        for name, items in labels.items()
    }
    said = ", ".join(f"{name} {value:.4f}" for name, value in sorted(found.items()))
    say(f"alpha: {said}")
    right = sorted(f"{value:.4f}" for value in found.values()) == sorted(f"{value:.4f}" for value in ALPHAS)
    return [Check("nine alphas of abceval", f"{len(found)} alphas", "as published, to 4 decimals", right)]


def _prediction(conversations: list[ScoredConversation], ratings: tuple[ConversationRating, ...]) -> list[Check]:
    found = predict_ratings(conversations, [one for one in ratings if one.criterion == "overall"])
    if found.ceiling is not None:
        say(f"ceiling of predicted ratings: r = {found.ceiling.pearson:.3f}")
    checks = []
    for one in found.evaluations:
        if one.predictor == "gradient_boosting" and one.share_of_ceiling is not None:
            needed = LEAST_SHARE if one.folds == "conversation" else 0.0
            said = f"r = {one.error.pearson:.3f}, {one.share_of_ceiling:.0%} of the ceiling"
            target = f"at least {needed:.0%}" if needed else "reported"
            checks.append(Check(f"prediction, folds by {one.folds}", said, target, one.share_of_ceiling >= needed))
    return checks


def _topics(data: Path) -> list[Check]:
    classifier, examples = TopicClassifier.load(SHIPPED), read_topic_labels(data / "topics_dev.csv.gz")
    found = evaluate(classifier, examples)
    pairs = [(one.previous, one.utterance) for one in examples]
    many = (pairs * (10_000 // len(pairs) + 1))[:10_000]
    begin = time.perf_counter()
    classifier.classify(many)
    seconds = time.perf_counter() - begin
    return [
        Check(
            "topics, accuracy", f"{found.accuracy:.3f}", f"at least {LEAST_ACCURACY}", found.accuracy >= LEAST_ACCURACY
        ),
        Check("topics, macro F1", f"{found.macro_f1:.3f}", "reported", True),
        Check("topics, calibration error", f"{found.ece:.3f}", f"at most {MOST_ECE}", found.ece <= MOST_ECE),
        Check(
            "topics, 10,000 utterances", f"{seconds:.1f} s", f"at most {MOST_SECONDS:.0f} s", seconds <= MOST_SECONDS
        ),
    ]


def _by_chatbot(rows: list[tuple[str, int]], statistic: Callable[[list[int]], np.floating]) -> Means:
    values: defaultdict[str, list[int]] = defaultdict(list)
    for chatbot, value in rows:
        values[chatbot].append(value)
    return {chatbot: float(statistic(found)) for chatbot, found in values.items()}


def _correlation(x: Means, y: Means) -> float:
    return correlate([x[name] for name in y], [y[name] for name in y], replicates=10).pearson


if __name__ == "__main__":
    sys.exit(main())
