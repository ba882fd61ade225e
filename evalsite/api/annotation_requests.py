"""Requests to annotate conversations."""

from typing import Any, NamedTuple

from rest_framework import serializers as s

from evalsite.api.fields import (
    StrictBooleanField,
    StrictCharField,
    StrictFloatField,
    StrictIntegerField,
    StrictSerializer,
)
from evalsite.campaigns.models import Aspect
from evalsite.campaigns.questions import KNOWN_LABELS, WIDEST_SCALE
from evalsite.campaigns.services import NewAspect
from evalsite.scorecards.annotation import (
    QUESTION,
    QUESTIONS,
    RATING_QUESTION,
    AnnotationRequest,
    label_question,
    pair_question,
    rating_question,
)
from evalsite.scorecards.models import Annotation
from evalsite.scorecards.reply_sampling import WORST_RATE, SampleRequest

MOST = 1_000_000
_SAMPLE = ("share", "number", "half_width", "whole", "rate")


class AnnotationRequestBody(StrictSerializer):
    """The sample size of each chatbot (one of share, number and half_width), and the question."""

    name = StrictCharField(max_length=200, help_text="of the campaign")
    unit = s.ChoiceField(
        choices=Annotation.Unit.values,
        default=Annotation.Unit.REPLY.value,
        help_text="content of an assignment: a reply, a whole conversation, or two whole conversations to compare",
    )
    share = StrictFloatField(
        required=False,
        min_value=0,
        max_value=1,
        help_text="share of the replies, or conversations, of each chatbot, up to 1",
    )
    number = StrictIntegerField(
        required=False, min_value=1, max_value=MOST, help_text="number of replies, or conversations, of each chatbot"
    )
    half_width = StrictFloatField(
        required=False,
        min_value=0.001,
        max_value=0.5,
        help_text="half-width of the 95 % interval of the error rate, such as 0.05",
    )
    whole = StrictBooleanField(default=False, help_text="draw conversations, and include all of their replies")
    rate = StrictFloatField(
        default=WORST_RATE, min_value=0, max_value=1, help_text="expected error rate, for half_width"
    )
    votes = StrictIntegerField(default=1, min_value=1, max_value=MOST, help_text="number of annotators for each item")
    kind = s.ChoiceField(choices=[Aspect.Kind.LABEL.value, Aspect.Kind.RATING.value], default=Aspect.Kind.LABEL.value)
    question = StrictCharField(
        max_length=300, required=False, help_text=f"default: {QUESTION} For a rating: {RATING_QUESTION}"
    )
    labels = s.ListField(
        child=StrictCharField(max_length=60),
        default=list(KNOWN_LABELS),
        max_length=50,
        help_text="for kind label: incorrect, irrelevant and inappropriate are errors",
    )
    minimum = StrictIntegerField(
        default=0, min_value=0, max_value=WIDEST_SCALE, help_text="for kind rating: limit of the scale"
    )
    maximum = StrictIntegerField(
        default=2, min_value=1, max_value=WIDEST_SCALE, help_text="for kind rating: limit of the scale"
    )
    error_below = StrictFloatField(
        required=False,
        min_value=0,
        max_value=WIDEST_SCALE,
        help_text="for kind rating: lower ratings are errors (default: only the lowest rating)",
    )
    ties = StrictBooleanField(default=True, help_text="for unit pair: whether a tie, or both bad, is a choice")
    justify = StrictBooleanField(default=False, help_text="whether each answer needs a justification (comment)")
    seed = StrictIntegerField(default=0, min_value=0, max_value=2**31 - 1, help_text="random seed of the sample")
    draft = StrictBooleanField(default=False, help_text="do not launch the campaign")
    check = StrictBooleanField(default=False, help_text="only return the sample size")


class SentAnnotation(NamedTuple):
    """The request. check: only the sample size is wanted; draft: the campaign stays a draft."""

    request: AnnotationRequest
    check: bool
    draft: bool


def annotation_of(given: dict[str, Any]) -> SentAnnotation:
    """Return what was sent. Raises InvalidInput."""
    sample = SampleRequest(**{name: given.pop(name) for name in _SAMPLE if name in given})
    check, draft = given.pop("check"), given.pop("draft")
    given["unit"] = Annotation.Unit(given["unit"])
    given["question"] = _question(given)
    return SentAnnotation(AnnotationRequest(sample=sample, **given), check, draft)


def _question(given: dict[str, Any]) -> NewAspect:
    """Take the fields of the question out of what was sent, and return it."""
    kind, labels, ties, unit = given.pop("kind"), given.pop("labels"), given.pop("ties"), given["unit"]
    scale = {name: given.pop(name) for name in ("minimum", "maximum")}
    usual = {"question": QUESTIONS[unit]} if unit in QUESTIONS else {}
    asked = {"question": given["question"]} if "question" in given else usual
    if unit == Annotation.Unit.PAIR:
        return pair_question(**asked, ties=ties)
    return rating_question(**asked, **scale) if kind == Aspect.Kind.RATING else label_question(**asked, labels=labels)
