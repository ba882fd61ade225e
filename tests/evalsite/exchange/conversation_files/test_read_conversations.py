import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.exchange.conversation_files.problems import ConversationFileError
from evalsite.exchange.conversation_files.reader import read_conversations
from evalsite.exchange.conversation_files.values import RatingScale
from evalsite.scorecards.conversations import RaterGroup, ScoredConversation, Speaker

TURNS = [{"speaker": "user", "text": "hello"}, {"speaker": "chatbot", "text": "hi there"}]


def row(**changes: Any) -> dict[str, Any]:
    return {"conversation_id": "c1", "chatbot": "Ada", "turns": TURNS} | changes


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "conversations.jsonl"
    path.write_bytes(b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in rows))
    return path


def read(folder: Path, *rows: Any) -> tuple[ScoredConversation, ...]:
    return read_conversations(written(folder, *rows)).conversations


def refusal(folder: Path, *rows: Any) -> ConversationFileError:
    with pytest.raises(ConversationFileError) as caught:
        read_conversations(written(folder, *rows))
    return caught.value


def test_conversation_is_read_with_all_its_fields(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        row(
            user_id=7,
            started_at="2026-05-01T12:00:00Z",
            ended_at="2026-05-01T12:02:30Z",
            assignment_probability=0.25,
            rating=4,
            ratings=[{"criterion": "engaging", "value": 9}, {"value": 2, "group": "evaluator", "user_id": "e1"}],
            feedback="nice",
        ),
    )
    assert (found.user_id, found.duration_s, found.reply_count, found.feedback) == ("7", 150, 1, "nice")
    assert [(one.criterion, one.value, one.group, one.user_id) for one in found.ratings] == [
        ("rating", 4, RaterGroup.USER, "7"),
        ("engaging", 9, RaterGroup.USER, "7"),
        ("rating", 2, RaterGroup.EVALUATOR, "e1"),
    ]


def test_duration_follows_the_times_of_turns(tmp_path: Path) -> None:
    turns = [TURNS[0] | {"at": 100}, TURNS[1] | {"at": 103.5}]
    assert [one.duration_s for one in read(tmp_path, row(turns=turns), row(conversation_id="c2"))] == [3.5, None]


def test_prefixed_lines_are_turns_and_others_continue_them(tmp_path: Path) -> None:
    lines = ["User: hello", "System: one", "two", "User: bye", ""]
    (found,) = read(tmp_path, {"prompt_id": "d9-1", "system": "chatbot1", "turns": lines})
    assert [(turn.speaker, turn.text) for turn in found.turns] == [
        (Speaker.USER, "hello"),
        (Speaker.CHATBOT, "one\ntwo"),
        (Speaker.USER, "bye"),
    ]


def test_one_text_with_prefixes_is_a_conversation(tmp_path: Path) -> None:
    (found,) = read(tmp_path, {"prompt_id": "f1", "system": "Meena", "text": "User: hi\nSystem: hello\nUser: bye"})
    assert (found.chatbot, len(found.turns)) == ("Meena", 3)


def test_messages_of_a_chat_api_are_a_conversation(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": "hello"},
    ]
    (found,) = read(tmp_path, {"id": "m1", "model": "gpt", "messages": messages})
    assert (found.chatbot, [turn.text for turn in found.turns]) == ("gpt", ["hi", "hello"])


def test_acute_eval_pair_is_two_conversations(tmp_path: Path) -> None:
    dialogues = [
        {
            "speakers": ["human_evaluator", name],
            "id": f"d-{name}",
            "dialogue": [{"id": "human_evaluator", "text": "hi"}, {"id": name, "text": "hello"}],
        }
        for name in ("A", "B")
    ]
    found = read(tmp_path, {"pair_id": 1, "dialogue_dicts": dialogues})
    assert [(one.conversation_id, one.chatbot) for one in found] == [("d-A", "A"), ("d-B", "B")]


def test_gzipped_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(row()).encode()))
    assert len(read_conversations(path).conversations) == 1


