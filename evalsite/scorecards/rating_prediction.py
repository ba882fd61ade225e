"""Predicted ratings of conversations: gradient boosting, evaluated on conversations that the model has not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import parallel_config
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import GroupKFold
from threadpoolctl import threadpool_limits

from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, Speaker
from evalsite.scorecards.evidence import Classify
from evalsite.scorecards.rating_features import ConversationFeatures, features_of
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.errors import NotIdentified
from irt_engine.scorecard import PredictionError, RatingCeiling, prediction_error, rating_ceiling, residual_limits

FOLDS = 5
LEAST_RATED = 20  # Conversations with a rating.
_MOST_N_GRAMS, _LEAST_FREQUENCY = 5_000, 5  # Conversations of the fold with the n-gram.
_COMPONENTS = 40  # Of the n-grams of each speaker.
_LEAST_SIZE_OF_LEAF = 40


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Errors of a predictor in folds.

    predictor: `gradient_boosting`, or a baseline: `constant_mean` or `random`.
    folds: what stays together in a fold: `conversation`, `user` or `chatbot`.
    share_of_ceiling: Pearson's r over its ceiling; None if either is unknown.
    """

    predictor: str
    folds: str
    error: PredictionError
    share_of_ceiling: float | None


@dataclass(frozen=True, slots=True)
class PredictedRating:
    """The predicted mean rating of a conversation that nobody rated, with a 95 % interval of what raters would say."""

    conversation_id: str
    chatbot: str
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class RatingPrediction:
    """A report: n rated conversations, errors, the ceiling (None if unknown), and predictions for unrated ones."""

    n: int
    ceiling: RatingCeiling | None
    evaluations: tuple[Evaluation, ...]
    predictions: tuple[PredictedRating, ...]
    warnings: tuple[str, ...]


def predict_ratings(
    conversations: Sequence[ScoredConversation],
    ratings: Sequence[ConversationRating],
    *,
    classify: Classify | None = None,
    scale: tuple[float, float] = (1, 5),
    folds: int = FOLDS,
    seed: int = 0,
) -> RatingPrediction:
    """Return how well the ratings of conversations are predicted, and predictions for those without a rating.

    Parameters
    ----------
    conversations
        Conversations of all chatbots.
    ratings
        Ratings of whole conversations, of the one criterion that is the rating.
    classify
        Function of (previous, utterance) pairs that returns their domains; None leaves out the features of topics.
    scale
        Lowest and highest rating.
    folds
        Number of folds, at most the number of groups.
    seed
        Seed of the random generators.

    Raises
    ------
    NotIdentified
        If fewer than 20 conversations have a rating, or all have the same.
    """
    values = _ratings_by_conversation(ratings)
    rated = [one for one in conversations if one.conversation_id in values]
    if len(rated) < LEAST_RATED:
        raise NotIdentified(
            f"{len(rated)} conversations with a rating are too few",
            code="too_few_units",
            hint=f"A prediction needs {LEAST_RATED} at least.",
        )
    observed = np.array([np.mean(values[one.conversation_id]) for one in rated])
    if np.ptp(observed) == 0:
        raise NotIdentified("all conversations have the same rating", code="constant", hint="Add ratings that differ.")
    unrated = [one for one in conversations if one.conversation_id not in values]
    every = features_of([*rated, *unrated], classify)
    features = every.rows(np.arange(len(rated)))
    ceiling, warnings = _ceiling([values[one.conversation_id] for one in rated])
    evaluations: list[Evaluation] = []
    held_out = np.zeros(len(rated))
    for kind, groups in _groupings(rated):
        predicted, mean = _out_of_fold(features, observed, groups, min(folds, int(groups.max()) + 1), seed)
        guesses = np.random.default_rng(seed).uniform(*scale, size=len(rated))
        named = (("gradient_boosting", predicted), ("constant_mean", mean), ("random", guesses))
        evaluations += [_evaluation(name, kind, observed, found, ceiling) for name, found in named]
        held_out = predicted if kind == "conversation" else held_out
    others = every.rows(np.arange(len(rated), len(rated) + len(unrated)))
    predictions: list[PredictedRating] = []
    if unrated:
        found = _Model.fit(features, observed, seed).predict(others)
        predictions = _with_limits(unrated, found, residual_limits(observed - held_out), scale)
    return RatingPrediction(len(rated), ceiling, tuple(evaluations), tuple(predictions), tuple(warnings))


