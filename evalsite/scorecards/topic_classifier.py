"""Classifier of the topical domain of an utterance: logistic regression with calibrated probabilities.

A model is a file of skops that holds plain types and arrays only. Unlike a pickle it runs no code when it is loaded.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from evalsite.core.errors import InvalidInput
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.topic_examples import Example, TrainingText, examples_in_context, thinned
from evalsite.scorecards.topic_features import Pairs, TopicFeatures
from irt_engine.arrays import FloatArray, IntArray

FORMAT = 2
_CHUNK = 5_000  # Utterances in memory at a time.
_CALIBRATION_FOLDS = 5


@dataclass(frozen=True, slots=True)
class TopicClassifier:
    """A trained classifier.

    coefficients (features, domains), intercepts (domains,), temperature: the logits are divided by it.
    source: names the training text.
    """

    features: TopicFeatures
    domains: tuple[str, ...]
    coefficients: FloatArray
    intercepts: FloatArray
    temperature: float
    source: str = ""

    def probabilities(self, pairs: Pairs) -> FloatArray:
        """Return (n, domains) probabilities for pairs of previous utterance and utterance."""
        parts = [self._logits(pairs[start : start + _CHUNK]) for start in range(0, len(pairs), _CHUNK)]
        if not parts:
            return np.zeros((0, len(self.domains)))
        return np.asarray(softmax(np.concatenate(parts) / self.temperature, axis=1), np.float64)

    def _logits(self, pairs: Pairs) -> FloatArray:
        return np.asarray(self.features.transform(pairs) @ self.coefficients + self.intercepts, np.float64)

    def classify(self, pairs: Pairs) -> list[str]:
        """Return the most probable domain of each pair."""
        return [self.domains[number] for number in self.probabilities(pairs).argmax(axis=1)]

    def save(self, path: Path) -> None:
        """Write the model to a file of skops."""
        import skops.io  # it loads all of scikit-learn

        state: dict[str, Any] = {
            "format": FORMAT,
            "features": self.features.state(),
            "domains": list(self.domains),
            "coefficients": self.coefficients.astype(np.float16),  # the fourth digit changes no domain
            "intercepts": self.intercepts,
            "temperature": self.temperature,
            "source": self.source,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.new")
        skops.io.dump(state, temporary, compression=ZIP_DEFLATED, compresslevel=9)
        temporary.replace(path)

    @classmethod
    def load(cls, path: Path) -> TopicClassifier:
        """Read a model. Raises InvalidInput for a file that is no model, or that holds anything but plain types."""
        import skops.io

        hint = "Train the model again with manage.py topics train."
        try:
            if skops.io.get_untrusted_types(file=path):
                raise InvalidInput(f"{path} holds types that a model of topics does not need.", hint=hint)
            state = skops.io.load(path, trusted=[])
            if state["format"] != FORMAT:
                raise InvalidInput(f"{path} is a model of another version.", hint=hint)
            return cls(
                TopicFeatures.from_state(state["features"]),
                tuple(state["domains"]),
                state["coefficients"].astype(np.float64),
                state["intercepts"],
                float(state["temperature"]),
                str(state["source"]),
            )
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(f"{path} is not a model of topics ({type(error).__name__}).", hint=hint) from error


def train(text: TrainingText, *, source: str = "", seed: int = 0) -> TopicClassifier:
    """Return a classifier of the text.

    It is calibrated on the utterances of each fold, said by a fit that has not seen them. They lose most words of the
    lists: who wrote the utterances also wrote the lists, and other people's words are listed less often.
    """
    scored = [_scored(text, *split, source, seed) for split in _splits(text, seed)]
    final = _fit(text, source, seed)
    temperature = _temperature([one for one in scored if len(one[1])])
    return TopicClassifier(
        final.features, final.domains, final.coefficients, final.intercepts, temperature, final.source
    )


def folds(text: TrainingText, count: int, *, seed: int = 0) -> Iterator[tuple[TopicClassifier, tuple[Example, ...]]]:
    """Yield for each fold a classifier of the other folds, not calibrated, and the utterances of the fold."""
    order = list(text.utterances)
    random.Random(seed).shuffle(order)  # noqa: S311  not for secrets
    for fold in range(count):
        others = tuple(one for place, one in enumerate(order) if place % count != fold)
        yield _fit(replace(text, utterances=others), "", seed), tuple(order[fold::count])


def _fit(text: TrainingText, source: str, seed: int) -> TopicClassifier:
    examples = examples_in_context(text, seed)
    pairs = [(one.previous, one.utterance) for one in examples]
    features = TopicFeatures(_domain_words(text)).fit(pairs)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, max_iter=100, tol=1e-3)
    model.fit(features.transform(pairs), [one.domain for one in examples])
    domains = tuple(str(name) for name in model.classes_)
    coefficients, intercepts = model.coef_.T, model.intercept_
    if len(domains) == 2:  # scikit-learn keeps one column for two classes.
        coefficients, intercepts = np.hstack([-coefficients / 2, coefficients / 2]), np.array([-1, 1]) * intercepts / 2
    return TopicClassifier(features, domains, coefficients, intercepts, 1.0, source)


def _domain_words(text: TrainingText) -> dict[str, list[int]]:
    """Return the domains of each word and of its plural."""
    found: dict[str, set[int]] = {}
    for word, domain in text.words:
        for form in {word, word if word.endswith("s") else f"{word}s"}:
            found.setdefault(form, set()).add(DOMAINS.index(domain))
    return {word: sorted(numbers) for word, numbers in found.items()}


def _splits(text: TrainingText, seed: int) -> Iterator[tuple[TrainingText, TrainingText]]:
    """Yield for each fold a text to learn from, and one of utterances held out."""
    order = list(text.utterances)
    random.Random(seed).shuffle(order)  # noqa: S311  not for secrets
    for fold in range(_CALIBRATION_FOLDS):
        learned = tuple(one for place, one in enumerate(order) if place % _CALIBRATION_FOLDS != fold)
        held_out = tuple(order[fold::_CALIBRATION_FOLDS])
        yield replace(text, utterances=learned), TrainingText(held_out, (), text.reactions)


def _scored(
    text: TrainingText, learned: TrainingText, held_out: TrainingText, source: str, seed: int
) -> tuple[FloatArray, IntArray]:
    """Return the logits (n, domains) of examples held out, and the columns of their domains."""
    classifier = _fit(learned, source, seed)
    number = {name: position for position, name in enumerate(classifier.domains)}
    unseen = thinned(examples_in_context(held_out, seed), text.words, seed)
    known = [one for one in unseen if one.domain in number]
    logits = classifier._logits([(one.previous, one.utterance) for one in known])
    return logits, np.array([number[one.domain] for one in known], np.int64)


def _temperature(scored: Sequence[tuple[FloatArray, IntArray]]) -> float:
    """Return the temperature of the greatest likelihood (Guo et al. 2017, On Calibration of Modern Neural Networks)."""

    def loss(log_temperature: float) -> float:
        logs = [log_softmax(logits / np.exp(log_temperature), axis=1) for logits, _ in scored]
        each = [one[np.arange(len(truth)), truth] for one, (_, truth) in zip(logs, scored, strict=True)]
        return -float(np.concatenate(each).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x)) if scored else 1.0
