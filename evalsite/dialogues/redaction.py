"""Redaction of texts before other people read them: contact data, long numbers, and given names are replaced.

It finds patterns and listed names only. Whoever publishes the texts reads them first.
"""

import re
from collections.abc import Iterable, Mapping

# The order counts: an address may contain what looks like a number. Possessive quantifiers keep each scan linear.
_PATTERNS = (
    ("e-mail", re.compile(r"[\w.+-]{1,64}+@[\w-]{1,63}+(?:\.[\w-]{1,63}+)++")),
    ("link", re.compile(r"(?:https?://|www\.)\S++", re.IGNORECASE)),
    ("account", re.compile(r"(?<!\w)@\w{2,64}+")),
    ("account number", re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,8}+(?: ?[A-Z0-9]{1,4})?\b")),
    ("number", re.compile(r"(?<!\w)\+?[0-9](?:[ ./()-]?[0-9]){6,40}+(?!\w)")),
)


def names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for names of three or more characters as whole words, in upper or lower case."""
    words = sorted({name.strip() for name in names if len(name.strip()) > 2}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?!\w)", re.IGNORECASE)


def redacted(text: str, names: Mapping[str, re.Pattern[str]]) -> str:
    """Return the text with contact data and long numbers replaced, and with `names` (a label: its pattern)."""
    for label, pattern in (*_PATTERNS, *names.items()):
        text = pattern.sub(f"[{label}]", text)
    return text
