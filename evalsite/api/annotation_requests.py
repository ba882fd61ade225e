"""What the API takes to annotate conversations."""

from typing import Any, NamedTuple

from rest_framework import serializers as s

from evalsite.api.fields import (
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
)
from evalsite.campaigns.questions import KNOWN_LABELS
from evalsite.scorecards.annotation import QUESTION, AnnotationRequest
from evalsite.scorecards.reply_sampling import WORST_RATE, SampleRequest

MOST = 1_000_000
_SAMPLE = ("share", "number", "half_width", "whole", "rate")


class AnnotationRequestBody(StrictSerializer):
    """How many replies of each chatbot to annotate (one of share, number and half_width), and by which labels."""

    name = StrictCharField(max_length=200, help_text="of the campaign")
    share = StrictFloatField(
        required=False, min_value=0, max_value=1, help_text="of the replies of each chatbot, up to 1"
    )
    number = StrictIntegerField(required=False, min_value=1, max_value=MOST, help_text="replies of each chatbot")
    half_width = StrictFloatField(
        required=False, min_value=0.001, max_value=0.5, help_text="of the 95 % interval of the error rate, such as 0.05"
    )
    whole = StrictBooleanField(default=False, help_text="draw conversations, and take all of their replies")
    rate = StrictFloatField(
        default=WORST_RATE, min_value=0, max_value=1, help_text="expected error rate, for half_width"
    )
    votes = StrictIntegerField(default=1, min_value=1, max_value=MOST, help_text="annotators of each reply")
    question = StrictCharField(max_length=300, default=QUESTION)
    labels = s.ListField(
        child=StrictCharField(max_length=60),
        default=list(KNOWN_LABELS),
        max_length=50,
        help_text="incorrect, irrelevant and inappropriate are errors",
    )
    seed = StrictIntegerField(default=0, min_value=0, max_value=2**31 - 1, help_text="of the sample")
    draft = StrictBooleanField(default=False, help_text="leave the campaign a draft")
    check = StrictBooleanField(default=False, help_text="only show the sample size")


class SentAnnotation(NamedTuple):
    """The request. check: only the sample size is wanted; draft: the campaign stays a draft."""

    request: AnnotationRequest
    check: bool
    draft: bool


def annotation_of(given: dict[str, Any]) -> SentAnnotation:
    """Return what was sent. Raises InvalidInput."""
    sample = SampleRequest(**{name: given.pop(name) for name in _SAMPLE if name in given})
    check, draft = given.pop("check"), given.pop("draft")
    return SentAnnotation(AnnotationRequest(sample=sample, **given), check, draft)
