"""Layouts of other projects' conversations, converted to the layout of this one.

`native_rows` returns objects with conversation_id, chatbot and turns of {speaker, text}, whatever the object's layout:
prompts of dstc9 and conture (`turns` of texts with a speaker's prefix), of fed (one `text`), ACUTE-Eval
(`dialogue_dicts`), and messages as in OpenAI's API. Messages without an id are named by their text.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from evalsite.exchange.conversation_files.problems import RowProblem

Row = dict[str, object]

_PREFIX = re.compile(r"(user|human|system|chatbot|bot|assistant):", re.IGNORECASE)


def native_rows(row: Row) -> list[Row]:
    """Return the conversations of an object in the project's own layout."""
    if isinstance(row.get("dialogue_dicts"), list):
        return _acute_rows(row)
    found = dict(row)
    for old, new in (("prompt_id", "conversation_id"), ("id", "conversation_id"), ("system", "chatbot")):
        if new not in found and old in found:
            found[new] = found[old]
    if "conversation_id" not in found and isinstance(row.get("messages"), list):
        text = json.dumps(row["messages"], sort_keys=True)
        found["conversation_id"] = f"messages-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if "chatbot" not in found and ("messages" in row or "model" in row):
        found["chatbot"] = row.get("model")
    if "turns" not in found:
        found["turns"] = _turns_elsewhere(row)
    elif isinstance(found["turns"], list) and found["turns"] and all(isinstance(one, str) for one in found["turns"]):
        found["turns"] = prefixed_turns(found["turns"])
    return [found]


def prefixed_turns(lines: Iterable[object]) -> list[Row]:
    """Return turns of lines like `User: hello`. A line without a prefix continues the turn before it.

    Raises RowProblem if the first line has no prefix.
    """
    turns: list[Row] = []
    for line in lines:
        text = str(line)
        match = _PREFIX.match(text)
        if match is not None:
            turns.append({"speaker": match.group(1).lower(), "text": text[match.end() :].strip()})
        elif turns:
            turns[-1]["text"] = f"{turns[-1]['text']}\n{text}".strip()
        elif text.strip():
            raise RowProblem("turns", "the first turn names no speaker", 'Begin it with "User:" or "Chatbot:".')
    return turns


def _turns_elsewhere(row: Row) -> object:
    if isinstance(row.get("text"), str):
        return prefixed_turns(str(row["text"]).split("\n"))
    messages = row.get("messages")
    if isinstance(messages, list):
        spoken = [one for one in messages if not (isinstance(one, dict) and one.get("role") in ("system", "developer"))]
        return [
            {"speaker": one.get("role"), "text": _content(one.get("content")), "at": one.get("at")}
            if isinstance(one, dict)
            else one
            for one in spoken
        ]
    return None


def _content(content: object) -> object:
    """Return the text of a message, which may be a list of parts."""
    if not isinstance(content, list):
        return "" if content is None else content
    parts = [one.get("text") for one in content if isinstance(one, dict)]
    return "\n".join(part for part in parts if isinstance(part, str))


def _acute_rows(row: Row) -> list[Row]:
    """Return the dialogues of an ACUTE-Eval pair; the speaker that is not a person is the chatbot."""
    dialogues = row["dialogue_dicts"]
    return [
        _acute_row(row, one, position) for position, one in enumerate(dialogues if isinstance(dialogues, list) else [])
    ]


def _acute_row(row: Row, dialogue: object, position: int) -> Row:
    field = f"dialogue_dicts[{position}]"
    if not isinstance(dialogue, dict) or not isinstance(dialogue.get("dialogue"), list):
        raise RowProblem(field, "has no dialogue", "ACUTE-Eval files have a list `dialogue` of {id, text}.")
    speakers = [str(one) for one in dialogue.get("speakers") or []]
    chatbots = [one for one in speakers if not one.lower().startswith(("human", "user"))]
    if len(chatbots) != 1:
        raise RowProblem(
            f"{field}.speakers", f"names {len(chatbots)} chatbots", "Name one chatbot, and a person as human_evaluator."
        )
    turns = [
        {"speaker": "chatbot" if one.get("id") == chatbots[0] else "user", "text": one.get("text")}
        if isinstance(one, dict)
        else one
        for one in dialogue["dialogue"]
    ]
    name = dialogue.get("id") or f"{row.get('pair_id') or row.get('id') or ''}-{position + 1}"
    return {"conversation_id": name, "chatbot": chatbots[0], "turns": turns}
