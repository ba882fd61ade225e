"""Text of other people as a terminal may show it."""

import re
from unicodedata import category

# Controls, marks of direction and signs of no width, lone surrogates, separators of lines: obeyed, or not seen.
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")  # letters, and yet empty
# The joiner and non-joiner of no width belong to the spelling of Persian or Hindi and to emoji: there they stay.
SPELT = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")


def shown(text: str) -> str:
    """The text in one line: what a terminal would obey, or not show, stands there as its escape."""
    kept = {joiner.start() for joiner in SPELT.finditer(text)}
    return "".join(sign if at in kept else _shown(sign) for at, sign in enumerate(text))


def _shown(sign: str) -> str:
    hidden = category(sign) in HIDDEN or sign in FILLERS
    return sign.encode("unicode_escape").decode() if hidden else sign
