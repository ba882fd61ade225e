"""The questions about the replies of a turn beside the selection: their fields, and the answers that a form has."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.http import QueryDict
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect
from evalsite.campaigns.questions import label_text
from evalsite.judgments.answer_rows import Choice

PREFIX = "answer."
Given = Mapping[str, Sequence[str]]  # The values of each field.


def reply_fields(aspects: Sequence[Aspect], label: str, given: Given) -> list[dict[str, Any]]:
    """Return the fields of one reply, by its label."""
    return [_field(one, label, given) for one in aspects if one.scope != Aspect.Scope.TURN]


def turn_fields(aspects: Sequence[Aspect], given: Given) -> list[dict[str, Any]]:
    """Return the fields of the turn as a whole."""
    return [_field(one, "", given) for one in aspects if one.scope == Aspect.Scope.TURN]


def _field(aspect: Aspect, label: str, given: Given) -> dict[str, Any]:
    name = _name(aspect, label)
    chosen = given.get(name, ())
    return {
        "name": name,
        "question": aspect.question,
        "several": aspect.kind == Aspect.Kind.LABEL and not aspect.one_label,
        "of_selected": aspect.scope == Aspect.Scope.SELECTED,
        "choices": [(value, label_text(value), value in chosen) for value in aspect.choices],
    }


def _name(aspect: Aspect, label: str) -> str:
    return f"{PREFIX}{aspect.key}.{label}" if label else f"{PREFIX}{aspect.key}"


def values_given(sent: QueryDict) -> dict[str, list[str]]:
    """Return the values of all these fields in a form."""
    return {name: sent.getlist(name) for name in sent if name.startswith(PREFIX)}


def answers_given(
    given: Given, aspects: Sequence[Aspect], shown: Sequence[str], selected: Sequence[str]
) -> tuple[dict[str, Choice], str]:
    """Return the answers by aspect, and in words the first one that is missing ("" if none is).

    shown, selected: labels of replies.
    """
    answers: dict[str, Choice] = {}
    missing: list[tuple[Aspect, str]] = []
    for aspect in aspects:
        of_turn = aspect.scope == Aspect.Scope.TURN
        labels = [""] if of_turn else selected if aspect.scope == Aspect.Scope.SELECTED else shown
        values = {label: _value(aspect, given.get(_name(aspect, label), ())) for label in labels}
        missing += [(aspect, label) for label, value in values.items() if value is None]
        answers[aspect.key] = cast("Choice", values[""] if of_turn else values)
    return answers, _missing_text(*missing[0], alone=len(shown) == 1) if missing else ""


def _value(aspect: Aspect, values: Sequence[str]) -> int | list[str] | None:
    """Return the value of a field; None if it is missing."""
    if aspect.kind == Aspect.Kind.RATING:
        text = values[-1] if values else ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None
    return None if aspect.one_label and not values else list(values)


def _missing_text(aspect: Aspect, label: str, *, alone: bool) -> str:
    if alone or not label:
        return _("Answer this question, too: %(question)s") % {"question": aspect.question}
    return _("Answer this question for reply %(label)s, too: %(question)s") % {
        "label": label,
        "question": aspect.question,
    }
