"""Features of an utterance and the one before it: TF-IDF of words and characters, and counts of domains' words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from evalsite.scorecards.domains import DOMAINS
from irt_engine.arrays import FloatArray

_TOKEN = r"(?u)[a-z0-9']+|\?"  # noqa: S105  a pattern of words
_WORD = r"(?u)[a-z0-9'&-]+"
_OPTIONS: Mapping[str, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2), "token_pattern": _TOKEN, "sublinear_tf": True, "min_df": 2},
    "characters": {
        "analyzer": "char_wb",
        "ngram_range": (3, 5),
        "sublinear_tf": True,
        "min_df": 3,
        "max_features": 12_000,
    },
    "context": {"ngram_range": (1, 1), "token_pattern": _TOKEN, "sublinear_tf": True, "min_df": 2},
}
_CHARACTER_SCALE, _CONTEXT_SCALE, _DOMAIN_SCALE = 0.4, 1.0, 2.0
_SUBJECTS = [
    number
    for number, name in enumerate(DOMAINS)
    if name not in ("phatic", "chatbot", "feelings", "humor_wordplay", "none")
]

Pairs = Sequence[tuple[str, str]]  # (previous, utterance)


class TopicFeatures:
    """Converts pairs of utterances to a sparse matrix.

    The previous utterance counts less, the more words of a domain the utterance has itself.
    """

    def __init__(self, words: Mapping[str, Sequence[int]]) -> None:
        """Take the words of domains: for each word the numbers of its domains."""
        from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer  # loaded where topics are named

        self._domain_words = {word: [int(one) for one in numbers] for word, numbers in words.items()}
        self._vectorizers = {name: TfidfVectorizer(**options) for name, options in _OPTIONS.items()}
        names = sorted(self._domain_words)
        vocabulary = {word: number for number, word in enumerate(names)}
        self._counter = CountVectorizer(vocabulary=vocabulary, ngram_range=(1, 3), token_pattern=_WORD, binary=True)
        table = np.zeros((len(names), len(DOMAINS)))
        for row, word in enumerate(names):
            numbers = self._domain_words[word]
            table[row, numbers] = (1.5 if " " in word else 1.0) / len(numbers)
        self._table = csr_array(table)

    def fit(self, pairs: Pairs) -> TopicFeatures:
        """Learn vocabularies and weights."""
        previous, utterances = _columns(pairs)
        for name, vectorizer in self._vectorizers.items():
            vectorizer.fit(previous if name == "context" else utterances)
        return self

    def transform(self, pairs: Pairs) -> csr_array:
        """Return (n, features)."""
        previous, utterances = _columns(pairs)
        own, before = self._domain_counts(utterances), self._domain_counts(previous)
        hits = own[:, _SUBJECTS].sum(axis=1)
        vague = diags_array(1 / (1 + hits))
        parts = [
            self._vectorizers["words"].transform(utterances),
            self._vectorizers["characters"].transform(utterances) * _CHARACTER_SCALE,
            vague @ self._vectorizers["context"].transform(previous) * _CONTEXT_SCALE,
            csr_array(_shape_features(utterances, hits)),
            csr_array(_DOMAIN_SCALE * _shares(own)),
            vague @ csr_array(_DOMAIN_SCALE * _shares(before)),
        ]
        return csr_array(hstack(parts, format="csr"))

    def state(self) -> dict[str, Any]:
        """Return what `from_state` needs, in plain types and arrays."""
        return {
            "domain_words": self._domain_words,
            "vectorizers": {
                name: {"terms": "\n".join(vectorizer.get_feature_names_out()), "idf": vectorizer.idf_}
                for name, vectorizer in self._vectorizers.items()
            },
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> TopicFeatures:
        features = cls(state["domain_words"])
        for name, saved in state["vectorizers"].items():
            options = {key: value for key, value in _OPTIONS[name].items() if key not in ("min_df", "max_features")}
            vectorizer = type(features._vectorizers[name])(vocabulary=saved["terms"].split("\n"), **options)
            vectorizer.idf_ = saved["idf"]
            features._vectorizers[name] = vectorizer
        return features

    def _domain_counts(self, texts: Sequence[str]) -> FloatArray:
        return np.asarray((self._counter.transform(texts) @ self._table).todense(), np.float64)


def _columns(pairs: Pairs) -> tuple[list[str], list[str]]:
    return [previous for previous, _ in pairs], [utterance for _, utterance in pairs]


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / (0.5 + counts.sum(axis=1, keepdims=True)), np.float64)


def _shape_features(utterances: Sequence[str], hits: FloatArray) -> FloatArray:
    lengths = np.array([len(text.split()) for text in utterances], np.float64)
    asks = np.array([text.rstrip().endswith("?") for text in utterances], np.float64)
    return np.column_stack([np.minimum(lengths, 12) / 12, np.minimum(lengths, 3) / 3, asks, hits > 0]).astype(
        np.float64
    )