def _ratings_by_conversation(ratings: Sequence[ConversationRating]) -> Mapping[str, list[float]]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for one in ratings:
        values[one.conversation_id].append(one.value)
    return values


def _ceiling(ratings: list[list[float]]) -> tuple[RatingCeiling | None, list[str]]:
    try:
        return rating_ceiling(ratings), []
    except NotIdentified as error:
        return None, [f"There is no ceiling, because {error.message}."]


def _groupings(rated: Sequence[ScoredConversation]) -> Iterator[tuple[str, IntArray]]:
    """Yield the kinds of groups that there are: each conversation, users with several, and chatbots."""
    yield "conversation", np.arange(len(rated))
    users = [one.user_id or f"conversation {one.conversation_id}" for one in rated]
    if 1 < len(set(users)) < len(users):
        yield "user", _numbered(users)
    if len({one.chatbot for one in rated}) > 1:
        yield "chatbot", _numbered([one.chatbot for one in rated])


def _numbered(labels: Sequence[str]) -> IntArray:
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)


def _out_of_fold(
    features: ConversationFeatures, observed: FloatArray, groups: IntArray, count: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return predictions of each conversation by a model of the other folds, and the means of those folds."""
    predicted, means = np.zeros(len(observed)), np.zeros(len(observed))
    for learned, left_out in GroupKFold(count, shuffle=True, random_state=seed).split(observed, groups=groups):
        model = _Model.fit(features.rows(learned), observed[learned], seed)
        predicted[left_out] = model.predict(features.rows(left_out))
        means[left_out] = observed[learned].mean()
    return predicted, means


def _evaluation(
    predictor: str, folds: str, observed: FloatArray, predicted: FloatArray, ceiling: RatingCeiling | None
) -> Evaluation:
    error = prediction_error(observed, predicted)
    known = ceiling is not None and ceiling.pearson > 0 and error.pearson is not None and predictor != "constant_mean"
    if predictor == "constant_mean":  # Means of other folds vary a little, against the fold's own; that is no skill.
        error = replace(error, pearson=None, pearson_p=None, spearman=None, slope=None, intercept=None)
    return Evaluation(predictor, folds, error, error.pearson / ceiling.pearson if known else None)  # type: ignore[operator,union-attr]


def _with_limits(
    unrated: Sequence[ScoredConversation], found: FloatArray, limits: tuple[float, float], scale: tuple[float, float]
) -> list[PredictedRating]:
    rows = zip(unrated, np.clip(found[:, None] + [0.0, *limits], *scale), strict=True)
    return [PredictedRating(one.conversation_id, one.chatbot, *(float(v) for v in row)) for one, row in rows]


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


@dataclass(frozen=True, slots=True)
class _Model:
    """N-grams and the trees over them and the numbers that are known of a conversation at least (`columns`)."""

    n_grams: Mapping[Speaker, _NGrams]
    columns: BoolArray
    trees: HistGradientBoostingRegressor

    @classmethod
    def fit(cls, features: ConversationFeatures, observed: FloatArray, seed: int) -> _Model:
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
        return cls(n_grams, columns, trees)

    def predict(self, features: ConversationFeatures) -> FloatArray:
        return np.asarray(self.trees.predict(_matrix(self.n_grams, self.columns, features)), np.float64)


def _matrix(n_grams: Mapping[Speaker, _NGrams], columns: BoolArray, features: ConversationFeatures) -> FloatArray:
    parts = [found.transform(features.n_grams[speaker]) for speaker, found in n_grams.items()]
    return np.hstack([features.numbers[:, columns], *parts])
