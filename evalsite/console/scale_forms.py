"""Fields of a question about single replies: its labels, or the scale of its rating."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.models import Aspect
from evalsite.campaigns.questions import KNOWN_LABELS, WIDEST_SCALE, scale_check
from evalsite.campaigns.services import NewAspect
from evalsite.core.errors import InvalidInput
from evalsite.scorecards.annotation import label_question, rating_question

LABEL, RATING = Aspect.Kind.LABEL.value, Aspect.Kind.RATING.value


class ScaleForm(forms.Form):
    """How annotators answer a question about a reply."""

    kind = forms.ChoiceField(
        label=_("Answers"),
        choices=[(LABEL, _("one label")), (RATING, _("a rating on a scale"))],
        initial=LABEL,
        required=False,
    )
    labels = forms.CharField(
        label=_("Labels, one on each line"),
        help_text=_("Errors are: incorrect, irrelevant, inappropriate."),
        widget=forms.Textarea(attrs={"rows": 5}),
        max_length=4000,
        required=False,
        initial="\n".join(KNOWN_LABELS),
    )
    minimum = forms.IntegerField(
        label=_("Lowest rating"), min_value=0, max_value=WIDEST_SCALE, required=False, initial=0
    )
    maximum = forms.IntegerField(
        label=_("Highest rating"), min_value=1, max_value=WIDEST_SCALE, required=False, initial=2
    )

    def has_scale(self) -> bool:
        """Return whether the question is about single replies."""
        return True

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors or not self.has_scale():
            return cleaned
        found = scale_question(cleaned, "-")
        try:
            scale_check(kind=found.kind, labels=found.labels, minimum=found.minimum, maximum=found.maximum)
        except InvalidInput as error:
            self.add_error("maximum" if found.kind == RATING else "labels", f"{error.message} {error.hint}".strip())
        return cleaned


def scale_question(cleaned: Mapping[str, Any], question: str) -> NewAspect:
    """Return the question with the answers of the form."""
    if cleaned["kind"] == RATING:
        scale = {name: cleaned[name] for name in ("minimum", "maximum") if cleaned[name] is not None}
        return rating_question(question, **scale)
    return label_question(question, [line.strip() for line in cleaned["labels"].splitlines() if line.strip()])


def scale_initial(aspect: Aspect) -> dict[str, Any]:
    """Return the values of the form."""
    values = {"kind": aspect.kind, "labels": "\n".join(aspect.labels)}
    return values | ({"minimum": aspect.minimum, "maximum": aspect.maximum} if aspect.kind == RATING else {})
