"""An annotator's enrolment, qualification and progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.assignments import TurnSerializer
from evalsite.api.responses.base import ResponseSerializer
from evalsite.campaigns.models import Aspect
from evalsite.judgments.qualification import ATTEMPTS, Qualification
from evalsite.judgments.selectors import AnnotatorProgress


@extend_schema_serializer(component_name="Enrolled")
class EnrolmentSerializer(ResponseSerializer):
    """A new annotator, with their token."""

    annotator = s.UUIDField()
    token = s.CharField(help_text="shown only once; send it as Authorization: Bearer <token>")


@extend_schema_serializer(component_name="Joined")
class CampaignEnrolmentSerializer(ResponseSerializer):
    """An annotator's enrolment in another campaign."""

    annotator = s.UUIDField()
    campaign = s.UUIDField()


@dataclass(frozen=True, slots=True)
class QualificationStatus:
    """An annotator's progress in a qualification. aspect: the aspect of its items."""

    found: Qualification
    aspect: Aspect


class QualificationCandidateSerializer(ResponseSerializer):
    """One of the two replies of a qualification item."""

    label = s.CharField(help_text="A or B")  # type: ignore[assignment]  # also an attribute of every field
    text = s.CharField()


@extend_schema_serializer(component_name="QualificationAsked")
class QualificationItemSerializer(ResponseSerializer):
    """The next qualification item."""

    item = s.IntegerField(source="found.item.pk")
    attempt = s.IntegerField(source="found.attempt", help_text="1 or 2")
    question = s.CharField(source="aspect.question")
    choices = s.ListField(source="aspect.choices", child=s.CharField())
    turns = TurnSerializer(source="found.item.turns", many=True)
    candidates = QualificationCandidateSerializer(many=True)

    def get_candidates(self, row: QualificationStatus) -> list[dict[str, str]]:
        item = row.found.item
        return [{"label": "A", "text": item.reply_a}, {"label": "B", "text": item.reply_b}] if item else []


@extend_schema_serializer(component_name="Qualification")
class QualificationStatusSerializer(ResponseSerializer):
    """An annotator's progress in a qualification."""

    state = s.ChoiceField(choices=["open", "passed", "failed"])
    answered = s.IntegerField(source="found.answered", help_text="number of answers in this attempt")
    of = s.IntegerField(source="found.of")
    pass_mark = s.IntegerField(source="found.pass_mark")
    attempts = s.IntegerField()
    next = QualificationItemSerializer(allow_null=True)

    def get_state(self, row: QualificationStatus) -> str:
        return "passed" if row.found.passed else "failed" if row.found.screened_out else "open"

    def get_attempts(self, row: QualificationStatus) -> int:
        return ATTEMPTS

    def get_next(self, row: QualificationStatus) -> QualificationStatus | None:
        return row if row.found.item else None


@extend_schema_serializer(component_name="Qualified")
class QualificationAnswerSerializer(ResponseSerializer):
    """The given and the correct answer to a qualification item, and the next item."""

    choice = s.CharField()
    right = s.CharField()
    explanation = s.CharField(allow_blank=True)
    qualification = QualificationStatusSerializer()


class PaySerializer(ResponseSerializer):
    """The pay in one currency."""

    currency = s.CharField()
    amount = s.CharField(help_text="decimal")


class ProgressSerializer(ResponseSerializer):
    """An annotator's progress in a campaign."""

    judgments = s.IntegerField()
    open = s.IntegerField()
    quota = s.IntegerField(allow_null=True)
    provisional = s.BooleanField(help_text="whether the votes are provisional, because the annotator is new")
    pay = PaySerializer(many=True)

    def get_pay(self, row: AnnotatorProgress) -> list[Mapping[str, Any]]:
        return [{"currency": currency, "amount": f"{amount:.4f}"} for currency, amount in row.pay.items()]
