"""Selections as JSON: `{setting: {pattern: count}}`, with the names of the chatbots under `chatbots`.

    {"chatbots": ["Ann", "Bert"], "SATA-Random": {"10": 321, "01": 254, "11": 67, "00": 25}}

A pattern has one digit per chatbot: 1 = selected, 0 = not. Without names the chatbots are A, B, C, ... `chatbots` may
also stand in a setting, or map settings to names. Keys that begin with an underscore are comments.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from typing import NoReturn

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.vote_columns import MAX_TEXT
from irt_engine.errors import EngineError
from irt_engine.selections import Selections
from irt_engine.selections.turn_rows import is_one_best

MAX_CHATBOTS = 100
_CHATBOTS = "chatbots"
_SHAPE = 'Use {"chatbots": ["Ann", "Bert"], "SATA": {"10": 321, "01": 254, "11": 67, "00": 25}}.'


def read_counts(text: str) -> dict[str, Selections]:
    """Return the selections of each setting.

    Raises FormatError.
    """
    document = _parsed(text)
    names = document.get(_CHATBOTS)
    settings = {key: value for key, value in document.items() if key != _CHATBOTS and not key.startswith("_")}
    if not settings:
        raise FormatError("holds no settings", code="empty_file", hint=_SHAPE)
    return {setting: _selections(setting, counts, names) for setting, counts in settings.items()}


def _selections(setting: str, counts: object, names: object) -> Selections:
    if not setting.strip() or len(setting) > MAX_TEXT:
        raise FormatError(f"the setting {quoted(setting)} has no proper name", code="bad_value", hint=_SHAPE)
    if not isinstance(counts, dict):
        raise _fault(setting, f"{quoted(str(counts))} is not an object of counts by pattern", _SHAPE)
    own = counts.get(_CHATBOTS, names.get(setting) if isinstance(names, dict) else names)
    turns = {key: value for key, value in counts.items() if key != _CHATBOTS and not key.startswith("_")}
    if not turns:
        raise _fault(setting, "there are no patterns", _SHAPE)
    chatbots = _chatbots(setting, own, len(next(iter(turns))))
    for pattern, count in turns.items():
        _check(setting, pattern, count, len(chatbots))
    return _made(setting, chatbots, turns)


def _made(setting: str, chatbots: tuple[str, ...], turns: Mapping[str, int]) -> Selections:
    used = {pattern: int(count) for pattern, count in turns.items() if count} or dict.fromkeys(turns, 0)
    one_best = is_one_best(setting, [pattern.count("1") for pattern in used], len(chatbots))
    wrong = next((pattern for pattern in used if one_best and pattern.count("1") != 1), None)
    if wrong is not None:
        problem = f"pattern {wrong} has {wrong.count('1')} selected replies, but with SOBA exactly one is selected"
        raise _fault(setting, problem, "Correct the pattern, or name the setting SATA.")
    try:
        return Selections.from_counts(chatbots, used, one_best=one_best)
    except EngineError as error:
        raise _fault(setting, error.message, f"{error.hint[:1].upper()}{error.hint[1:]}.") from error


def _chatbots(setting: str, names: object, k: int) -> tuple[str, ...]:
    """Return the names of k chatbots: the file's, or A, B, C, ..."""
    if names is None:
        if k <= len(string.ascii_uppercase):
            return tuple(string.ascii_uppercase[:k])
        raise _fault(setting, f"the patterns have {k:,} digits", "Name the chatbots in a list under `chatbots`.")
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise _fault(setting, "`chatbots` is not a list of names", _SHAPE)
    chatbots = tuple(name.strip() for name in names)
    if len(set(chatbots)) != len(chatbots) or any(len(name) > MAX_TEXT for name in chatbots):
        raise _fault(setting, "a name of `chatbots` stands twice or is too long", "Give each chatbot its own name.")
    if not 0 < len(chatbots) <= MAX_CHATBOTS:
        raise _fault(setting, f"`chatbots` has {len(chatbots):,} names", f"Give 1 to {MAX_CHATBOTS}.")
    return chatbots


def _check(setting: str, pattern: str, count: object, k: int) -> None:
    if not pattern or set(pattern) - {"0", "1"}:
        raise _fault(
            setting, f"the pattern {quoted(pattern)} has other characters than 0 and 1", "Use 1 = selected, 0 = not."
        )
    if len(pattern) != k:
        hint = "Give each pattern one digit per chatbot; `chatbots` may stand in the setting, too."
        raise _fault(setting, f"the pattern {quoted(pattern)} has {len(pattern):,} digits for {k:,} chatbots", hint)
    whole = isinstance(count, int | float) and not isinstance(count, bool) and float(count).is_integer()
    if not whole or not 0 <= float(count) <= 2**53:  # type: ignore[arg-type]  # a number, as just checked
        shown = json.dumps(count)
        raise _fault(
            setting, f"the count {quoted(shown)} of pattern {pattern} is not a whole number", "Give a number of turns."
        )


def _parsed(text: str) -> dict[str, object]:
    try:
        document = json.loads(text, object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno:,}, column {error.colno:,}"
        raise FormatError(f"is not valid JSON ({error.msg}, {place})", code="bad_json", hint=_SHAPE) from error
    except (ValueError, OverflowError, RecursionError) as error:
        raise FormatError(f"is not valid JSON ({str(error)[:100]})", code="bad_json", hint=_SHAPE) from error
    if not isinstance(document, dict):
        raise FormatError("is not an object of settings", code="bad_json", hint=_SHAPE)
    return document


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        twice = sorted({key for key in keys if keys.count(key) > 1})
        raise FormatError(
            f"the key {listed(twice)} stands twice in one object", code="repeated_key", hint="Keep one of them."
        )
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _fault(setting: str, message: str, hint: str) -> FormatError:
    return FormatError(f"setting {quoted(setting)}: {message}", code="bad_value", hint=hint)
