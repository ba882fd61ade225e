"""Checks of questions: the scale of ratings and labels, and the kinds of questions that fit a campaign's mode."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.core.errors import Conflict, InvalidInput

MOST_LABELS, LONGEST_LABEL = 50, 60
WIDEST_SCALE = 100


class LabelText(NamedTuple):
    """How a label is shown, and its meaning."""

    name: str | Promise
    meaning: str | Promise


KNOWN_LABELS: Mapping[str, LabelText] = {
    "correct": LabelText(gettext_lazy("Correct"), gettext_lazy("It fits what was said, and it is true.")),
    "incorrect": LabelText(gettext_lazy("Incorrect"), gettext_lazy("It says something that is wrong.")),
    "irrelevant": LabelText(gettext_lazy("Irrelevant"), gettext_lazy("It does not fit what was said before.")),
    "inappropriate": LabelText(
        gettext_lazy("Inappropriate"), gettext_lazy("It is rude, offensive, or should not be said to anybody.")
    ),
    "weakly related": LabelText(
        gettext_lazy("Weakly related"), gettext_lazy("It touches what was said before, but misses the point.")
    ),
}
"""The labels of responses whose share is the response error rate: what each means stands on the judging page."""

SCALES = frozenset({Aspect.Kind.RATING.value, Aspect.Kind.LABEL.value})
RESERVED = frozenset({"chosen", "tie", "both_bad", "none"})  # values of answers that are no labels
KINDS: Mapping[str, frozenset[str]] = {
    Campaign.Mode.STATIC: frozenset({Aspect.Kind.CHOOSE_ONE.value}),
    Campaign.Mode.SINGLE: SCALES,
}


def label_text(label: str) -> str:
    """Return a label as it is shown. An owner's own label is shown as it is."""
    known = KNOWN_LABELS.get(label)
    return str(known.name) if known else label


def scale_check(*, kind: str, labels: Sequence[str], minimum: int | None, maximum: int | None) -> None:
    """Raise InvalidInput for a rating without a scale, and for labels that nobody could choose."""
    if kind == Aspect.Kind.RATING:
        _check_rating(minimum, maximum)
    if kind == Aspect.Kind.LABEL:
        _check_labels(labels)


def _check_rating(minimum: int | None, maximum: int | None) -> None:
    if minimum is None or maximum is None or not 0 <= minimum < maximum <= WIDEST_SCALE:
        raise InvalidInput(
            _("A rating needs a scale."),
            hint=_("Give a minimum of 0 or more, and a maximum above it, up to %(most)s.") % {"most": WIDEST_SCALE},
            field="aspects",
        )


def _check_labels(labels: Sequence[str]) -> None:
    different = {label.casefold() for label in labels}
    if not 2 <= len(labels) <= MOST_LABELS or len(different) != len(labels):
        raise InvalidInput(
            _("A question needs 2 to %(most)s different labels.") % {"most": MOST_LABELS}, field="aspects"
        )
    for label in labels:
        if not 0 < len(label) <= LONGEST_LABEL or label != label.strip() or not label.isprintable():
            raise InvalidInput(
                _("A label has 1 to %(longest)s printable characters, without blanks around them.")
                % {"longest": LONGEST_LABEL},
                field="aspects",
            )
        if label in RESERVED:
            raise InvalidInput(
                _("%(label)s cannot be a label.") % {"label": repr(label)}, hint=_("Use another word."), field="aspects"
            )


def kinds_check(campaign: Campaign) -> None:
    """Raise Conflict for a question that annotators of the campaign could not answer."""
    for aspect in campaign.rubric.aspects.all():
        if not _fits(aspect, campaign):
            raise Conflict(
                _("The question %(key)s does not fit the campaign.") % {"key": repr(aspect.key)},
                hint=_(
                    "Pairs are compared; single replies are labelled or rated, each as a whole. In a live campaign the "
                    "first question selects replies, and the others label or rate them."
                ),
                field="aspects",
            )


def _fits(aspect: Aspect, campaign: Campaign) -> bool:
    if campaign.is_live:
        return (aspect.kind in SCALES) == (aspect.position > 0)
    of_turn = not campaign.is_single or aspect.scope == Aspect.Scope.TURN
    return aspect.kind in KINDS[campaign.mode] and of_turn
