"""Reading what a stranger's server sends. Nothing in it is trusted to have a type, a size or an encoding."""

import json
from collections.abc import Mapping
from typing import Any

from evalsite.core.row_files import LONGEST_CELL, unstorable
from evalsite.endpoints.failures import CallFailed, ErrorClass

MAX_DETAIL = 300
MAX_NAME = 200
MOST_TOKENS = 1_000_000_000


def parsed(body: bytes) -> Any:
    """Return the JSON value. Raises CallFailed if the body is none."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CallFailed(ErrorClass.BAD_RESPONSE, "The response is not text in UTF-8.") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # also numbers of thousands of digits
        begin = clean(text.strip(), most=40)
        detail = f"The response is not JSON. It begins with: {begin}" if begin else "The response is empty."
        raise CallFailed(ErrorClass.BAD_RESPONSE, detail) from None


def at(value: Any, path: str) -> Any:
    """Return the value at a path like `choices.0.message`, or None if there is none."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 7:
            value = value[int(part)] if int(part) < len(value) else None
        else:
            return None
    return value


def reply_text(text: str, *, why_empty: str = "") -> str:
    """Return the text of a reply unchanged. Raises CallFailed if it is blank, too long or impossible to store."""
    if not text.strip():
        raise CallFailed(ErrorClass.EMPTY, why_empty or "The reply is empty.")
    if len(text) > LONGEST_CELL:
        raise CallFailed(ErrorClass.TOO_LARGE, f"The reply has more than {LONGEST_CELL:,} characters.")
    if problem := unstorable(text):
        raise CallFailed(ErrorClass.BAD_RESPONSE, f"The reply holds {problem}.")
    return text


def clean(value: Any, *, most: int = MAX_NAME) -> str:
    """Return a text as one storable line of at most `most` characters, and "" for anything else."""
    if not isinstance(value, str):
        return ""
    line = "".join(one if one.isprintable() else " " for one in value[: 4 * most])
    return " ".join(line.split())[:most]


def tokens(value: Any) -> int | None:
    """Return a number of tokens, or None if it is not one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MOST_TOKENS else None


def error_text(body: bytes) -> str:
    """Return the message of an error response in the usual shapes, or "" if there is none."""
    try:
        value = parsed(body)
    except CallFailed:
        return ""
    places = ("error.message", "error", "message", "detail")
    return next((text for place in places if (text := clean(at(value, place), most=MAX_DETAIL))), "")
