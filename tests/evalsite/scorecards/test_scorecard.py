from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from evalsite.scorecards.conversations import (
    ConversationRating,
    RaterGroup,
    ScoredConversation,
    ScoredTurn,
    Speaker,
    TurnLabel,
)
from evalsite.scorecards.metrics import METRICS
from evalsite.scorecards.scorecard import Scorecard, scorecard_of

START = datetime(2026, 5, 1, tzinfo=UTC)


def conversation(
    name: str,
    chatbot: str = "Ada",
    *,
    topics: Sequence[str] = ("music", "music"),
    user: str | None = None,
    seconds: int | None = None,
    probability: float | None = None,
) -> ScoredConversation:
    """A conversation whose utterances name their domain; the chatbot's follow the user's."""
    turns = tuple(
        ScoredTurn(Speaker.CHATBOT if number % 2 else Speaker.USER, f"{topic} word{number}")
        for number, topic in enumerate(topics)
    )
    ended = START + timedelta(seconds=seconds) if seconds is not None else None
    return ScoredConversation(name, chatbot, turns, user, START if ended else None, ended, probability)


def rating(one: ScoredConversation, value: float, group: RaterGroup = RaterGroup.USER) -> ConversationRating:
    return ConversationRating(one.conversation_id, one.chatbot, "rating", value, group, one.user_id)


