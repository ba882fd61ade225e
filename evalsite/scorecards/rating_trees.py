"""Gradient boosting of ratings, over n-grams and numbers of a transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from evalsite.scorecards.conversations import ScoredConversation, Speaker
from evalsite.scorecards.evidence import Classify
from evalsite.scorecards.rating_features import ConversationFeatures, features_of
from irt_engine.arrays import BoolArray, FloatArray, IntArray

_MOST_N_GRAMS, _LEAST_FREQUENCY = 5_000, 5  # Conversations of the fold with the n-gram.
_COMPONENTS = 40  # Of the n-grams of each speaker.
_LEAST_SIZE_OF_LEAF = 40


class _NGrams:
    """N-grams of one speaker as a few components, learned from the conversations of a fold alone."""

    def __init__(self, counts: csr_array, seed: int) -> None:
        frequency = np.bincount(counts.indices, minlength=counts.shape[1])
        common = np.argsort(-frequency, kind="stable")[:_MOST_N_GRAMS]
        self._columns = np.sort(common[frequency[common] >= min(_LEAST_FREQUENCY, counts.shape[0])])
        self._weights = TfidfTransformer(sublinear_tf=True)
        size = min(_COMPONENTS, len(self._columns) - 1, counts.shape[0] - 1)
        self._components: TruncatedSVD | None = None
        if size > 0:
            weighted = self._weights.fit_transform(counts[:, self._columns])
            with np.errstate(divide="ignore", invalid="ignore"):  # Texts that are all equal explain 0 of 0.
                self._components = TruncatedSVD(size, n_iter=2, random_state=seed).fit(weighted)

    def transform(self, counts: csr_array) -> FloatArray:
        if self._components is None:
            return np.zeros((counts.shape[0], 0))
        weighted = self._weights.transform(counts[:, self._columns])
        return np.asarray(self._components.transform(weighted), np.float64)


class GradientBoosting:
    """Learns the ratings of conversations from features of their transcripts."""

    name = "gradient_boosting"

    def __init__(self, conversations: Sequence[ScoredConversation], classify: Classify | None) -> None:
        self._features = features_of(conversations, classify)

    def fit(self, rows: IntArray, observed: FloatArray, seed: int) -> FittedTrees:
        """Return the trees that predict the observed ratings of some conversations."""
        features = self._features.rows(rows)
        n_grams = {speaker: _NGrams(counts, seed) for speaker, counts in features.n_grams.items()}
        trees = HistGradientBoostingRegressor(
            max_iter=120,
            learning_rate=0.04,
            max_leaf_nodes=6,
            min_samples_leaf=max(2, min(_LEAST_SIZE_OF_LEAF, len(observed) // 10)),
            l2_regularization=10,
            max_features=0.3,
            early_stopping=False,
            random_state=seed,
        )
        columns: BoolArray = np.asarray(np.isfinite(features.numbers).any(axis=0), bool)
        # A worker starts no processes, and leaves the other processors to the site.
        with parallel_config(backend="threading"), threadpool_limits(1):
            trees.fit(_matrix(n_grams, columns, features), observed)
        return FittedTrees(self._features, n_grams, columns, trees)


@dataclass(frozen=True, slots=True)
class FittedTrees:
    """N-grams and the trees over them and the numbers that are known of a conversation at least (`columns`)."""

    features: ConversationFeatures
    n_grams: Mapping[Speaker, _NGrams]
    columns: BoolArray
    trees: HistGradientBoostingRegressor

    def predict(self, rows: IntArray) -> FloatArray:
        """Return the predicted ratings of some conversations."""
        features = self.features.rows(rows)
        return np.asarray(self.trees.predict(_matrix(self.n_grams, self.columns, features)), np.float64)


def _matrix(n_grams: Mapping[Speaker, _NGrams], columns: BoolArray, features: ConversationFeatures) -> FloatArray:
    parts = [found.transform(features.n_grams[speaker]) for speaker, found in n_grams.items()]
    return np.hstack([features.numbers[:, columns], *parts])
