"""Simple arithmetic in words: shares of a bill, and operations on two numbers."""

import re

from evalsite.demo.bots.text import words

_NAMES = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {name: float(value) for value, name in enumerate(_NAMES.split())}
_FIGURE = re.compile(r"\d{1,9}(?:\.\d{1,2})?")
_SIGNS = {"plus": "+", "minus": "-", "times": "*"}
_SHARED = frozenset({"share", "split", "divide", "divided", "shared"})


def value_of(word: str) -> float | None:
    if _FIGURE.fullmatch(word):
        return float(word)
    return _NUMBERS.get(word)


def work_out(text: str) -> str:
    """Return the answer as a sentence, or an empty text without a supported calculation."""
    spoken = words(text)
    numbers = [value for value in map(value_of, spoken) if value is not None]
    if len(numbers) != 2:
        return ""
    if _SHARED & set(spoken):
        return _share(*sorted(numbers))
    sign = next((_SIGNS[word] for word in spoken if word in _SIGNS), "")
    return _combine(numbers[0], sign, numbers[1]) if sign else ""


def _share(people: float, total: float) -> str:
    if people < 2 or people != int(people):
        return ""
    each = total / people
    return f"That makes {each:.10g} each." if round(each, 2) == each else f"That makes about {each:.2f} each."


def _combine(left: float, sign: str, right: float) -> str:
    result = {"+": left + right, "-": left - right, "*": left * right}[sign]
    return f"That makes {result:.10g}."
