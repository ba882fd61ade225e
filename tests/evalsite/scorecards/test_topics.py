from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evalsite.core.errors import InvalidInput
from evalsite.scorecards.domains import DOMAINS
from evalsite.scorecards.topic_classifier import TopicClassifier, train
from evalsite.scorecards.topic_evaluation import calibration_error, cross_validate, evaluate, summarised
from evalsite.scorecards.topic_examples import Example, TrainingText, examples_in_context, own_text
from evalsite.scorecards.topics import SHIPPED, own_text_name, site_classifier

SMALL = TrainingText(
    tuple(
        Example("", text, domain)
        for domain, texts in {
            "music": ["i play the guitar", "the guitar band sings songs", "songs of a band", "guitar songs are great"],
            "animals": ["my dog barks", "cats and dogs", "a dog and a cat", "the cat sleeps"],
            "none": ["yes", "no", "okay", "really"],
            "phatic": ["hello", "good morning", "bye", "how are you"],
        }.items()
        for text in texts
    ),
    (("guitar", "music"), ("dog", "animals")),
    ("i love it", "me too, it is great"),
)


@pytest.fixture(scope="module")
def small() -> TopicClassifier:
    return train(SMALL, source="small")


def test_own_text_has_sixty_utterances_for_each_domain() -> None:
    text = own_text()
    counts = Counter(one.domain for one in text.utterances)
    assert set(counts) == set(DOMAINS)
    assert min(counts.values()) >= 60
    assert len({one.utterance for one in text.utterances}) > 0.98 * len(text.utterances)
    assert {domain for _, domain in text.words} <= set(DOMAINS)


def test_examples_are_equal_for_equal_seeds() -> None:
    assert examples_in_context(SMALL, 1) == examples_in_context(SMALL, 1)
    assert examples_in_context(SMALL, 1) != examples_in_context(SMALL, 2)


def test_classifier_learns_and_uses_context(small: TopicClassifier) -> None:
    assert small.classify([("", "i love my dog"), ("", "a song on the guitar")]) == ["animals", "music"]
    said = small.classify([("do you like the guitar?", "i love it"), ("my dog barks", "i love it")])
    assert said == ["music", "animals"]


def test_probabilities_sum_to_one(small: TopicClassifier) -> None:
    chances = small.probabilities([("", "hello"), ("", "zzz")])
    assert chances.sum(axis=1) == pytest.approx(1)
    assert small.probabilities([]).shape == (0, 4)


def test_saved_model_says_the_same(small: TopicClassifier, tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    small.save(path)
    pairs = [("", "my cat"), ("the band", "i love it")]
    loaded = TopicClassifier.load(path)
    assert loaded.source == "small"
    assert np.allclose(loaded.probabilities(pairs), small.probabilities(pairs), atol=1e-3)


def test_file_with_other_types_is_refused(tmp_path: Path) -> None:
    import skops.io  # every process of a run imports this module
    from sklearn.linear_model import LogisticRegression

    path = tmp_path / "model.skops"
    skops.io.dump({"format": 1, "features": LogisticRegression}, path)
    with pytest.raises(InvalidInput):
        TopicClassifier.load(path)
    path.write_bytes(b"no model")
    with pytest.raises(InvalidInput, match="not a model"):
        TopicClassifier.load(path)


def test_shipped_model_is_trained_on_the_current_text() -> None:
    assert TopicClassifier.load(SHIPPED).source == own_text_name()


def test_shipped_model_knows_plain_topics() -> None:
    pairs = [("", "i listen to jazz and play the piano"), ("", "hello, how are you?"), ("do you like cats?", "yes")]
    assert site_classifier().classify(pairs) == ["music", "phatic", "none"]


def test_evaluation_counts_right_answers() -> None:
    found = summarised(["music", "music", "animals"], ["music", "animals", "animals"], np.array([0.9, 0.6, 0.8]))
    assert found.n == 3
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.macro_f1 == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert (found.per_domain["music"].precision, found.per_domain["music"].recall) == (1.0, 0.5)


def test_calibration_error_is_the_distance_from_confidence() -> None:
    assert calibration_error([True, False], np.array([0.75, 0.75])) == pytest.approx(0.25)
    assert calibration_error([True, True], np.array([1.0, 1.0])) == 0


def test_classifier_is_evaluated_on_labels(small: TopicClassifier) -> None:
    found = evaluate(small, [Example("", "my dog", "animals"), Example("", "my guitar", "animals")])
    assert (found.n, found.accuracy) == (2, 0.5)


def test_every_utterance_is_held_out_once() -> None:
    found = cross_validate(SMALL, 2)
    assert found.n == len(SMALL.utterances)
    assert {name: one.n for name, one in found.per_domain.items()} == {"animals": 4, "music": 4, "none": 4, "phatic": 4}
