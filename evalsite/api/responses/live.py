"""Studies, and reports of replies in live conversations."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, cursor


class StudyArmSerializer(ResponseSerializer):
    """An arm of a study: a campaign and its progress."""

    id = s.UUIDField(source="campaign.public_id", help_text="of the campaign")
    slug = s.CharField(source="campaign.slug")
    name = s.CharField(source="campaign.name")
    state = s.CharField(source="campaign.state", help_text="draft, pilot, running, paused or stopped")
    setting = s.CharField(help_text="soba, sata_random or sata_written")
    repetition = s.IntegerField()
    chatbots = s.ListField(child=s.CharField())
    annotators = s.IntegerField(help_text="number of annotators in this arm")
    conversations = s.IntegerField()
    turns = s.IntegerField(help_text="number of judged turns that count")
    planned_turns = s.IntegerField(source="planned", allow_null=True, help_text="number of turns in the analysis plan")


class StudySerializer(ResponseSerializer):
    """A study with the arms that you may see."""

    id = s.UUIDField(source="row.public_id")
    name = s.CharField(source="row.name")
    organisation = s.CharField(source="row.organisation.name")
    created_at = s.DateTimeField(source="row.created_at")
    address = s.CharField(help_text="address for annotators, who are allocated to an arm at random")
    arms = StudyArmSerializer(many=True)


@extend_schema_serializer(component_name="Studies")
class StudyPageSerializer(ResponseSerializer):
    """One page of the list of studies."""

    results = StudySerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="ReportedReply")
class ReportSerializer(ResponseSerializer):
    """An annotator's report of a reply."""

    id = s.UUIDField(source="row.public_id")
    entrant = s.UUIDField(source="row.reply.entrant.public_id")
    chatbot = s.CharField()
    version = s.CharField()
    reason = s.CharField(source="row.reason", help_text="harmful, private, identity, broken or other")
    note = s.CharField(source="row.note", allow_blank=True)
    message = s.CharField(allow_blank=True, help_text="message of the annotator; empty after an erasure")
    reply = s.CharField(source="text", allow_blank=True, help_text="empty after an erasure")
    outcome = s.CharField(source="row.outcome", help_text="open, upheld or dismissed")
    reported_at = s.DateTimeField(source="row.reported_at")
    settled_at = s.DateTimeField(source="row.settled_at", allow_null=True)
    chatbot_paused = s.BooleanField(source="paused", help_text="whether the chatbot is paused in this campaign")


@extend_schema_serializer(component_name="ReportedReplies")
class ReportPageSerializer(ResponseSerializer):
    """One page of the list of reports."""

    results = ReportSerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="LiveChatbot")
class LiveChatbotSerializer(ResponseSerializer):
    """A chatbot of a live campaign after a pause or resume."""

    entrant = s.UUIDField(source="public_id")
    name = s.CharField()
    paused = s.BooleanField(help_text="whether the chatbot is paused in this campaign")
