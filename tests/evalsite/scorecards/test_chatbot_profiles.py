"""Profiles of chatbots: response times, keywords, and ratings by domain."""

from datetime import UTC, datetime, timedelta

from evalsite.scorecards.chatbot_profiles import chatbot_profiles
from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.domains import DOMAINS
from irt_engine.scorecard import Run

START = datetime(2026, 5, 1, tzinfo=UTC)
MUSIC, SPORTS = DOMAINS.index("music"), DOMAINS.index("sports")


def talk(number: int, *, timed: bool = True) -> ScoredConversation:
    """A conversation whose reply takes as many seconds as its number says."""
    at = START if timed else None
    turns = (
        ScoredTurn(Speaker.USER, "hello", at),
        ScoredTurn(
            Speaker.CHATBOT, "i love jazz" if number % 2 else "i love football", at and at + timedelta(seconds=number)
        ),
    )
    return ScoredConversation(f"c{number}", "Ada", turns, f"u{number}")


def test_profile_has_response_time_keywords_and_strengths() -> None:
    talks = [talk(number) for number in range(1, 13)]
    ratings = [
        ConversationRating(one.conversation_id, "Ada", "rating", 2 + n % 2 * 2) for n, one in enumerate(talks, 1)
    ]
    runs = {one.conversation_id: (Run(MUSIC if n % 2 else SPORTS, 2),) for n, one in enumerate(talks, 1)}
    found = chatbot_profiles(talks, ratings, runs)["Ada"]
    assert found["response_time_s"]["value"] == 6.5
    assert found["response_time_s"]["lower"] < 6.5 < found["response_time_s"]["upper"]
    assert found["keywords"] == [["football", 0.5], ["jazz", 0.5]]
    assert [(name, one["value"], one["n"]) for name, one in found["strengths"].items()] == [
        ("music", 4.0, 6),
        ("sports", 2.0, 6),
    ]


def test_unknown_times_and_few_ratings_give_no_values() -> None:
    talks = [talk(number, timed=False) for number in range(3)]
    found = chatbot_profiles(talks, [], {one.conversation_id: () for one in talks})["Ada"]
    assert found["response_time_s"] is None
    assert found["strengths"] == {}
