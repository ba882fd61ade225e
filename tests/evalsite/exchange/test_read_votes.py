"""read_votes: what a file may say, and which of its rows are asked for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_file import Vote, iter_votes, read_votes

Write = Callable[..., Path]

NATIVE = "system_a,system_b,prompt_id,annotator_id,outcome\n"
ARENA = "model_a,model_b,winner,question_id,judge,tstamp\n"


def refusal(path: Path, **options: object) -> VoteFileError:
    with pytest.raises(VoteFileError) as caught:
        read_votes(path, **options)  # type: ignore[arg-type]
    assert str(path) in str(caught.value)
    return caught.value


# What it reads -------------------------------------------------------------------------------------------


def test_it_reads_the_native_columns(write: Write) -> None:
    path = write(
        "system_a,system_b,prompt_id,annotator_id,outcome,category,a_first,timestamp,note\n"
        "eliza,echo,p1,ann,-1,chat,1,2020-01-02,ignored\n"
        "echo,eliza,p2,,0,,,,\n"
    )
    first, second = iter_votes(path)
    assert first == Vote(1, "eliza", "echo", -1, False, "p1", "ann", 1, "chat", "2020-01-02", None, None)
    assert second == Vote(2, "echo", "eliza", 0, False, "p2", None, None, None, None, None, None)


def test_it_reads_the_arena_columns(write: Write) -> None:
    votes = read_votes(
        write(
            ARENA + "x,y,model_a,81,jo,1.5\nx,y,model_b,81,jo2,2\nx,y,tie,81,,\n"
            "x,y,tie (bothbad),82,,\nx,y,both_bad,82,,\n"
        )
    )
    assert votes.outcome == (-1, 1, 0, 0, 0)
    assert votes.both_bad == (False, False, False, True, True)
    assert votes.prompt_id == ("81", "81", "81", "82", "82")
    assert votes.annotator_id == ("jo", "jo2", None, None, None)
    assert votes.timestamp == ("1.5", "2", None, None, None)
    assert votes.warnings == ()


def test_in_the_arena_columns_a_prompt_id_goes_before_a_question_id(write: Write) -> None:
    path = write("model_a,model_b,winner,question_id,prompt_id\nx,y,tie,q1,p1\nx,y,tie,q2,\n")
    assert read_votes(path).prompt_id == ("p1", "q2")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("zipped", [False, True])
def test_it_reads_csv_with_any_line_ending_byte_order_mark_and_compression(
    write: Write, ending: str, mark: bytes, zipped: bool
) -> None:
    text = (NATIVE + "é,b,p,a,1\n\n  c  ,b,p,a,0\n").replace("\n", ending)
    votes = read_votes(write(mark + text.encode(), zipped=zipped))
    assert votes.system_a == ("é", "c")
    assert votes.row == (1, 2)


def test_it_reads_a_json_array_that_leaves_out_or_nulls_what_is_unknown(write: Write) -> None:
    path = write(
        '[{"model_a": "x", "model_b": "y", "winner": "model_a", "question_id": 7, "turns": [{"a": [1]}, {}]},'
        ' {"model_a": "x", "model_b": "y", "winner": "tie", "judge": null}]'
    )
    votes = read_votes(path)
    assert votes.prompt_id == ("7", None)
    assert votes.annotator_id == (None, None)
    assert votes.prompt_key == ("7", "row 2")


def test_it_reads_json_lines_with_blank_lines_between(write: Write) -> None:
    path = write(
        '{"system_a":"x","system_b":"y","outcome":1,"a_first":0}\n\n'
        '{"system_a":"x","system_b":"y","outcome":-1.0,"a_first":1.0,"conversation":[{"role":"user"}]}\n'
    )
    votes = read_votes(path)
    assert votes.outcome == (1, -1)
    assert votes.a_first == (0, 1)
    assert votes.row == (1, 2)


def test_a_quoted_field_may_hold_commas_quotes_and_line_ends(write: Write) -> None:
    path = write(NATIVE.strip() + ',text\n"a, the ""first""",b,p,,1,"two\nlines"\nc,b,p,,7,x\n')
    error = refusal(path)
    assert (error.row, error.line, error.column) == (2, 4, "outcome")


def test_without_a_prompt_id_each_row_is_its_own_prompt_and_that_is_said(write: Write) -> None:
    votes = read_votes(write("model_a,model_b,winner,judge\nx,y,tie,j\nx,y,tie,j\n"))
    assert votes.prompt_id == (None, None)
    assert votes.prompt_key == ("row 1", "row 2")
    assert votes.warnings == ("2 votes have no prompt id: each is taken as a prompt of its own.",)
    one = read_votes(write("model_a,model_b,winner,judge\nx,y,tie,j\n"))
    assert one.warnings == ("1 vote has no prompt id: each is taken as a prompt of its own.",)


def test_repeats_by_one_annotator_are_kept_and_counted(write: Write) -> None:
    path = write(NATIVE + "x,y,p,ann,1\ny,x,p,ann,1\nx,y,p,ann,0\nx,y,p,bob,1\nx,y,q,ann,1\nx,y,p,,1\nx,y,p,,1\n")
    votes = read_votes(path)
    assert len(votes) == 7
    assert votes.warnings == (
        "2 votes repeat an earlier one: same annotator, chatbots and prompt. Repeats are kept and counted.",
    )


