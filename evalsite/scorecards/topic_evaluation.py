"""How well a classifier of topics does on labelled utterances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalsite.scorecards.topic_classifier import TopicClassifier, folds
from evalsite.scorecards.topic_examples import Example, TrainingText
from irt_engine.arrays import FloatArray

_BINS = 10


@dataclass(frozen=True, slots=True)
class DomainResult:
    """Precision, recall and F1 of one domain (None where undefined), and its number of utterances."""

    n: int
    precision: float | None
    recall: float | None
    f1: float


@dataclass(frozen=True, slots=True)
class TopicEvaluation:
    """Results on n utterances.

    macro_f1: mean F1 of the domains that the labels have. ece: expected calibration error over ten equal bins.
    """

    n: int
    accuracy: float
    macro_f1: float
    ece: float
    per_domain: dict[str, DomainResult]


def evaluate(classifier: TopicClassifier, examples: Sequence[Example]) -> TopicEvaluation:
    """Return the results on labelled examples, one at least."""
    chances = classifier.probabilities([(one.previous, one.utterance) for one in examples])
    said = [classifier.domains[number] for number in chances.argmax(axis=1)]
    return summarised([one.domain for one in examples], said, chances.max(axis=1))


def cross_validate(text: TrainingText, count: int, *, seed: int = 0) -> TopicEvaluation:
    """Return the results on every utterance of the text, said by a classifier that has not seen it (`count` folds)."""
    truth: list[str] = []
    said: list[str] = []
    confidence = []
    for classifier, held_out in folds(text, count, seed=seed):
        chances = classifier.probabilities([(one.previous, one.utterance) for one in held_out])
        truth += [one.domain for one in held_out]
        said += [classifier.domains[number] for number in chances.argmax(axis=1)]
        confidence.append(chances.max(axis=1))
    return summarised(truth, said, np.concatenate(confidence))


def summarised(truth: Sequence[str], said: Sequence[str], confidence: FloatArray) -> TopicEvaluation:
    """Return the results of classified utterances with their true domains and the probabilities of what was said."""
    right = np.array([a == b for a, b in zip(truth, said, strict=True)])
    per_domain = {name: _domain(name, truth, said) for name in sorted({*truth, *said})}
    labelled = [one.f1 for one in per_domain.values() if one.n]
    return TopicEvaluation(
        len(truth), float(right.mean()), float(np.mean(labelled)), calibration_error(right, confidence), per_domain
    )


def calibration_error(right: Sequence[bool] | np.ndarray, confidence: FloatArray) -> float:
    """Return the mean distance of accuracy and confidence over ten bins of confidence, weighted by their sizes."""
    hits = np.asarray(right, np.float64)
    places = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    return float(
        sum(
            (places == place).mean() * abs(hits[places == place].mean() - confidence[places == place].mean())
            for place in np.unique(places)
        )
    )


def _domain(name: str, truth: Sequence[str], said: Sequence[str]) -> DomainResult:
    both = sum(a == b == name for a, b in zip(truth, said, strict=True))
    count, claimed = truth.count(name), said.count(name)
    return DomainResult(
        count,
        both / claimed if claimed else None,
        both / count if count else None,
        2 * both / (count + claimed),
    )