def test_repeated_row_counts_once(tmp_path: Path) -> None:
    found = read_conversations(written(tmp_path, row(), row()))
    assert (len(found.conversations), found.repeats) == (1, 1)


def test_other_scale_of_ratings_can_be_given(tmp_path: Path) -> None:
    path = written(tmp_path, row(ratings=[{"criterion": "quality", "value": 80}]))
    (found,) = read_conversations(path, scale=RatingScale("quality", 0, 100)).conversations
    assert found.ratings[0].value == 80


TALK = TURNS[0]
BAD = {
    "rating": (row(rating=7), "rating: 7 is not between 1 and 5"),
    "text rating": (row(rating="good"), "rating: 'good' is not a number"),
    "nested rating": (row(ratings=[{"value": 0}]), "ratings[0].value: 0 is not between 1 and 5"),
    "group": (row(ratings=[{"value": 1, "group": "cat"}]), "ratings[0].group: 'cat' is not a group"),
    "no turns": (row(turns=[]), "turns: there are no turns"),
    "missing turns": ({"conversation_id": "c1", "chatbot": "Ada"}, "turns: there are no turns"),
    "one speaker": (row(turns=[TALK, TALK]), "turns: the chatbot says nothing"),
    "unknown speaker": (row(turns=[TALK, {"speaker": "Bob", "text": "x"}]), "turns[1].speaker: 'bob' is unknown"),
    "two chatbots in turns": (row(turns=[TALK, TURNS[1] | {"chatbot": "Bob"}]), "'Bob' is another chatbot"),
    "two chatbots": (row(chatbot=["Ada", "Bob"]), "chatbot: holds 2 values"),
    "no chatbot": (row(chatbot=None), "chatbot: is missing"),
    "no id": (row(conversation_id=""), "conversation_id: is missing"),
    "many turns": (row(turns=TURNS * 50_000), "turns: 100,000 turns are more than 10,000"),
    "backward turns": (row(turns=[TALK | {"at": 9}, TURNS[1] | {"at": 3}]), "turns[1].at: 1970"),
    "backward end": (row(started_at="2026-05-02", ended_at="2026-05-01"), "ended_at: 2026-05-01"),
    "no time": (row(started_at="yesterday"), "started_at: 'yesterday' is not a time"),
    "probability": (row(assignment_probability=0), "assignment_probability: 0 is not a probability"),
    "no object": ([1], "is not a JSON object"),
    "no JSON": (b"{'a': 1}", "is not valid JSON"),
    "encoding": (json.dumps(row()).encode().replace(b"hello", b"h\xe9llo"), "is not UTF-8"),
    "surrogate": (row(turns=[TALK | {"text": "\ud800"}, TURNS[1]]), "half of a surrogate pair"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_row_is_named_with_its_field(tmp_path: Path, name: str) -> None:
    bad, message = BAD[name]
    error = refusal(tmp_path, row(conversation_id="good"), bad)
    assert [problem.row for problem in error.problems] == [2]
    assert message in str(error.problems[0])
    assert error.problems[0].hint


def test_every_bad_row_is_reported(tmp_path: Path) -> None:
    error = refusal(tmp_path, row(rating=7), row(conversation_id="c2"), row(conversation_id="c3", turns=[]), b"{")
    assert [problem.row for problem in error.problems] == [1, 3, 4]


def test_same_id_with_other_text_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, row(), row(turns=[*TURNS, TALK]))
    assert "'c1' has other text in row 1" in str(error)


def test_same_id_with_another_chatbot_is_refused(tmp_path: Path) -> None:
    assert "but in row 1 'Ada'" in str(refusal(tmp_path, row(), row(chatbot="Bob")))


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "is empty"), (b"\n \n", "no conversations"), (b"\xff\xfe{\x00", "UTF-16")]
)
def test_file_without_conversations_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    assert message in str(refusal(tmp_path, content))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversationFileError, match="cannot be read"):
        read_conversations(tmp_path / "nowhere.jsonl")
