"""Signs in a submission that a moderator should look at. A flag decides nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.chatbots.own_names import names_pattern
from evalsite.core.confusable_names import skeleton

MOST_EXAMPLES = 5
SHARED_FROM = 2  # prompts with one and the same reply
_REFUSAL = re.compile(
    r"\b(?:i[\u2019']?m sorry,? but"
    r"|i (?:can[\u2019']?t|cannot|am unable to|am not able to|won[\u2019']?t)"
    r" (?:help|assist|answer|provide|comply|fulfil)"
    r"|as an ai(?: language model)?"
    r"|es tut mir leid,? aber|ich kann (?:dir|ihnen) (?:dabei|leider)|als ki-?(?:sprach)?modell)\b",
    re.IGNORECASE,
)
_BLANK = re.compile(r"^\W*(?:n/?a|none|null|nan|todo|error|empty)?\W*$", re.IGNORECASE)
_CONFUSED = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s"})


@dataclass(frozen=True, slots=True)
class Flag:
    """A sign, how many replies show it, and the ids of some of their prompts."""

    code: str
    text: str
    count: int
    prompts: tuple[str, ...] = ()


def flags_of(
    replies: Sequence[tuple[str, str]], *, own_names: Iterable[str] = (), missing: int = 0, near: Sequence[str] = ()
) -> list[Flag]:
    """Return the flags of replies, given as (prompt id, text).

    `own_names`: of the chatbot, its maker and its base model. `near`: names in the campaign that its name resembles.
    """
    found = [
        _flag("maker_name", _named(replies, own_names)),
        _flag("refusal", [key for key, text in replies if _REFUSAL.search(text)]),
        _flag("empty", [key for key, text in replies if _BLANK.match(text)]),
        _flag("identical", _identical(replies)),
    ]
    flags = [flag for flag in found if flag is not None]
    if near:
        flags.append(Flag("name", _("Its name resembles %(names)s.") % {"names": ", ".join(near[:3])}, len(near)))
    if missing:
        flags.append(Flag("missing", _texts("missing", missing), missing))
    return flags


def _flag(code: str, keys: Sequence[str]) -> Flag | None:
    return Flag(code, _texts(code, len(keys)), len(keys), tuple(keys[:MOST_EXAMPLES])) if keys else None


def _texts(code: str, count: int) -> str:
    words: Mapping[str, str] = {
        "maker_name": ngettext("%(n)s reply names a maker.", "%(n)s replies name a maker.", count),
        "refusal": ngettext("%(n)s reply looks like a refusal.", "%(n)s replies look like refusals.", count),
        "empty": ngettext("%(n)s reply says nothing.", "%(n)s replies say nothing.", count),
        "identical": ngettext("%(n)s reply repeats another.", "%(n)s replies are the same as others.", count),
        "missing": ngettext("%(n)s prompt has no reply.", "%(n)s prompts have no reply.", count),
    }
    return words[code] % {"n": count}


def _named(replies: Sequence[tuple[str, str]], own_names: Iterable[str]) -> list[str]:
    pattern = names_pattern(own_names)
    return [key for key, text in replies if pattern.search(text)]


def _identical(replies: Sequence[tuple[str, str]]) -> list[str]:
    texts = Counter(text.strip() for _key, text in replies)
    return [key for key, text in replies if texts[text.strip()] >= SHARED_FROM]


def names_near(name: str, others: Iterable[str]) -> list[str]:
    """Return the other names that a reader could take for this one: alike but for signs, digits or one letter."""
    own = _plain(name)
    return sorted({other for other in others if other != name and _is_near(own, _plain(other))})


def _plain(name: str) -> str:
    return "".join(sign for sign in skeleton(name) if sign.isalnum())


def _is_near(one: str, other: str) -> bool:
    """Return whether two plain names look the same, or differ in one letter of five or more, but not in a digit."""
    if one.translate(_CONFUSED) == other.translate(_CONFUSED):
        return True
    if min(len(one), len(other)) < 5 or abs(len(one) - len(other)) > 1:
        return False
    short, long = sorted((one, other), key=len)
    at = next((n for n, sign in enumerate(short) if sign != long[n]), len(short))
    if long[at : at + 1].isdigit() or short[at : at + 1].isdigit():
        return False
    return short[at:] == long[at + 1 :] or short[at + 1 :] == long[at + 1 :]
