"""Predicted ratings of conversations, evaluated on conversations that the model has not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from sklearn.model_selection import GroupKFold

from evalsite.scorecards.conversations import ConversationRating, ScoredConversation
from evalsite.scorecards.evidence import Classify
from evalsite.scorecards.rating_network import HierarchicalLstm
from evalsite.scorecards.rating_trees import GradientBoosting
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import NotIdentified
from irt_engine.scorecard import PredictionError, RatingCeiling, prediction_error, rating_ceiling, residual_limits

FOLDS = 5
LEAST_RATED = 20  # Conversations with a rating.
PREDICTORS = (GradientBoosting.name, HierarchicalLstm.name)


class FittedPredictor(Protocol):
    """A model that predicts the ratings of conversations, by their places."""

    def predict(self, rows: IntArray) -> FloatArray: ...


class RatingPredictor(Protocol):
    """What learns from the ratings of some of its conversations, by their places."""

    name: str

    def fit(self, rows: IntArray, observed: FloatArray, seed: int) -> FittedPredictor: ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Errors of a predictor in folds.

    predictor: one of `PREDICTORS`, or a baseline: `constant_mean` or `random`.
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
    predictor: str = GradientBoosting.name,
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
    predictor
        Name of the model (`PREDICTORS`). The network reads transcripts alone.
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
    EngineError
        If the model needs a library that is not installed.
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
    learner = _predictor(predictor, [*rated, *unrated], classify)
    ceiling, warnings = _ceiling([values[one.conversation_id] for one in rated])
    evaluations: list[Evaluation] = []
    held_out = np.zeros(len(rated))
    for kind, groups in _groupings(rated):
        predicted, mean = _out_of_fold(learner, observed, groups, min(folds, int(groups.max()) + 1), seed)
        guesses = np.random.default_rng(seed).uniform(*scale, size=len(rated))
        named = ((learner.name, predicted), ("constant_mean", mean), ("random", guesses))
        evaluations += [_evaluation(name, kind, observed, found, ceiling) for name, found in named]
        held_out = predicted if kind == "conversation" else held_out
    predictions: list[PredictedRating] = []
    if unrated:
        others = np.arange(len(rated), len(rated) + len(unrated))
        found = learner.fit(np.arange(len(rated)), observed, seed).predict(others)
        predictions = _with_limits(unrated, found, residual_limits(observed - held_out), scale)
    return RatingPrediction(len(rated), ceiling, tuple(evaluations), tuple(predictions), tuple(warnings))


def _predictor(name: str, conversations: Sequence[ScoredConversation], classify: Classify | None) -> RatingPredictor:
    return (
        HierarchicalLstm(conversations) if name == HierarchicalLstm.name else GradientBoosting(conversations, classify)
    )


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
    learner: RatingPredictor, observed: FloatArray, groups: IntArray, count: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return predictions of each conversation by a model of the other folds, and the means of those folds."""
    predicted, means = np.zeros(len(observed)), np.zeros(len(observed))
    for learned, left_out in GroupKFold(count, shuffle=True, random_state=seed).split(observed, groups=groups):
        predicted[left_out] = learner.fit(learned, observed[learned], seed).predict(left_out)
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
