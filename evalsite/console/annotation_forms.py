"""The form that annotates conversations."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.questions import KNOWN_LABELS
from evalsite.scorecards.annotation import MOST_VOTES, QUESTION, AnnotationRequest
from evalsite.scorecards.reply_sampling import SampleRequest

PERCENT, NUMBER, HALF_WIDTH = "percent", "number", "half_width"


class AnnotationForm(forms.Form):
    """The sample of replies, the labels, and how many annotators judge each reply."""

    name = forms.CharField(label=_("Name of the campaign"), max_length=200)
    size = forms.ChoiceField(
        label=_("How many replies of each chatbot"),
        help_text=_("With a half-width of 5 points, a rate of 20 percent has an interval from about 15 to 25."),
        choices=[
            (HALF_WIDTH, _("half-width of the 95 % interval, in points")),
            (PERCENT, _("share of its replies, in percent")),
            (NUMBER, _("number of replies")),
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
        label=_("Annotators of each reply"),
        help_text=_("With two or more, their agreement is known."),
        min_value=1,
        max_value=MOST_VOTES,
        initial=1,
    )
    question = forms.CharField(label=_("Question"), max_length=300, initial=QUESTION)
    labels = forms.CharField(
        label=_("Labels, one on each line"),
        help_text=_("Errors are: incorrect, irrelevant, inappropriate."),
        widget=forms.Textarea(attrs={"rows": 5}),
        max_length=4000,
        initial="\n".join(KNOWN_LABELS),
    )

    def request(self) -> AnnotationRequest:
        """Return the checked values. Raises InvalidInput."""
        given = self.cleaned_data
        return AnnotationRequest(
            name=given["name"],
            sample=self._sample(given),
            question=given["question"],
            labels=tuple(line.strip() for line in given["labels"].splitlines() if line.strip()),
            votes=given["votes"],
        )

    def _sample(self, given: dict[str, Any]) -> SampleRequest:
        sizes = {
            PERCENT: {"share": given["value"] / 100},
            HALF_WIDTH: {"half_width": given["value"] / 100},
            NUMBER: {"number": int(given["value"])},
        }
        return SampleRequest(**sizes[given["size"]], whole=given["whole"], rate=given["rate"] / 100)
