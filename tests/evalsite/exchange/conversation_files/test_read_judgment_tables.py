from pathlib import Path

import pytest

from evalsite.exchange.conversation_files.judgment_tables import read_ratings, read_turn_labels
from evalsite.exchange.conversation_files.problems import ConversationFileError
from evalsite.exchange.conversation_files.values import RatingScale
from evalsite.scorecards.conversations import RaterGroup, ScoredConversation, ScoredTurn, Speaker

TURNS = (ScoredTurn(Speaker.USER, "hi"), ScoredTurn(Speaker.CHATBOT, "hello"), ScoredTurn(Speaker.USER, "bye"))
KNOWN = {"c1": ScoredConversation("c1", "Ada", TURNS), "c2": ScoredConversation("c2", "Bob", TURNS)}


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


def test_ratings_are_read_with_group_and_rater(tmp_path: Path) -> None:
    path = written(tmp_path, "conversation_id,user_id,group,criterion,value\nc1,u1,evaluator,,4\nc2,,,overall,5\n")
    found, warnings = read_ratings(path, KNOWN, scale=RatingScale())
    assert [(one.chatbot, one.user_id, one.group, one.criterion, one.value) for one in found] == [
        ("Ada", "u1", RaterGroup.EVALUATOR, "rating", 4),
        ("Bob", None, RaterGroup.USER, "overall", 5),
    ]
    assert warnings == ()


def test_ratings_of_turns_are_not_ratings_of_conversations(tmp_path: Path) -> None:
    path = written(tmp_path, "system,prompt_id,criterion,rating,turn\nAda,c1,overall,3,\nAda,c1,turn_overall,0,1\n")
    assert len(read_ratings(path, KNOWN, scale=RatingScale())[0]) == 1


def test_rows_about_other_conversations_are_counted_by_chatbot(tmp_path: Path) -> None:
    path = written(tmp_path, "system,prompt_id,rating,turn\nAda,x1,0,1\nEve,x2,0,1\n")
    found, warnings = read_turn_labels(path, KNOWN)
    assert [(one.chatbot, one.conversation_id) for one in found] == [("Ada", "x1")]
    assert "1 rows are about conversations that are not in the file" in warnings[0]
    assert "'Eve'" in warnings[1]


def test_labels_are_words_or_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, "conversation_id,turn,label\nc1,1,irrelevant\nc2,1,Weakly related\nc2,1,0\nc2,1,1\n")
    assert [one.erroneous for one in read_turn_labels(path, KNOWN)[0]] == [True, False, True, False]
    assert [one.erroneous for one in read_turn_labels(path, KNOWN, error_below=2)[0]] == [True, False, True, True]


def test_one_of_several_criteria_can_be_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, "prompt_id,turn,criterion,rating\nc1,1,fluent,0\nc1,1,relevant,1\n")
    with pytest.raises(ConversationFileError, match="several criteria"):
        read_turn_labels(path, KNOWN)
    assert len(read_turn_labels(path, KNOWN, criterion="relevant")[0]) == 1


BAD_RATINGS = {
    "conversation_id,value\nc1,7\n": "row 1, value: 7 is not between 1 and 5",
    "conversation_id,value\nc1,4\nc9,4\n": "row 2, conversation_id: 'c9' is not in the file",
    "conversation_id,system,value\nc1,Bob,4\n": "row 1, system: 'Bob' is not the chatbot",
    "conversation_id,value\nc1,x\n": "row 1, value: 'x' is not a number",
    "conversation_id\nc1\n": "there is no column value",
    "conversation_id,value,at\nc1,4,noon\n": "row 1, at: 'noon' is not a time",
}


@pytest.mark.parametrize("text", BAD_RATINGS)
def test_bad_rating_is_named_with_row_and_column(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConversationFileError) as caught:
        read_ratings(written(tmp_path, text), KNOWN, scale=RatingScale())
    assert BAD_RATINGS[text] in str(caught.value)


BAD_LABELS = {
    "conversation_id,turn,label\nc1,1,great\n": "label: 'great' is not a label",
    "conversation_id,turn,label\nc1,2,correct\n": "turn: 2 is beyond the 1 replies",
    "conversation_id,turn,label\nc1,0,correct\n": "turn: '0' is not the number of a reply",
    "conversation_id,label\nc1,correct\n": "there is no column turn",
}


@pytest.mark.parametrize("text", BAD_LABELS)
def test_bad_label_is_named_with_row_and_column(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConversationFileError) as caught:
        read_turn_labels(written(tmp_path, text), KNOWN)
    assert BAD_LABELS[text] in str(caught.value)
