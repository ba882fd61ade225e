"""Ratings predicted from transcripts."""

import sys

import numpy as np
import pytest

from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.rating_network import HierarchicalLstm, LstmOptions
from evalsite.scorecards.rating_prediction import Evaluation, RatingPrediction, predict_ratings
from irt_engine.errors import EngineError, NotIdentified


def conversation(number: int, good: bool, chatbot: str = "Ada", user: str | None = None) -> ScoredConversation:
    words = "that is lovely and so true" if good else "i do not know what you mean"
    texts = ["hello", f"{words} {number % 3}", "tell me more", f"{words} again"]
    turns = tuple(ScoredTurn(list(Speaker)[place % 2], text) for place, text in enumerate(texts))
    return ScoredConversation(f"c{number}", chatbot, turns, user)


def rating(one: ScoredConversation, value: float) -> ConversationRating:
    return ConversationRating(one.conversation_id, one.chatbot, "rating", value)


def report(count: int = 60, unrated: int = 2, *, users: bool = False, same: bool = False) -> RatingPrediction:
    rng = np.random.default_rng(4)
    some = [
        conversation(number, number % 2 == 0, f"bot{number % 4 // 2}", f"u{number % 7}" if users else None)
        for number in range(count + unrated)
    ]
    ratings = [
        rating(one, 3.0 if same else float(np.clip(4 - 2 * (number % 2) + rng.integers(-1, 2), 1, 5)))
        for number, one in enumerate(some[:count])
        for _ in range(3)
    ]
    return predict_ratings(some, ratings, folds=3)


def row(found: RatingPrediction, predictor: str, folds: str = "conversation") -> Evaluation:
    return next(one for one in found.evaluations if (one.predictor, one.folds) == (predictor, folds))


def test_transcripts_predict_better_than_the_baselines() -> None:
    found = report()
    model = row(found, "gradient_boosting")
    assert model.error.pearson is not None
    assert model.error.pearson > 0.6
    assert model.error.rmse < row(found, "constant_mean").error.rmse < row(found, "random").error.rmse
    assert found.ceiling is not None
    assert model.share_of_ceiling == model.error.pearson / found.ceiling.pearson


def test_unrated_conversations_get_a_prediction_within_the_scale() -> None:
    good, bad = report().predictions
    assert (good.conversation_id, bad.conversation_id) == ("c60", "c61")
    assert good.value > bad.value
    for one in (good, bad):
        assert 1 <= one.lower <= one.value <= one.upper <= 5


def test_folds_keep_conversations_users_and_chatbots_together() -> None:
    assert {one.folds for one in report(users=True).evaluations} == {"conversation", "user", "chatbot"}


def test_mean_of_the_other_folds_is_no_skill() -> None:
    assert row(report(), "constant_mean").error.pearson is None


@pytest.mark.parametrize(("count", "same"), [(19, False), (30, True)], ids=["too few", "equal"])
def test_ratings_that_teach_nothing_are_refused(count: int, same: bool) -> None:
    with pytest.raises(NotIdentified):
        report(count, same=same)


class TestNetwork:
    def test_network_learns_the_words_that_tell(self) -> None:
        pytest.importorskip("torch", reason="the extra `neural` is not installed")
        some = [conversation(number, number % 2 == 0) for number in range(40)]
        observed = np.array([4.0 - 2 * (number % 2) for number in range(30)])
        tiny = HierarchicalLstm(some, LstmOptions(embedding=8, hidden=8, epochs=20, batch=8, learning_rate=0.02))
        model = tiny.fit(np.arange(30), observed, seed=1)
        good, bad = model.predict(np.arange(30, 40, 2)), model.predict(np.arange(31, 40, 2))
        assert good.min() > bad.max()
        assert (tiny.fit(np.arange(30), observed, seed=1).predict(np.arange(30, 40, 2)) == good).all()

    def test_missing_torch_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
        with pytest.raises(EngineError, match=r"touchstone-eval\[neural\]"):
            HierarchicalLstm([])