def classify(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return [utterance.split()[0] for _, utterance in pairs]


def card(
    conversations: Sequence[ScoredConversation],
    ratings: Sequence[ConversationRating] = (),
    labels: Sequence[TurnLabel] = (),
) -> Scorecard:
    return scorecard_of(conversations, ratings, labels, classify=classify, replicates=50)


def value(scorecard: Scorecard, metric: str, chatbot: str = "Ada") -> float | None:
    cell = scorecard.metrics[metric][chatbot]
    return cell.value if cell is not None else None


def test_every_metric_is_there_for_every_chatbot() -> None:
    found = card([conversation("c1"), conversation("c2", "Bob")])
    assert found.chatbots == ("Ada", "Bob")
    assert list(found.metrics) == [metric.name for metric in METRICS]
    assert {tuple(cells) for cells in found.metrics.values()} == {("Ada", "Bob")}


def test_ratings_of_groups_are_kept_apart() -> None:
    talks = [conversation("c1", user="u1"), conversation("c2", user="u1"), conversation("c3", user="u2")]
    values = zip(talks, (2, 4, 5), strict=True)
    found = card(talks, [*(rating(one, stars) for one, stars in values), rating(talks[0], 1, RaterGroup.EVALUATOR)])
    assert value(found, "rating") == pytest.approx(11 / 3)
    assert value(found, "frequent_user_rating") == 3  # u1 alone has two conversations.
    assert value(found, "evaluator_rating") == 1


def test_ratings_are_weighted_by_the_assignment_probability() -> None:
    talks = [conversation("c1", probability=0.25), conversation("c2", probability=0.5)]
    found = card(talks, [rating(talks[0], 5), rating(talks[1], 2)])
    assert value(found, "rating") == pytest.approx(4)


def test_partly_logged_probabilities_are_not_used() -> None:
    talks = [conversation("c1", probability=0.25), conversation("c2")]
    found = card(talks, [rating(talks[0], 5), rating(talks[1], 2)])
    assert value(found, "rating") == 3.5
    assert any("not weighted" in warning for warning in found.warnings)


def test_several_labels_of_a_reply_count_as_one_reply() -> None:
    labels = [TurnLabel("c1", "Ada", 1, True), TurnLabel("c1", "Ada", 1, False), TurnLabel("c2", "Ada", 1, False)]
    found = card([conversation("c1"), conversation("c2")], labels=labels)
    cell = found.metrics["response_error_rate"]["Ada"]
    assert cell is not None
    assert (cell.value, cell.n) == (0.25, 2)


def test_engagement_is_measured_by_medians() -> None:
    found = card([conversation("c1", seconds=10), conversation("c2", topics=["music"] * 6, seconds=30)])
    assert (value(found, "median_turns"), value(found, "median_duration_s")) == (4, 20)


def test_domains_of_conversations_give_entropy_and_depth() -> None:
    talks = [
        conversation("c1", topics=["music", "none", "music", "phatic"]),
        conversation("c2", topics=["sports", "sports", "music", "sports"]),
    ]
    found = card(talks)
    assert value(found, "domain_entropy") == 1  # One conversation on music, one on sports.
    assert value(found, "depth") == pytest.approx((2 + 2 + 1 + 1) / 4)


def test_ratings_differ_between_groups_of_domains() -> None:
    talks = [conversation("c1", topics=["sports"] * 2), conversation("c2"), conversation("c3", topics=["books"] * 2)]
    found = card(talks, [rating(talks[0], 1), rating(talks[1], 3), rating(talks[2], 5)])
    assert value(found, "domain_rating_sd") == pytest.approx(2.1213, abs=1e-4)  # Of 1 and (3 + 5) / 2.


def test_missing_metric_is_none_with_a_reason() -> None:
    found = card([conversation("c1")])
    assert value(found, "median_duration_s") is None
    assert "median_duration_s: there is no value, because no conversation has two times." in found.warnings
    assert any(warning.startswith("frequent_user_rating: there is no value") for warning in found.warnings)


def test_metric_that_one_chatbot_lacks_is_named_and_not_unified() -> None:
    found = card([conversation("c1", seconds=5), conversation("c2", "Bob")])
    assert any("median_duration_s: there is no value for Bob" in warning for warning in found.warnings)
    assert any("unified scores leave out median_duration_s" in warning for warning in found.warnings)


def test_topics_can_be_left_out() -> None:
    found = scorecard_of([conversation("c1")], replicates=10)
    assert value(found, "depth") is None
    assert "depth: there is no value, because topics were not classified." in found.warnings


def test_better_rated_chatbot_leads_the_unified_scores() -> None:
    talks = [conversation(f"{bot}{n}", bot, user=f"u{n}") for bot in ("Ada", "Bob", "Eve") for n in range(10)]
    stars = {"Ada": 5, "Bob": 3, "Eve": 1}
    found = card(talks, [rating(one, stars[one.chatbot]) for one in talks])
    ranks = [cell.value if cell is not None else None for cell in found.unified["stack_rank"].values()]
    assert ranks == sorted(ranks, key=lambda one: one or 0)
    assert len(set(ranks)) == 3
    assert {cell is not None for cell in found.unified["winners_circle"].values()} == {True}


def test_winners_circle_needs_user_ratings() -> None:
    found = card([conversation("c1"), conversation("c2", "Bob")])
    assert found.unified["winners_circle"] == {"Ada": None, "Bob": None}
    assert found.unified["stack_rank"]["Ada"] is not None


def test_correlations_state_unit_and_n() -> None:
    talks = [
        conversation(f"{bot}", bot, topics=["music"] * (2 + bot_number)) for bot_number, bot in enumerate("ABCDEF")
    ]
    found = card(talks, [rating(one, min(5, len(one.turns) - 1)) for one in talks])
    (over_chatbots,) = [
        one for one in found.correlations if (one.metric, one.rating, one.unit) == ("median_turns", "rating", "chatbot")
    ]
    assert over_chatbots.correlation.n == 6
    assert over_chatbots.correlation.pearson > 0.9


def test_correlation_over_four_chatbots_is_refused() -> None:
    talks = [conversation(bot, bot, topics=["music"] * (2 + number)) for number, bot in enumerate("ABCD")]
    found = card(talks, [rating(one, len(one.turns) - 1) for one in talks])
    assert found.correlations == ()
    assert any("fewer than 5 units" in warning for warning in found.warnings)
