"""The design system page: every token of frontend/static/css/design.css with its purpose."""

from typing import Any

from django.utils.translation import gettext as _


def design_context() -> dict[str, Any]:
    """Return the tokens in groups. Tests check that the list is complete."""
    return {"colours": _colours(), "sizes": _sizes(), "spaces": _spaces(), "others": _others()}


def _colours() -> list[tuple[str, str]]:
    return [
        ("paper", _("the ground of every page")),
        ("surface", _("cards and fields on it")),
        ("sunken", _("what lies under the pointer, code, an empty cell")),
        ("bubble", _("what a chatbot said")),
        ("bubble-user", _("what a person asked")),
        ("ink", _("text")),
        ("ink-soft", _("text beside the main thing")),
        ("ink-faint", _("preliminary and withdrawn rows")),
        ("line", _("lines between rows")),
        ("line-strong", _("edges of fields, the zero line")),
        ("accent", _("the one colour of action: links, buttons, progress")),
        ("accent-strong", _("the same under the pointer")),
        ("on-accent", _("text on it")),
        ("accent-wash", _("the ground of a message")),
        ("side-a", _("Reply A, and nothing else: never a chatbot")),
        ("side-a-wash", _("Reply A, chosen")),
        ("side-b", _("Reply B")),
        ("side-b-wash", _("Reply B, chosen")),
        ("doubt", _("uncertainty: intervals, bands, curves")),
        ("wrong", _("what is wrong, and nothing else")),
        ("wrong-wash", _("the ground of an error")),
        ("shade", _("the shadow of a window before the page")),
    ]


def _sizes() -> list[tuple[str, str]]:
    return [
        ("text-small", _("notes, keys, heads of columns")),
        ("text-table", _("tables")),
        ("text", _("everything that is not named here")),
        ("text-reading", _("what is read: prompts, replies, the lead of a page")),
        ("text-large", _("heads of sections")),
        ("text-head", _("the head line of a page")),
    ]


def _spaces() -> list[str]:
    return ["s1", "s2", "s3", "s4", "s6", "s8", "s12", "s16"]


def _others() -> list[tuple[str, str]]:
    return [
        ("font", _("the system’s own font: nothing is loaded")),  # noqa: RUF001 - as it is printed
        ("mono", _("code and addresses")),
        ("radius", _("corners of cards and buttons")),
        ("radius-small", _("corners of fields")),
        ("page", _("the widest that a page gets")),
        ("measure", _("the longest line of text")),
    ]
