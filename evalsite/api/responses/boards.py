"""Boards and their snapshots."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, StoredSerializer, cursor
from evalsite.boards.live_reports import LiveReportContent
from evalsite.boards.models import AnalysisPlan, Decision
from evalsite.boards.selectors import BoardState, style_result
from evalsite.boards.slice_age import SliceAge
from evalsite.boards.withdrawn_rows import unranked_rows
from evalsite.core.reasons import reason_code
from evalsite.submissions.board_cards import BoardCard, board_cards


@extend_schema_serializer(component_name="BoardListed")
class BoardSummarySerializer(ResponseSerializer):
    """A board in a list."""

    id = s.UUIDField(source="public_id")
    slug = s.CharField()
    name = s.CharField()
    category = s.CharField(allow_blank=True)


class BoardRowSerializer(StoredSerializer):
    """Ability, SE and 95 % bounds in logits, relative to the mean of the group."""

    chatbot = s.UUIDField()
    name = s.CharField()
    organisation = s.CharField()
    kind = s.CharField()
    rank = s.IntegerField()
    rank_lower = s.IntegerField()
    rank_upper = s.IntegerField()
    ability = s.FloatField()
    se = s.FloatField()
    lower = s.FloatField()
    upper = s.FloatField()
    judgments = s.IntegerField()
    group = s.IntegerField(help_text="chatbots of two groups were never compared, not even indirectly")
    preliminary = s.BooleanField()
    # Snapshots never change: those made before one of these was added are without it.
    version = s.UUIDField(required=False)
    version_label = s.CharField(required=False)
    rank_class = s.IntegerField(
        required=False,
        help_text="from 1 in the group; a class holds chatbots that are not distinguished from its strongest one",
    )
    win_rate = s.FloatField(
        required=False, allow_null=True, help_text="wins and half of the ties, as a share of judgments and known ties"
    )
    known_ties = s.IntegerField(
        required=False,
        help_text="prompts to which another chatbot gave the same reply; they are not shown to annotators",
    )
    tier = s.IntegerField(
        required=False, allow_null=True, help_text="from 1 for the strongest; null where groups have separate scales"
    )
    submitted_at = s.DateTimeField(required=False, help_text="of submitted chatbots, as the next two; not in snapshots")
    licence = s.CharField(required=False, allow_blank=True)
    price = s.CharField(required=False, allow_blank=True)


class WithdrawnRowSerializer(StoredSerializer):
    """A withdrawn chatbot. It has no rank, but its judgments still count."""

    chatbot = s.UUIDField()
    name = s.CharField()
    organisation = s.CharField()
    kind = s.CharField()
    version = s.UUIDField()
    version_label = s.CharField()
    ability = s.FloatField()
    se = s.FloatField()
    lower = s.FloatField()
    upper = s.FloatField()
    judgments = s.IntegerField()
    group = s.IntegerField()
    reason = s.CharField(allow_blank=True)


class SnapshotSerializer(ResponseSerializer):
    """A snapshot of a board, without its rows."""

    id = s.UUIDField(source="public_id")
    number = s.IntegerField()
    created_at = s.DateTimeField()
    judgments = s.IntegerField()
    converged = s.BooleanField()
    looks = s.IntegerField(
        allow_null=True,
        help_text="for which ranks and classes are tested, once the campaign has stopped; null allows for any number",
    )


@extend_schema_serializer(component_name="SnapshotWhole")
class SnapshotDetailSerializer(SnapshotSerializer):
    """A snapshot with its rows and its origin: the same input, engine and seed give the same snapshot."""

    input_sha256 = s.CharField()
    engine = s.CharField()
    seed = s.IntegerField()
    annotators = s.IntegerField()
    chatbots = BoardRowSerializer(source="rows", many=True)


class DecisionSerializer(ResponseSerializer):
    """The decision whether to stop, and its reason."""

    stop = s.BooleanField()
    reason = s.CharField()
    reason_code = s.CharField(
        allow_blank=True, help_text="of the reason; empty where it was stored before there were codes"
    )
    evidence = s.DictField(child=s.FloatField())

    def get_reason_code(self, row: Decision) -> str:
        return reason_code(row.reason_data)


class SliceSerializer(ResponseSerializer):
    """The filter of the board."""

    by = s.CharField(source="slice.by", help_text="aspect, category, kind, mode or style")
    value = s.CharField(source="slice.value")
    judgments = s.IntegerField(
        source="slice.judgments", help_text="judgments that match the filter; below 30 there is no ranking"
    )
    trouble = s.CharField(source="slice.trouble", help_text="reason why the last fit failed; empty if it succeeded")
    age = s.ChoiceField(
        choices=[one.value for one in SliceAge],
        help_text="whether the snapshot is of the same state as that of the whole board, or of an earlier or later one",
    )


class StyleEffectSerializer(ResponseSerializer):
    """The effect of a typical difference in a style covariate, in logits, with its 95 % interval."""

    name = s.CharField()
    effect = s.FloatField()
    se = s.FloatField()
    lower = s.FloatField()
    upper = s.FloatField()


@extend_schema_serializer(component_name="BoardStyle")
class StyleSerializer(ResponseSerializer):
    """The effects of style, and the ranks on the board as judged by version."""

    effects = StyleEffectSerializer(many=True)
    ranks_as_judged = s.DictField(child=s.IntegerField())


class BoardSerializer(ResponseSerializer):
    """A board with its uncertainty: 95 % intervals, in logits relative to the mean of the group."""

    board = s.CharField(source="board.slug")
    name = s.CharField(source="board.name")
    question = s.CharField(source="aspect.question")
    state = s.CharField(allow_null=True)
    judgments = s.IntegerField(source="tally.judgments")
    annotators = s.IntegerField(source="tally.annotators")
    snapshot = SnapshotSerializer(allow_null=True)
    decision = DecisionSerializer(allow_null=True)
    filter = SliceSerializer(allow_null=True)
    equal_style = StyleSerializer(allow_null=True, help_text="of a board at equal style (filter style=equal)")
    chatbots = BoardRowSerializer(many=True)
    withdrawn = WithdrawnRowSerializer(many=True, help_text="chatbots that no longer take part and have no rank")

    def get_state(self, row: BoardState) -> str | None:
        return row.campaign.state if row.campaign else None

    def get_filter(self, row: BoardState) -> BoardState | None:
        return row if row.slice else None

    def get_equal_style(self, row: BoardState) -> Any:
        found = style_result(row)
        return None if found is None else StyleSerializer(found).data

    def get_chatbots(self, row: BoardState) -> Any:
        cards = board_cards(row.board.campaigns.all()) if row.ranked else {}
        return [one | _card(cards.get(one.get("version", ""))) for one in row.ranked]

    def get_withdrawn(self, row: BoardState) -> Any:
        named = WithdrawnRowSerializer().fields.keys()
        rows: list[Mapping[str, Any]] = [{**one, "reason": one["withdrawn"]} for one in unranked_rows(row.rows)]
        return [{name: value for name, value in one.items() if name in named} for one in rows]


def _card(card: BoardCard | None) -> dict[str, str]:
    if card is None:
        return {}
    return {"submitted_at": card.submitted_at.isoformat(), "licence": card.licence, "price": card.price}


@extend_schema_serializer(component_name="Boards")
class BoardPageSerializer(ResponseSerializer):
    """One page of the list of boards."""

    results = BoardSummarySerializer(many=True)
    next = cursor()


@extend_schema_serializer(component_name="Snapshots")
class SnapshotPageSerializer(ResponseSerializer):
    """One page of the list of snapshots."""

    results = SnapshotSerializer(many=True)
    next = cursor()


class AnalysisPlanSerializer(ResponseSerializer):
    """The analysis plan, as frozen at the launch. `sha256` is of the content as JSON with sorted keys and no spaces."""

    content = s.JSONField()
    sha256 = s.CharField()
    frozen_at = s.DateTimeField()


class LiveReportSerializer(ResponseSerializer):
    """The statistics of a live campaign. `settings` has the form of `manage.py selection_report --json`, with more."""

    campaign = s.UUIDField(source="campaign.public_id")
    computed_at = s.DateTimeField(allow_null=True, help_text="null before the first report")
    plan = AnalysisPlanSerializer(allow_null=True, help_text="null if the launch froze none")
    samples = s.JSONField(help_text="by setting: dialogues, turns, mean turns before and after cleaning")
    settings = s.JSONField(help_text="by setting: win rates, ties, tests by name, and `clustered` by conversation")
    abilities = s.DictField(allow_null=True, help_text="from the selections, in logits; null if not identified")
    failures = s.JSONField(help_text="by chatbot: replies, failed ones, and the rate with its interval")
    ratings = s.JSONField(help_text="by setting: mean rating at the end of conversations")
    written = s.JSONField(help_text="by setting: turns in which annotators wrote a reply")
    labels = s.ListField(
        child=s.DictField(),
        help_text="by further question: shares of labels or the mean rating of each chatbot, clustered by conversation",
    )
    third_parties = s.ListField(
        child=s.DictField(),
        help_text="by sample: judgments of third parties, and their agreement with the live choices",
    )
    modes = s.ListField(
        child=s.DictField(),
        help_text="by static campaign with the same chatbots: the test that static and live judgments agree",
    )
    arms = s.JSONField(help_text="by campaign: `settings` of the other arms of its study")

    def get_plan(self, view: LiveReportContent) -> AnalysisPlan | None:
        """Return the plan once it is frozen."""
        frozen = view.plan is not None and view.plan.frozen_at is not None
        return view.plan if frozen else None

    def get_arms(self, view: LiveReportContent) -> dict[str, Any]:
        """Return the settings of the other arms."""
        return {str(arm.campaign.public_id): arm.content.get("settings", {}) for arm in view.arms}

    def get_samples(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("samples", {})

    def get_settings(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("settings", {})

    def get_abilities(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("abilities")

    def get_failures(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("failures", {})

    def get_third_parties(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("third_parties", [])

    def get_modes(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("modes", [])

    def get_ratings(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("ratings", {})

    def get_written(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("written", {})

    def get_labels(self, view: LiveReportContent) -> Any:
        """Return this part of the report."""
        return (view.content or {}).get("labels", [])
