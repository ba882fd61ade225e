"""Prompts and replies in the formats of data sets, as rows with our columns.

- MT-bench: `question.jsonl` and `model_answer/*.jsonl`. Turn 2 of prompt 81 is the prompt "81 (turn 2)", as in votes.
- AlpacaEval: `model_outputs.json`. A prompt's name is made of its text.
- OpenAI: JSONL with `messages`. An answer at the end is the reply; what stands before it is the prompt.

Rows of other files stay as they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from evalsite.core.column_choice import ColumnsUnclear
from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import FileRow, FileRows, identifier, unstorable
from evalsite.core.text_names import text_name

SPEAKERS = {"user": "user", "assistant": "chatbot"}
_Convert = Callable[[FileRow], Iterable[dict[str, Any]]]


_IDS = ("promptid", "id", "questionid", "qid")
# Our columns, and other names of them without case, blanks and separators.
PROMPT_COLUMNS = {
    "prompt_id": _IDS,
    "text": ("text", "prompt", "question", "input", "query"),
    "turns": ("turns",),
    "category": ("category", "topic", "domain"),
}
REPLY_COLUMNS = {
    "prompt_id": _IDS,
    "reply": ("reply", "response", "answer", "output", "completion"),
    "sample": ("sample",),
}


def _renamed(reading: FileRows, names: Mapping[str, tuple[str, ...]], needed: Iterable[set[str]]) -> FileRows:
    """Return the rows under our names of the columns, if none of the needed ones is missing.

    Raises ColumnsUnclear if several columns can be meant.
    """
    if reading.form == "text":
        return reading
    ours: dict[str, str] = {}
    for name, others in names.items():
        found = [column for column in reading.columns if re.sub(r"[\s_-]+", "", column.casefold()) in others]
        if name in reading.columns or not found:
            continue
        if len(found) > 1:
            raise ColumnsUnclear(
                _("Several columns can be %(name)s: %(columns)s.") % {"name": name, "columns": ", ".join(found)},
                hint=_("Call the right one %(name)s.") % {"name": name},
                field=name,
                reading=reading,
                synonyms=names,
            )
        ours[found[0]] = name
    columns = tuple(ours.get(name, name) for name in reading.columns)
    if not ours or any(choice.isdisjoint(columns) for choice in needed):
        return reading  # errors then name the columns as the file does
    rows = (
        FileRow(row.line, {ours.get(name, name): cell for name, cell in row.cells.items()}, row.problem)
        for row in reading.rows
    )
    return replace(reading, columns=columns, rows=tuple(rows))


def prompts_converted(reading: FileRows) -> FileRows:
    """Return the prompts of a file with the columns `prompt_id`, `text` or `turns`, and `category`."""
    columns = set(reading.columns)
    if "prompt_id" in columns:
        return reading
    if {"question_id", "turns"} <= columns:
        return _converted(reading, ("prompt_id", "turns", "category"), _question)
    if "instruction" in columns:
        return _converted(reading, ("prompt_id", "text", "category"), _instruction)
    if "messages" in columns:
        return _converted(reading, ("prompt_id", "turns"), lambda row: [_conversation(row, prompt=True)])
    return _renamed(reading, PROMPT_COLUMNS, ({"prompt_id"}, {"text", "turns"}))


def replies_converted(reading: FileRows) -> FileRows:
    """Return the replies of a file with the columns `prompt_id`, `reply` and `sample`."""
    columns = set(reading.columns)
    if {"prompt_id", "reply"} <= columns:
        return reading
    if {"question_id", "choices"} <= columns:
        return _converted(_of_one(reading, "model_id"), ("prompt_id", "reply", "sample"), _answers)
    if {"instruction", "output"} <= columns:
        return _converted(_of_one(reading, "generator"), ("prompt_id", "reply"), _output)
    if "messages" in columns:
        return _converted(reading, ("prompt_id", "reply"), lambda row: [_conversation(row, prompt=False)])
    return _renamed(reading, REPLY_COLUMNS, ({"prompt_id"}, {"reply"}))


def lines_matched(reading: FileRows, keys: Iterable[str]) -> FileRows:
    """Return the replies of a ChatEval file, whose lines are the replies to the prompts in their order.

    Raises InvalidInput for another number of lines.
    """
    names = list(keys)
    if len(reading.rows) != len(names) or reading.rows[-1].line != len(names):
        raise InvalidInput(
            _("The file has %(lines)s lines, and the set has %(prompts)s prompts.")
            % {"lines": reading.rows[-1].line, "prompts": len(names)},
            hint=_("A text file has one reply on each line, in the order of the prompts."),
            field="file",
        )
    rows = (
        FileRow(row.line, {"prompt_id": key, "reply": row.cells["text"]}, row.problem)
        for row, key in zip(reading.rows, names, strict=True)
    )
    return replace(reading, columns=("prompt_id", "reply"), rows=tuple(rows))


def _converted(reading: FileRows, columns: tuple[str, ...], convert: _Convert) -> FileRows:
    return replace(reading, columns=columns, rows=tuple(_rows(reading.rows, convert)))


def _rows(rows: Iterable[FileRow], convert: _Convert) -> Iterator[FileRow]:
    for row in rows:
        try:
            made = [] if row.problem else list(convert(row))
        except (TypeError, KeyError, AttributeError, IndexError):
            yield FileRow(row.line, {}, _("its values do not have the shape of this format"))
            continue
        except InvalidInput as error:
            yield FileRow(row.line, {}, error.message)
            continue
        if row.problem:
            yield row
        for cells in made:
            yield FileRow(row.line, cells, unstorable(list(cells.values())))


def _of_one(reading: FileRows, column: str) -> FileRows:
    """Return the reading. Raises InvalidInput if its replies are those of several chatbots."""
    names = {str(row.cells[column]) for row in reading.rows if row.cells.get(column)}
    if len(names) > 1:
        raise InvalidInput(
            _("The file has the replies of %(count)s chatbots.") % {"count": len(names)},
            hint=_("Give one file for each chatbot."),
            field=column,
        )
    return reading


def _turn_name(key: object, turn: int) -> str:
    name = str(identifier(key))
    return name if turn == 1 else f"{name} (turn {turn})"


def _question(row: FileRow) -> Iterator[dict[str, Any]]:
    texts = row.cells["turns"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TypeError
    for turn in range(1, len(texts) + 1):
        turns = [{"speaker": "user", "text": text} for text in texts[:turn]]
        yield {
            "prompt_id": _turn_name(row.cells["question_id"], turn),
            "turns": turns,
            "category": row.cells.get("category") or "",
        }


def _answers(row: FileRow) -> Iterator[dict[str, Any]]:
    for sample, choice in enumerate(row.cells["choices"], start=1):
        for turn, text in enumerate(choice["turns"], start=1):
            yield {"prompt_id": _turn_name(row.cells["question_id"], turn), "reply": text, "sample": sample}


def _instruction(row: FileRow) -> Iterator[dict[str, Any]]:
    text = _text(row.cells, "instruction")
    yield {"prompt_id": text_name(text), "text": text, "category": row.cells.get("dataset") or ""}


def _output(row: FileRow) -> Iterator[dict[str, Any]]:
    yield {"prompt_id": text_name(_text(row.cells, "instruction")), "reply": row.cells["output"]}


def _conversation(row: FileRow, *, prompt: bool) -> dict[str, Any]:
    """Return the prompt or the reply of a conversation."""
    turns = [_spoken(message) for message in row.cells["messages"]]
    answer = turns.pop()["text"] if turns and turns[-1]["speaker"] == "chatbot" else None
    said = re.sub(r"\s+", " ", " / ".join(turn["text"] for turn in turns)) if len(turns) > 1 else turns[0]["text"]
    key = next((row.cells[name] for name in ("custom_id", "id") if row.cells.get(name)), None)
    name = text_name(said) if key is None else str(identifier(key))
    if prompt:
        return {"prompt_id": name, "turns": turns}
    if answer is None:
        raise InvalidInput(_("its last message is not the assistant's"))
    return {"prompt_id": name, "reply": answer}


def _spoken(message: Mapping[str, Any]) -> dict[str, str]:
    if message["role"] not in SPEAKERS:
        raise InvalidInput(
            _("it has a message of the role %(role)s, which annotators would not see") % {"role": repr(message["role"])}
        )
    return {"speaker": SPEAKERS[message["role"]], "text": _text(message, "content")}


def _text(cells: Mapping[str, Any], name: str) -> str:
    value = cells[name]
    if not isinstance(value, str):
        raise TypeError
    return value
