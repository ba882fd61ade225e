"""The form that annotates conversations."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.questions import WIDEST_SCALE
from evalsite.campaigns.services import NewAspect
from evalsite.console.scale_forms import RATING, ScaleForm, scale_question
from evalsite.scorecards.annotation import MOST_VOTES, QUESTION, QUESTIONS, AnnotationRequest, pair_question
from evalsite.scorecards.models import Annotation
from evalsite.scorecards.reply_sampling import SampleRequest

PERCENT, NUMBER, HALF_WIDTH = "percent", "number", "half_width"


class AnnotationForm(ScaleForm):
    """What is judged, the sample, the question, and how many annotators judge each reply or conversation."""

    field_order = ("name", "unit", "size", "value", "rate", "whole", "votes", "question", "ties", "justify")

    name = forms.CharField(label=_("Name of the campaign"), max_length=200)
    unit = forms.ChoiceField(
        label=_("An annotator judges"),
        help_text=_(
            "Of conversations, give a share or a number. Each kind has a usual question; write your own below."
        ),
        choices=Annotation.Unit.choices,
        initial=Annotation.Unit.REPLY,
        required=False,
    )
    size = forms.ChoiceField(
        label=_("How many replies, or conversations, of each chatbot"),
        help_text=_("With a half-width of 5 points, a rate of 20 percent has an interval from about 15 to 25."),
        choices=[
            (HALF_WIDTH, _("half-width of the 95 % interval, in points")),
            (PERCENT, _("share of them, in percent")),
            (NUMBER, _("their number")),
        ],
        initial=HALF_WIDTH,
    )
    value = forms.FloatField(label=_("Half-width, share or number"), min_value=0.1, max_value=1_000_000, initial=5)
    rate = forms.FloatField(
        label=_("Expected error rate, in percent"),
        help_text=_("For the half-width. 50 is the careful choice: no rate needs more replies."),
        min_value=1,
        max_value=99,
        initial=50,
    )
    whole = forms.BooleanField(
        label=_("Draw whole conversations"),
        help_text=_("Errors within a conversation are alike, so the same precision needs more replies."),
        required=False,
    )
    votes = forms.IntegerField(
        label=_("Annotators of each reply, conversation or pair"),
        help_text=_("With two or more, their agreement is known."),
        min_value=1,
        max_value=MOST_VOTES,
        initial=1,
    )
    question = forms.CharField(label=_("Question"), max_length=300, initial=QUESTION)
    ties = forms.BooleanField(
        label=_("They may say that both are equally good, or both bad"), required=False, initial=True
    )
    justify = forms.BooleanField(label=_("They must justify each answer"), required=False)
    error_below = forms.FloatField(
        label=_("Ratings below this are errors"),
        help_text=_("Empty: the lowest rating alone is an error."),
        min_value=0,
        max_value=WIDEST_SCALE,
        required=False,
    )

    def clean_unit(self) -> Annotation.Unit:
        return Annotation.Unit(self.cleaned_data["unit"] or Annotation.Unit.REPLY)

    def has_scale(self) -> bool:
        """Return whether labels or a rating are given: pairs are compared."""
        return self.cleaned_data.get("unit") != Annotation.Unit.PAIR

    def request(self) -> AnnotationRequest:
        """Return the checked values. Raises InvalidInput."""
        given = self.cleaned_data
        unit = given["unit"]
        return AnnotationRequest(
            name=given["name"],
            sample=self._sample(given),
            question=self._question(given, unit),
            votes=given["votes"],
            error_below=given["error_below"] if given["kind"] == RATING and unit == Annotation.Unit.REPLY else None,
            unit=unit,
            justify=given["justify"],
        )

    def _question(self, given: dict[str, Any], unit: Annotation.Unit) -> NewAspect:
        """Return the question. The usual one about replies, left as it was, becomes the usual one of the unit."""
        text = QUESTIONS.get(unit, QUESTION) if given["question"] == QUESTION else given["question"]
        return scale_question(given, text) if self.has_scale() else pair_question(text, ties=given["ties"])

    def _sample(self, given: dict[str, Any]) -> SampleRequest:
        sizes = {
            PERCENT: {"share": given["value"] / 100},
            HALF_WIDTH: {"half_width": given["value"] / 100},
            NUMBER: {"number": int(given["value"])},
        }
        whole = given["whole"] and given["unit"] == Annotation.Unit.REPLY
        return SampleRequest(**sizes[given["size"]], whole=whole, rate=given["rate"] / 100)
