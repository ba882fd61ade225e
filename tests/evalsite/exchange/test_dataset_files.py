"""Prompts and replies in the files of data sets: MT-bench, AlpacaEval, ChatEval, and OpenAI messages."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.accounts.models import Organisation
from evalsite.chatbots.files import chatbot_import, replies_preview
from evalsite.chatbots.models import Reply
from evalsite.core.encodings import recoded
from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import rows_read
from evalsite.core.text_names import text_name
from evalsite.prompts.files import prompt_set_import, prompts_preview
from evalsite.prompts.models import Prompt


def lines(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


QUESTIONS = lines(
    {"question_id": 81, "category": "writing", "turns": ["Write a poem.", "Now rhyme it."]},
    {"question_id": 82, "category": "math", "turns": ["Add 2 and 3."]},
)
ANSWERS = lines(
    {"question_id": 81, "model_id": "finch", "choices": [{"index": 0, "turns": ["A poem", "A rhyme"]}]},
    {
        "question_id": 82,
        "model_id": "finch",
        "choices": [{"index": 0, "turns": ["5"]}, {"index": 1, "turns": ["Five"]}],
    },
)
LONG = "Explain in detail " + "and again " * 30
OUTPUTS = [
    {"instruction": "Say hello", "output": "Hello", "generator": "finch", "dataset": "small"},
    {"instruction": LONG, "output": "No", "generator": "finch", "dataset": "small"},
]
CHATS = lines(
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
    {
        "custom_id": "c2",
        "messages": [
            {"role": "user", "content": "One"},
            {"role": "assistant", "content": "Two"},
            {"role": "user", "content": "Three"},
            {"role": "assistant", "content": "Four"},
        ],
    },
)
FILES = {
    "mt_bench": ((QUESTIONS, "question.jsonl"), (ANSWERS, "finch.jsonl")),
    "alpaca_eval": ((json.dumps(OUTPUTS).encode(), "model_outputs.json"),) * 2,
    "chateval": ((b"Hi?\nHow are you?\n", "prompts.txt"), (b"Hello\nFine\n", "finch.txt")),
    "messages": ((CHATS, "chats.jsonl"),) * 2,
}
SAID = {
    "mt_bench": {"81": "A poem", "81 (turn 2)": "A rhyme", "82": "5"},
    "alpaca_eval": {"Say hello": "Hello", text_name(LONG): "No"},
    "chateval": {"p001": "Hello", "p002": "Fine"},
    "messages": {"Hi": "Hello", "c2": "Four"},
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", FILES)
def test_prompts_and_their_replies_belong_together(organisation: Organisation, name: str) -> None:
    (prompts, prompts_name), (replies, replies_name) = FILES[name]
    made, report = prompt_set_import(organisation=organisation, set_name=name, content=prompts, name=prompts_name)
    assert report.count("refused") == 0
    version, found = chatbot_import(
        organisation=organisation, prompt_set=made, name="finch", content=replies, filename=replies_name
    )
    assert (found.missing, found.count("refused")) == ((), 0)
    said = dict(Reply.objects.filter(version=version, sample=1).values_list("prompt__key", "text"))
    assert said == SAID[name]


@pytest.mark.django_db
def test_second_sample_and_later_turns_are_kept(organisation: Organisation) -> None:
    made, _ = prompt_set_import(organisation=organisation, set_name="mt", content=QUESTIONS, name="question.jsonl")
    second = made.prompts.get(key="81 (turn 2)")
    assert [turn["text"] for turn in second.turns or []] == ["Write a poem.", "Now rhyme it."]
    assert second.category == "writing"
    rows = replies_preview(prompt_set=made, content=ANSWERS, name="finch.jsonl").rows
    assert [(row.key, row.sample) for row in rows] == [("81", 1), ("81 (turn 2)", 1), ("82", 1), ("82", 2)]


def test_pasted_json_is_not_read_as_lines_of_text() -> None:
    content = json.dumps(OUTPUTS, indent=1).encode()
    assert [row.fate for row in prompts_preview(prompt_set=None, content=content).rows] == ["add", "add"]
    wrapped = json.dumps({"data": OUTPUTS}).encode()
    assert len(prompts_preview(prompt_set=None, content=wrapped, name="w.json").rows) == 2
    assert prompts_preview(prompt_set=None, content=b"[INST] Hi\n[1] Why?").form == "text"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'[{"instruction": "Hi"', "not JSON (line 1)"),
        (b'{"a": [], "b": []}', "not one array"),
        (b"[]", "no rows"),
    ],
)
def test_broken_json_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rows_read(content, "outputs.json")
    assert words in caught.value.message


def test_rows_of_another_shape_are_refused_one_by_one() -> None:
    shapes = [{"question_id": 1, "turns": "Hi"}, {"question_id": 2, "turns": [1]}, {"question_id": 3, "turns": ["Hi"]}]
    rows = prompts_preview(prompt_set=None, content=lines(*shapes), name="q.jsonl").rows
    assert [(row.line, row.fate) for row in rows] == [(1, "refused"), (2, "refused"), (3, "add")]
    system = lines({"messages": [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]})
    (row,) = prompts_preview(prompt_set=None, content=system, name="m.jsonl").rows
    assert "role 'system'" in row.problem


@pytest.mark.django_db
def test_replies_that_cannot_be_matched_are_refused(organisation: Organisation) -> None:
    made, _ = prompt_set_import(organisation=organisation, set_name="s", content=b"One?\nTwo?", name="p.txt")
    for content in (b"Only one\n", b"1\n2\n3\n", b"1\n\n2\n"):
        with pytest.raises(InvalidInput, match="and the set has 2 prompts"):
            replies_preview(prompt_set=made, content=content, name="r.txt")
    mixed = json.dumps([OUTPUTS[0], OUTPUTS[1] | {"generator": "crane"}]).encode()
    with pytest.raises(InvalidInput, match="replies of 2 chatbots"):
        replies_preview(prompt_set=made, content=mixed, name="r.json")


@pytest.mark.django_db
def test_commands_take_a_named_encoding(organisation: Organisation, tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    file.write_bytes("prompt_id,text\np1,Où?\n".encode("cp1252"))
    arguments = [str(file), "--set", "French", "--organisation", organisation.slug]
    with pytest.raises(CommandError, match="not UTF-8"):
        call_command("import_prompts", *arguments)
    with pytest.raises(CommandError, match="not known"):
        call_command("import_prompts", *arguments, "--encoding", "rot13")
    with pytest.raises(CommandError, match="not text in the encoding"):
        call_command("import_prompts", *arguments, "--encoding", "utf-8")
    call_command("import_prompts", *arguments, "--encoding", "cp1252", stdout=StringIO())
    assert Prompt.objects.get(key="p1").turns == [{"speaker": "user", "text": "Où?"}]


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_columns_under_other_names_are_found(organisation: Organisation, encoding: str) -> None:
    prompts = recoded("Question ID,Question,Topic\n1,Ärger?,x\n".encode(encoding), encoding)
    replies = recoded("ID,Response\n1,Ähm\n".encode(encoding), encoding)
    made, _ = prompt_set_import(organisation=organisation, set_name="s", content=prompts, name="p.csv")
    assert list(made.prompts.values_list("key", "category")) == [("1", "x")]
    rows = replies_preview(prompt_set=made, content=replies, name="r.csv").rows
    assert [(row.key, row.text, row.fate) for row in rows] == [("1", "Ähm", "add")]


@pytest.mark.django_db
def test_ambiguous_columns_are_refused_by_name(organisation: Organisation) -> None:
    with pytest.raises(InvalidInput, match="Several columns can be text: prompt, question"):
        prompt_set_import(organisation=organisation, set_name="s", content=b"prompt_id2,id,prompt,question\n1,1,x,y\n")
