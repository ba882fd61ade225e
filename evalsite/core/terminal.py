"""Terminal output: safe display of foreign text, and error messages of commands."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import category

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection

from evalsite.core.errors import TouchstoneError

# Control, format and direction characters, zero-width characters, lone surrogates and line separators. A terminal obeys
# them or does not show them.
BAD_INPUT = 2  # exit status, as of programs that do not know an option
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")  # letters without a visible form
# Zero-width joiners and non-joiners belong to the spelling of Persian or Hindi and to emoji. They stay there.
SPELT = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")


def shown(text: str) -> str:
    """Return the text in one line, with escapes for control characters and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    kept = {joiner.start() for joiner in SPELT.finditer(text)}
    return "".join(sign if at in kept else _escaped(sign) for at, sign in enumerate(text))


def _escaped(sign: str) -> str:
    hidden = category(sign) in HIDDEN or sign in FILLERS
    return sign.encode("unicode_escape").decode() if hidden else sign


@contextmanager
def concise_errors() -> Iterator[None]:
    """End the process with a one-sentence error if the operator can fix the cause. A bug keeps its traceback."""
    try:
        yield
    except (ImproperlyConfigured, TouchstoneError) as error:
        hint = getattr(error, "hint", "")
        raise _refused(f"{error} {hint}".strip()) from None
    except Error as error:
        why = _database_advice(error)
        if not why:
            raise
        raise _refused(why) from None


def _refused(message: str) -> SystemExit:
    print(f"Error: {message}", file=sys.stderr)  # noqa: T201
    return SystemExit(BAD_INPUT)


def _database_advice(error: Error) -> str:
    """Return how the operator can fix a database error, or ""."""
    from evalsite.core.migration_history import migrations_pending

    text = str(error)
    if "readonly database" in text or "unable to open database" in text:
        return f"The database cannot be written ({text}). Give this user the right to write it and its folder."
    if "database or disk is full" in text:
        return "The disk is full. Free some space and run the command again."
    try:
        pending = migrations_pending(connection)
    except Error:
        return f"The database does not answer ({text.strip().splitlines()[0]}). Check that it runs, and its address."
    return f"The database lacks {pending} migrations of this version. Run `manage.py migrate`." if pending else ""
