"""Campaigns, their chatbots, prompts and gold items."""

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.assignments import AspectSerializer, TurnSerializer
from evalsite.api.responses.base import ResponseSerializer, cursor
from evalsite.campaigns.limits import Limits, limits_of
from evalsite.campaigns.models import Campaign, Entrant, GoldItem, LiveSettings
from evalsite.core.reasons import reason_code


class LimitsSerializer(ResponseSerializer):
    """The stopping rules of a campaign, in the order in which they are applied after every refit."""

    target_se = s.FloatField(allow_null=True, help_text="SE of every chatbot's ability, in logits")
    min_difference = s.FloatField(
        allow_null=True, help_text="instead of target_se: difference between neighbours, in logits"
    )
    alpha = s.FloatField(help_text="two-sided level of the test for min_difference")
    power = s.FloatField(help_text="power of the test for min_difference")
    budget = s.IntegerField(allow_null=True, help_text="judgments")
    deadline = s.DateTimeField(allow_null=True)


@extend_schema_serializer(component_name="LiveSettings")
class LiveSettingsSerializer(ResponseSerializer):
    """Settings of the conversations of a live campaign."""

    setting = s.CharField(help_text="soba, sata_random or sata_written")
    selection = s.CharField(help_text="soba: the best reply; sata: all appropriate replies")
    fallback = s.CharField(help_text="random or written: how a turn continues if sata selected nothing")
    chatbots_per_conversation = s.IntegerField()
    minimum_turns = s.IntegerField()
    maximum_turns = s.IntegerField(allow_null=True)
    opening_topics = s.ListField(child=s.CharField())
    count_first_turn = s.BooleanField(help_text="whether the first turn counts for the board")
    pay_per = s.CharField(help_text="turn or conversation")
    end_rating = s.BooleanField()
    end_feedback = s.BooleanField()
    data_notice = s.CharField(allow_blank=True, help_text="Markdown; where the texts go")
    conversations_per_annotator = s.IntegerField(help_text="with the same chatbots in the same setting")
    turn_deadline_s = s.IntegerField()
    idle_minutes = s.IntegerField()
    reports_to_pause = s.IntegerField()


class CampaignSerializer(ResponseSerializer):
    """A campaign."""

    id = s.UUIDField(source="public_id")
    slug = s.CharField()
    name = s.CharField()
    description = s.CharField(allow_blank=True)
    organisation = s.CharField(source="organisation.name")
    organisation_verified = s.BooleanField(help_text="whether staff of this site have confirmed its name")
    state = s.CharField(help_text="draft, pilot, running, paused or stopped")
    stop_reason = s.CharField(allow_blank=True)
    stop_reason_code = s.CharField(allow_blank=True, help_text="of the reason; empty for a person's own words")
    mode = s.CharField(help_text="static or live")
    live = LiveSettingsSerializer(allow_null=True, help_text="null for a static campaign")
    visibility = s.CharField(help_text="private, link or public")
    policy = s.CharField()
    fits_known_ties = s.BooleanField(help_text="whether fits count two equal replies as a tie")
    limits = LimitsSerializer()
    started_at = s.DateTimeField(allow_null=True)
    stopped_at = s.DateTimeField(allow_null=True)
    aspects = AspectSerializer(many=True)

    def get_live(self, row: Campaign) -> LiveSettings | None:
        return row.live if row.is_live else None

    def get_stop_reason_code(self, row: Campaign) -> str:
        return reason_code(row.stop_reason_data)

    def get_organisation_verified(self, row: Campaign) -> bool:
        return row.organisation.verified_at is not None

    def get_limits(self, row: Campaign) -> Limits:
        return limits_of(row.stopping)

    def get_aspects(self, row: Campaign) -> object:
        return row.rubric.aspects.all()


class ChatbotSerializer(ResponseSerializer):
    """A chatbot that takes part in a campaign."""

    id = s.UUIDField(source="version.chatbot.public_id")
    entrant = s.UUIDField(source="public_id", help_text="the participation of this version in this campaign")
    name = s.CharField(source="version.chatbot.name")
    organisation = s.CharField(source="version.chatbot.organisation.name")
    organisation_verified = s.BooleanField(help_text="whether staff of this site have confirmed its name")
    version = s.CharField(source="version.label")
    kind = s.CharField(source="version.kind", help_text="static or live")
    state = s.CharField(help_text="active or withdrawn")
    joined_at = s.DateTimeField()

    def get_organisation_verified(self, row: Entrant) -> bool:
        return row.version.chatbot.organisation.verified_at is not None


class PromptSerializer(ResponseSerializer):
    """A prompt. `turns` is null where its text is not known."""

    id = s.UUIDField(source="public_id")
    key = s.CharField()
    revision = s.IntegerField()
    category = s.CharField(allow_blank=True)
    turns = TurnSerializer(many=True, allow_null=True)
    origin = s.CharField(help_text="authored, import or live")


@extend_schema_serializer(component_name="Gold")
class GoldItemSerializer(ResponseSerializer):
    """A comparison with a known answer."""

    id = s.UUIDField(source="public_id")
    key = s.CharField(help_text="the id that its owner gave it")
    prompt = s.CharField(source="prompt.key")
    right = s.ListField(child=s.CharField())
    explanation = s.CharField(allow_blank=True)
    withdrawn = s.CharField(allow_null=True, help_text="the reason, if it was withdrawn")

    def get_withdrawn(self, row: GoldItem) -> str | None:
        withdrawal = getattr(row, "withdrawal", None)
        return withdrawal.reason if withdrawal else None


class GoldAddedSerializer(ResponseSerializer):
    """The ids of the gold items that were added."""

    added = s.ListField(child=s.UUIDField())


@extend_schema_serializer(component_name="Campaigns")
class CampaignPageSerializer(ResponseSerializer):
    """One page of the list of campaigns."""

    results = CampaignSerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="Chatbots")
class ChatbotPageSerializer(ResponseSerializer):
    """One page of the list of chatbots."""

    results = ChatbotSerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="Prompts")
class PromptPageSerializer(ResponseSerializer):
    """One page of the list of prompts."""

    results = PromptSerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="Golds")
class GoldItemPageSerializer(ResponseSerializer):
    """One page of the list of gold items."""

    results = GoldItemSerializer(many=True)
    next = cursor()