def test_a_vote_in_another_experiment_is_no_repeat(write: Write) -> None:
    path = write(NATIVE.strip() + ",category\nx,y,p,ann,1,one\nx,y,p,ann,1,two\n")
    assert read_votes(path).warnings
    votes = read_votes(path, by="category")
    assert votes.warnings == ()
    assert votes.by == ("one", "two")
    assert votes.by_column == "category"


def test_names_that_differ_only_in_case_or_blanks_are_kept_apart_with_a_warning(write: Write) -> None:
    votes = read_votes(write(NATIVE + "GPT 4,y,p,,1\ngpt4,y,p,,1\n"))
    assert votes.system_a == ("GPT 4", "gpt4")
    assert votes.warnings == ("The names 'GPT 4', 'gpt4' are almost equal; they are ranked as different chatbots.",)


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", r"'cafe\u0301', 'caf\xe9'"),
        ("bot", "b\u200bot", r"'bot', 'b\u200bot'"),
        ("bot\u2060", "bot", r"'bot', 'bot\u2060'"),
        ("\uff27\uff30\uff34", "gpt", "'gpt', '\uff27\uff30\uff34'"),
    ],
)
def test_names_that_look_the_same_are_kept_apart_with_a_warning(write: Write, one: str, other: str, shown: str) -> None:
    votes = read_votes(write(NATIVE + f"{one},y,p,,1\n{other},y,p,,1\n"))
    assert votes.system_a == (one, other)
    (warning,) = votes.warnings
    assert warning == f"The names {shown} are almost equal; they are ranked as different chatbots."


@pytest.mark.parametrize("name", ["vote_id", "judgment_id"])
def test_the_files_own_vote_id_is_kept_and_must_be_single(write: Write, name: str) -> None:
    head = f"model_a,model_b,winner,{name}\n"
    assert read_votes(write(head + "x,y,tie,v1\nx,y,tie,v2\nx,y,tie,\n")).vote_id == ("v1", "v2", None)
    error = refusal(write(head + "x,y,tie,v1\nx,y,tie,v2\nx,y,tie,v1\n"))
    assert (error.code, error.row) == ("repeated_vote", 3)


# --where, --by and the criterion ---------------------------------------------------------------------------


WHERE = NATIVE.strip() + ",category,turn\nx,y,p,,1,chat,1\nx,y,q,,0,chat,2\nx,y,r,,-1,code,1\nx,y,s,,1,art,3\n"


def test_where_keeps_the_rows_with_that_value_and_their_numbers(write: Write) -> None:
    votes = read_votes(write(WHERE), where=[("category", "chat"), ("turn", "2")])
    assert (votes.row, votes.prompt_id) == ((2,), ("q (turn 2)",))


def test_two_values_of_one_column_are_alternatives(write: Write) -> None:
    assert read_votes(write(WHERE), where=[("category", "code"), ("category", "art")]).row == (3, 4)


def test_rows_that_nobody_asked_for_are_not_judged(write: Write) -> None:
    path = write(WHERE + "x,x,p,,nonsense,bad,1\n")
    assert len(read_votes(path, where=[("category", "chat")])) == 2
    assert refusal(path).row == 5


def test_an_unknown_column_is_refused_with_the_columns_there_are(write: Write) -> None:
    for options in ({"where": [("colour", "red")]}, {"by": "colour"}):
        error = refusal(write(WHERE), **options)
        assert error.code == "unknown_column"
        assert "'colour'" in str(error)
        assert "'category'" in str(error)


def test_an_unknown_column_of_json_is_refused_too(write: Write) -> None:
    path = write('[{"system_a":"x","system_b":"y","outcome":1},{"system_a":"x","system_b":"y","outcome":1,"late":2}]')
    assert refusal(path, by="colour").code == "unknown_column"
    assert read_votes(path, by="late").by == ("", "2")


def test_no_row_left_is_refused(write: Write) -> None:
    error = refusal(write(WHERE), where=[("category", "poetry")])
    assert error.code == "nothing_left"
    assert "category=poetry" in str(error)


CRITERIA = NATIVE.strip() + ",criterion\nx,y,p,,1,fluency\nx,y,p,,0,humanlike\nx,y,p,,0,sense\n"


def test_several_criteria_are_refused_and_all_are_named(write: Write) -> None:
    error = refusal(write(CRITERIA))
    assert (error.code, error.column, error.row) == ("several_criteria", "criterion", None)
    assert "'fluency', 'humanlike', 'sense'" in str(error)
    assert "--where criterion=fluency" in str(error)


def test_one_criterion_is_enough_whether_chosen_or_alone(write: Write) -> None:
    assert len(read_votes(write(CRITERIA), where=[("criterion", "sense")])) == 1
    assert len(read_votes(write(NATIVE.strip() + ",criterion\nx,y,p,,1,fluency\n"))) == 1


def test_a_choice_that_still_leaves_several_criteria_is_refused(write: Write) -> None:
    chosen = [("criterion", "sense"), ("criterion", "fluency")]
    assert refusal(write(CRITERIA), where=chosen).code == "several_criteria"
    assert len(read_votes(write(CRITERIA), where=chosen, by="criterion")) == 2


def test_progress_is_told_in_bytes_of_the_file_and_ends_at_its_size(write: Write) -> None:
    path = write(NATIVE + "x,y,p,a,1\n" * 50_000, zipped=True)
    told: list[tuple[int, int]] = []
    read_votes(path, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (path.stat().st_size, path.stat().st_size)


def test_a_reader_that_stops_early_closes_the_file(write: Write) -> None:
    votes = iter_votes(write(NATIVE + "x,y,p,a,1\n" * 10))
    next(votes)
    votes.close()
    assert next(votes, None) is None
