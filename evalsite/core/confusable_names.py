"""Detection of deceptive names: invisible characters, mixed scripts and lookalikes."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from unicodedata import category, name, normalize

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput
from evalsite.core.terminal import FILLERS, HIDDEN, SPELT

TABLE = Path(__file__).with_name("confusables.txt")
BLANK = re.compile(r"\s+")
VARIATIONS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x180E))))


@cache
def _table() -> dict[int, str]:
    lines = (line.split() for line in TABLE.read_text(encoding="ascii").splitlines() if not line.startswith("#"))
    return {int(number, 16): like for like, *numbers in lines for number in numbers}


@lru_cache(maxsize=8192)
def skeleton(text: str) -> str:
    """Return the skeleton of a name: names with the same skeleton are hard to tell apart.

    Follows Unicode Technical Standard #39. Case is folded, blanks are joined and invisible characters are removed.
    ASCII characters stay distinct: "VL" and "V1" are two names.
    """
    seen = "".join(sign for sign in normalize("NFKC", text) if not _is_ignored(sign))
    folded = normalize("NFKC", seen.translate(_table()).casefold())
    return BLANK.sub(" ", normalize("NFD", folded.translate(_table()))).strip()


def hidden_sign(text: str) -> str:
    """Return the name of the first invisible or direction-changing character; "" for none.

    Joiners that belong to the spelling of some languages and of emoji are allowed there.
    """
    spelt = {joiner.start() for joiner in SPELT.finditer(text)}
    found = next((sign for at, sign in enumerate(text) if at not in spelt and _is_hidden(sign)), "")
    return found and f"U+{ord(found):04X} {name(found, '')}".strip()


def mixed_word(text: str) -> str:
    """Return the first word that mixes Latin letters with lookalike letters of another script; "" for none."""
    return next((word for word in _words(normalize("NFKC", text)) if _is_mixed(word)), "")


def name_check(text: str, *, field: str = "name") -> None:
    """Raise InvalidInput for a deceptive name."""
    if sign := hidden_sign(text):
        raise InvalidInput(
            _("The name contains a character that cannot be seen: %(sign)s.") % {"sign": sign},
            hint=_("Remove it."),
            field=field,
        )
    if word := mixed_word(text):
        raise InvalidInput(
            _("The word %(word)s mixes letters of different scripts that look alike.") % {"word": ascii(word)},
            hint=_("Write each word in the letters of one script."),
            field=field,
        )


def _is_hidden(sign: str) -> bool:
    return category(sign) in HIDDEN or sign in FILLERS


def _is_ignored(sign: str) -> bool:
    return sign in VARIATIONS or sign == "\u034f" or (_is_hidden(sign) and not sign.isspace())


def _words(text: str) -> Iterator[str]:
    for are_letters, signs in groupby(text, key=lambda sign: category(sign)[0] in "LM"):
        if are_letters:
            yield "".join(signs)


def _is_mixed(word: str) -> bool:
    latin = [name(sign, "").startswith("LATIN ") for sign in word]
    alike = (ord(sign) in _table() for sign, is_latin in zip(word, latin, strict=True) if not is_latin)
    return any(latin) and any(alike)
