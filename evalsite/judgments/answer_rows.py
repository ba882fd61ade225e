"""Answers to aspects as rows: choices, selections, ratings and labels."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import Answer

Choice = str | int | Sequence[str] | Mapping[str, int] | Mapping[str, Sequence[str]]
"""An answer to one aspect: a verdict, the selected labels, a rating or labels (one, or one for each candidate)."""

_PARTS = {Aspect.Kind.RATING.value: "rating", Aspect.Kind.LABEL.value: "labels"}


class UnknownVerdict(InvalidInput):
    """A choice that its aspect does not offer. `aspect` is its key and `part` the part of the answer, for entry points
    that name the input field."""

    def __init__(self, aspect: Aspect, choice: object, offered: Iterable[object] | None = None) -> None:
        offered = aspect.choices if offered is None else offered
        super().__init__(
            _("%(choice)s is not a choice for %(key)s.") % {"choice": repr(choice), "key": repr(aspect.key)},
            hint=_("Use one of: %(choices)s.") % {"choices": ", ".join(str(one) for one in offered)},
            field="answers",
        )
        self.aspect = aspect.key
        self.part = _PARTS.get(aspect.kind, "choice")


def answers_of(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[Answer]:
    """Return the rows of one answer. `candidates` maps labels to keys. Raises UnknownVerdict."""
    rows = {
        Aspect.Kind.CHOOSE_ONE: _chosen,
        Aspect.Kind.SELECT_ANY: _selected,
        Aspect.Kind.RATING: _rated,
        Aspect.Kind.LABEL: _labelled,
    }
    return rows[Aspect.Kind(aspect.kind)](aspect, choice, candidates)


def _chosen(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[Answer]:
    offered = aspect.choices_among(candidates)
    if not isinstance(choice, str) or choice not in offered:
        raise UnknownVerdict(aspect, choice, offered)
    if choice in candidates:
        return [Answer(aspect=aspect, candidate_id=candidates[choice], value=Answer.Value.CHOSEN)]
    return [Answer(aspect=aspect, candidate=None, value=choice)]


def _selected(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[Answer]:
    if isinstance(choice, str) or not isinstance(choice, Sequence):
        raise UnknownVerdict(aspect, choice, candidates)
    for label in choice:
        if label not in candidates:
            raise UnknownVerdict(aspect, label, candidates)
    if not choice:
        return [Answer(aspect=aspect, candidate=None, value=Answer.Value.NONE)]
    return [
        Answer(aspect=aspect, candidate_id=candidates[label], value=Answer.Value.CHOSEN)
        for label in sorted(set(choice))
    ]


def _rated(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[Answer]:
    offered = range(aspect.minimum or 0, (aspect.maximum or 0) + 1)
    rows = []
    for candidate, rating in _each(aspect, choice, candidates):
        if isinstance(rating, bool) or not isinstance(rating, int) or rating not in offered:
            raise UnknownVerdict(aspect, rating, offered)
        rows.append(Answer(aspect=aspect, candidate_id=candidate, value=str(rating)))
    return rows


def _labelled(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[Answer]:
    rows = []
    for candidate, labels in _each(aspect, choice, candidates):
        if isinstance(labels, str) or not isinstance(labels, Sequence):
            raise UnknownVerdict(aspect, labels, aspect.labels)
        if aspect.one_label and len(set(labels)) != 1:
            raise _label_count(aspect)
        for label in sorted(set(labels)):
            if label not in aspect.labels:
                raise UnknownVerdict(aspect, label, aspect.labels)
            rows.append(Answer(aspect=aspect, candidate_id=candidate, value=label))
    return rows if rows or not candidates else [Answer(aspect=aspect, candidate=None, value=Answer.Value.NONE)]


def _label_count(aspect: Aspect) -> InvalidInput:
    return InvalidInput(
        _("%(key)s has exactly one label.") % {"key": repr(aspect.key)},
        hint=_("Use one of: %(choices)s.") % {"choices": ", ".join(aspect.labels)},
        field="answers",
    )


def _each(aspect: Aspect, choice: Choice, candidates: Mapping[str, int]) -> list[tuple[int | None, object]]:
    """Return the answer for the turn, or that for each of these candidates. All of them must have one."""
    if aspect.scope == Aspect.Scope.TURN:
        return [(None, choice)]
    if not isinstance(choice, Mapping) or set(choice) != set(candidates):
        raise UnknownVerdict(aspect, choice, [f"{label}: ..." for label in candidates])
    return [(candidates[label], choice[label]) for label in sorted(candidates)]
