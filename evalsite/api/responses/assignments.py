"""Assignments of annotators, and receipts of their judgments."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, StoredSerializer
from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.selectors import aspects_of
from evalsite.judgments.campaign_choice import OfferedBlock
from evalsite.judgments.claim_selectors import AssignmentContent
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.models import LABELS, Assignment, Judgment
from evalsite.scorecards.annotated_replies import contents_shown

POLL_S = 1.0


class ShownCandidate(NamedTuple):
    """A candidate as an annotator sees it."""

    position: int
    label: str
    text: str | None
    conversation: Sequence[Mapping[str, str]] | None


@dataclass(frozen=True, slots=True)
class ShownAssignment:
    """An assignment with what it shows. aspects: those of its campaign."""

    row: Assignment
    shown: AssignmentContent
    aspects: Sequence[Aspect]


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block of a campaign. state: of the campaign, or of all that were joined where no campaign has a block."""

    state: str
    campaign: Campaign | None = None
    assignments: Sequence[ShownAssignment] = ()
    wait: Wait | None = None


def block_of(rows: Sequence[Assignment], campaign: Campaign, wait: Wait | None = None) -> ShownBlock:
    """Return the block of these assignments, all of the campaign."""
    aspects = aspects_of(campaign.pk) if rows else []
    shown = contents_shown(rows)
    return ShownBlock(campaign.state, campaign, [ShownAssignment(row, shown[row.pk], aspects) for row in rows], wait)


def block_of_work(found: OfferedBlock) -> ShownBlock:
    """Return the block that was found among all campaigns of an annotator."""
    if found.campaign is None:
        return ShownBlock(found.state, wait=found.wait)
    return block_of(found.block, found.campaign)


class TurnSerializer(StoredSerializer):
    """One message of a conversation."""

    speaker = s.CharField(help_text="user or chatbot")
    text = s.CharField()


class ContextSerializer(ResponseSerializer):
    """The prompt that the candidates reply to."""

    prompt = s.CharField()
    category = s.CharField(allow_blank=True)
    turns = TurnSerializer(many=True, allow_null=True)


class CandidateSerializer(ResponseSerializer):
    """One of the replies, or of the whole conversations, to judge."""

    position = s.IntegerField()
    label = s.CharField(help_text="A to H")  # type: ignore[assignment]  # also an attribute of every field
    text = s.CharField(allow_null=True, allow_blank=True, help_text="null if unknown")
    conversation = TurnSerializer(
        many=True, allow_null=True, help_text="messages of the conversation, if whole conversations are judged"
    )


class AspectSerializer(ResponseSerializer):
    """A question of the campaign's rubric."""

    key = s.CharField()
    question = s.CharField()
    kind = s.CharField(help_text="choose_one: two candidates are compared; rating or label: one is judged")
    choices = s.ListField(child=s.CharField(), help_text="of A, tie, B, both_bad; or all ratings or labels")
    one_label = s.BooleanField(help_text="whether an answer has exactly one label")


class AssignmentSerializer(ResponseSerializer):
    """An assignment, as shown to its annotator. It never names the chatbots."""

    id = s.UUIDField(source="row.public_id")
    lease_until = s.DateTimeField(source="row.lease_until", allow_null=True)
    context = ContextSerializer(source="shown")  # type: ignore[assignment]  # also an attribute of every field
    candidates = CandidateSerializer(many=True)
    aspects = AspectSerializer(many=True)

    def get_candidates(self, row: ShownAssignment) -> list[ShownCandidate]:
        shown = row.shown
        transcripts = shown.transcripts or [None] * len(shown.texts)
        return [
            ShownCandidate(position, LABELS[position], text, transcript or None)
            for position, (text, transcript) in enumerate(zip(shown.texts, transcripts, strict=True))
        ]


@extend_schema_serializer(component_name="Waiting")
class CampaignStatusSerializer(ResponseSerializer):
    """The state of the campaign, and the reason for an empty block."""

    state = s.CharField(help_text="of the campaign; stopped: there will be no more assignments")
    retry_after_s = s.FloatField(help_text="delay before the next claim after an empty block")
    reason = s.ChoiceField(
        choices=[wait.value for wait in Wait], allow_null=True, help_text="reason for an empty block; null with a block"
    )
    hint = s.CharField(allow_blank=True, help_text="what to do about an empty block")

    def get_retry_after_s(self, row: ShownBlock) -> float:
        return POLL_S

    def get_reason(self, row: ShownBlock) -> str | None:
        return row.wait.value if row.wait else None

    def get_hint(self, row: ShownBlock) -> str:
        return row.wait.hint if row.wait else ""


class CampaignReferenceSerializer(ResponseSerializer):
    """Which campaign a block belongs to."""

    id = s.UUIDField(
        allow_null=True, help_text="null: no campaign has a block now; state then covers all joined campaigns"
    )
    slug = s.CharField(allow_null=True)

    def get_id(self, row: ShownBlock) -> uuid.UUID | None:
        return row.campaign.public_id if row.campaign else None

    def get_slug(self, row: ShownBlock) -> str | None:
        return row.campaign.slug if row.campaign else None


@extend_schema_serializer(component_name="Whose")
class BlockCampaignSerializer(CampaignReferenceSerializer, CampaignStatusSerializer):
    """The campaign of a block, with its state."""


class BlockSerializer(ResponseSerializer):
    """A block of a campaign."""

    assignments = AssignmentSerializer(many=True)
    campaign = CampaignStatusSerializer(source="*")


class WorkSerializer(ResponseSerializer):
    """A block of one of the joined campaigns."""

    assignments = AssignmentSerializer(many=True)
    campaign = BlockCampaignSerializer(source="*")


@extend_schema_serializer(component_name="Recorded")
class JudgmentReceiptSerializer(ResponseSerializer):
    """The receipt of a judgment."""

    judgment = s.UUIDField(source="public_id")
    supersedes = s.UUIDField(allow_null=True)
    late = s.BooleanField(help_text="whether the judgment came after the end of its lease")
    counts = s.BooleanField(
        help_text="whether fits use it; false if it is late and its place was taken, or if it is above the quota"
    )
    paid = s.BooleanField(
        source="is_paid", help_text="whether it is paid; false above the quota, and where nothing is paid"
    )
    answered_at = s.DateTimeField(allow_null=True)

    def get_supersedes(self, row: Judgment) -> uuid.UUID | None:
        return row.supersedes.public_id if row.supersedes else None


@extend_schema_serializer(component_name="Skipped")
class SkipReceiptSerializer(ResponseSerializer):
    """The receipt of a skip."""

    skipped = s.UUIDField()


@extend_schema_serializer(component_name="Renewed")
class LeaseSerializer(ResponseSerializer):
    """The new end of a lease."""

    lease_until = s.DateTimeField()


@extend_schema_serializer(component_name="Returned")
class ReturnReceiptSerializer(ResponseSerializer):
    """The receipt of returned assignments."""

    returned = s.IntegerField()
