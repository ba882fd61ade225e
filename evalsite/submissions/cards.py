"""The card of a submitted chatbot, and what the front matter of a model card (README.md) says of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import yaml
from django.utils.translation import gettext as _

from evalsite.core.confusable_names import hidden_sign
from evalsite.core.errors import InvalidInput, TooLarge
from evalsite.core.row_files import unstorable

LONGEST = {"name": 200, "label": 100, "link": 500, "licence": 200, "price": 100, "base_model": 300, "description": 2000}
LONGEST_README, LONGEST_FRONT = 1_000_000, 100_000
_FRONT = re.compile(r"\A﻿?---[ \t]*\r?\n(.*?\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChatbotCard:
    """What a submitter says about a chatbot. A blank label stands for the next number."""

    name: str = ""
    label: str = ""
    link: str = ""
    licence: str = ""
    price: str = ""
    base_model: str = ""
    description: str = ""

    @property
    def about(self) -> dict[str, str]:
        """Return the card without name and label, for storage."""
        return {name: value for name, value in asdict(self).items() if name not in {"name", "label"}}


def card_check(card: ChatbotCard) -> None:
    """Raise InvalidInput for a card that cannot be kept or shown, naming the field."""
    if not card.name:
        raise InvalidInput(
            _("The chatbot has no name."),
            hint=_("Give the name that the board is to show, or a model card that has one."),
            field="name",
        )
    for field, value in asdict(card).items():
        if len(value) > LONGEST[field]:
            raise InvalidInput(
                _("%(field)s is longer than %(most)s characters.") % {"field": field, "most": LONGEST[field]},
                hint=_("Shorten it."),
                field=field,
            )
        if what := unstorable(value) or ("" if field == "description" else hidden_sign(value)):
            raise InvalidInput(
                _("%(field)s contains %(what)s.") % {"field": field, "what": what}, hint=_("Remove it."), field=field
            )
    if card.link and not _is_web_address(card.link):
        raise InvalidInput(
            _("The link is no address of the web."), hint=_("Give one that begins with https://."), field="link"
        )


def _is_web_address(link: str) -> bool:
    try:
        parts = urlsplit(link)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and " " not in link
    except ValueError:
        return False


def card_completed(card: ChatbotCard, readme: bytes) -> ChatbotCard:
    """Return the card with its blanks filled from a model card. Raises InvalidInput for an unreadable one, TooLarge."""
    if not readme.strip():
        return card
    found = _card_read(readme)
    return replace(card, **{name: value for name, value in found.items() if value and not getattr(card, name)})


def _card_read(readme: bytes) -> dict[str, str]:
    if len(readme) > LONGEST_README:
        raise TooLarge(_("The model card is longer than 1 MB."), hint=_("Send its README.md alone."), field="readme")
    try:
        text = readme.decode("utf-8")
    except UnicodeDecodeError:
        raise _unreadable(_("it is not UTF-8")) from None
    found = _FRONT.match(text)
    front = _front_read(found[1]) if found else {}
    body = text[found.end() :] if found else text
    heading = _HEADING.search(body)
    return {
        "name": _first(front, "model_name", "name") or _indexed_name(front) or (heading[1] if heading else ""),
        "link": _first(front, "link", "homepage", "repo", "url"),
        "licence": _licence(front),
        "price": _first(front, "price"),
        "base_model": _first(front, "base_model"),
        "description": (_first(front, "description", "summary") or _paragraph(body))[: LONGEST["description"]],
    }


def _front_read(text: str) -> Mapping[str, Any]:
    if len(text) > LONGEST_FRONT:
        raise TooLarge(_("The front matter is longer than 100,000 characters."), hint=_("Shorten it."), field="readme")
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = _(" in line %(line)s") % {"line": mark.line + 2} if mark else ""
        raise _unreadable(_("its front matter is not YAML%(where)s") % {"where": where}) from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unreadable(_("its front matter has no keys"))
    return value


def _unreadable(why: str) -> InvalidInput:
    return InvalidInput(
        _("The model card cannot be read: %(why)s.") % {"why": why},
        hint=_("Correct it, or fill in the fields by hand."),
        field="readme",
    )


def _first(front: Mapping[str, Any], *names: str) -> str:
    """Return the first text among these keys. Of a list, its texts, up to five."""
    for name in names:
        value = front.get(name)
        many = value if isinstance(value, list) else [value]
        texts = [str(one).strip() for one in many[:5] if isinstance(one, str | int | float)]
        if any(texts):
            return ", ".join(filter(None, texts))
    return ""


def _licence(front: Mapping[str, Any]) -> str:
    """Return the licence. The hub calls one that it does not know "other", and its name stands beside it."""
    licence = _first(front, "license", "licence")
    return _first(front, "license_name") or licence if licence in {"", "other"} else licence


def _indexed_name(front: Mapping[str, Any]) -> str:
    index = front.get("model-index")
    first = index[0] if isinstance(index, list) and index else None
    return _first(first, "name") if isinstance(first, dict) else ""


def _paragraph(body: str) -> str:
    """Return the first paragraph that is no heading, table, picture or code."""
    for part in re.split(r"\r?\n[ \t]*\r?\n", body):
        text = " ".join(part.split())
        if text and text[0].isalnum():
            return text
    return ""
