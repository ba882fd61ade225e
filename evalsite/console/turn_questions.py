"""Questions about the replies of a turn as lines of text: a key, the question, its answers, and what it is about."""

import re
from collections.abc import Sequence
from dataclasses import replace

from django.utils.text import slugify
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect
from evalsite.campaigns.questions import scale_check
from evalsite.campaigns.services import NewAspect
from evalsite.core.errors import InvalidInput

LONGEST_QUESTION = 300
SCOPES = {
    "each": Aspect.Scope.CANDIDATE,
    "selected": Aspect.Scope.SELECTED,
    "turn": Aspect.Scope.TURN,
}
ANY = "any:"


def questions_text(questions: Sequence[NewAspect]) -> str:
    """Return the questions, one for each line."""
    return "\n".join(_line(one) for one in questions)


def _line(one: NewAspect) -> str:
    if one.kind == Aspect.Kind.RATING:
        answers = f"{one.minimum}-{one.maximum}"
    else:
        answers = ("" if one.one_label else f"{ANY} ") + ", ".join(one.labels)
    scope = next(word for word, scope in SCOPES.items() if scope == one.scope)
    return f"{one.key}: {one.question} | {answers} | {scope}"


def questions_read(text: str) -> tuple[NewAspect, ...]:
    """Return the questions of the lines. Raises InvalidInput."""
    return tuple(_question(line) for line in (line.strip() for line in text.splitlines()) if line)


def _question(line: str) -> NewAspect:
    name, colon, rest = line.partition(":")
    question, *parts = (part.strip() for part in rest.split("|"))
    key = name.strip() if re.fullmatch("[-a-zA-Z0-9_]{1,60}", name.strip()) else slugify(name)[:60]
    scope = SCOPES.get(parts[1].lower()) if len(parts) > 1 else Aspect.Scope.CANDIDATE
    if not colon or not key or not 0 < len(question) <= LONGEST_QUESTION or len(parts) not in {1, 2} or scope is None:
        raise InvalidInput(
            _("This line is not understood: %(line)s") % {"line": line[:80]},
            hint=_("Write: name: question | answers | each, selected or turn."),
            field="turn_questions",
        )
    found = _with_answers(NewAspect(key, question, allow_tie=False, allow_both_bad=False, scope=scope), parts[0])
    try:
        scale_check(kind=found.kind, labels=found.labels, minimum=found.minimum, maximum=found.maximum)
    except InvalidInput as error:
        raise InvalidInput(f"{key}: {error.message}", hint=error.hint, field="turn_questions") from error
    return found


def _with_answers(question: NewAspect, answers: str) -> NewAspect:
    """Return the question with its answers: a rating such as 1-5, labels, or any number of labels."""
    numbers = re.fullmatch(r"([0-9]{1,3})\s*[-\u2013]\s*([0-9]{1,3})", answers)
    if numbers:
        low, high = map(int, numbers.groups())
        return replace(question, kind=Aspect.Kind.RATING, minimum=low, maximum=high)
    several = answers.startswith(ANY)
    labels = tuple(one.strip() for one in answers.removeprefix(ANY).split(",") if one.strip())
    return replace(question, kind=Aspect.Kind.LABEL, labels=labels, one_label=not several)
