"""Submissions, their reports and results, and the settings of a campaign."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers as s

from evalsite.api.responses.base import ResponseSerializer, StoredSerializer, cursor
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.submissions.checks import report_kept
from evalsite.submissions.events import next_step
from evalsite.submissions.models import Submission, SubmissionEvent
from evalsite.submissions.results import results_of

STATES = "received, checked, refused, waiting, joined, placed or withdrawn"


class SubmittedRowSerializer(StoredSerializer):
    """A refused row of a submitted file."""

    line = s.IntegerField(help_text="first line of the row in the file, from 1")
    prompt_id = s.CharField(allow_blank=True)
    fate = s.ChoiceField(choices=["refused"])
    problem = s.CharField(help_text="reason for the refusal")


class SubmissionReportSerializer(StoredSerializer):
    """The report on the replies of a submission. For an endpoint it has only counts, once its replies are stored."""

    prompts = s.IntegerField(required=False, help_text="of the campaign")
    add = s.IntegerField(required=False, help_text="accepted replies")
    refused = s.IntegerField(required=False, help_text="refused rows")
    without_reply = s.IntegerField(required=False, help_text="prompts without a reply")
    rows = SubmittedRowSerializer(many=True, required=False, help_text="refused rows, up to 1,000")
    missing = s.ListField(child=s.CharField(), required=False, help_text="prompts without a reply, up to 1,000")
    passed_over = s.ListField(child=s.CharField(), required=False, help_text="ignored columns")


class SubmissionEventSerializer(ResponseSerializer):
    """A change of a submission's state."""

    state = s.CharField(help_text=STATES)
    at = s.DateTimeField()
    reason = s.CharField(source="reason_text", allow_blank=True)


class CardSerializer(ResponseSerializer):
    """The card of a chatbot, written by its submitter."""

    link = s.CharField(allow_blank=True)
    licence = s.CharField(allow_blank=True)
    price = s.CharField(allow_blank=True)
    base_model = s.CharField(allow_blank=True)
    description = s.CharField(allow_blank=True)

    def get_price(self, row: Any) -> str:
        return getattr(row, "price", "")  # Older cards have none.


class SubmissionSerializer(ResponseSerializer):
    """A submission, with every change of its state."""

    id = s.UUIDField(source="public_id", allow_null=True, help_text="null if the submission was only checked")
    campaign = s.CharField(source="campaign.slug")
    organisation = s.CharField(source="organisation.slug")
    name = s.CharField()
    version = s.CharField(help_text="the label of the reply")
    kind = s.CharField(help_text="file or endpoint")
    state = s.CharField(help_text=f"{STATES}; of a check: the state that it would have")
    reason = s.CharField(allow_blank=True, help_text="reason of the state")
    next_step = s.CharField()
    card = CardSerializer()
    report = SubmissionReportSerializer()
    events = SubmissionEventSerializer(many=True)
    rank = s.IntegerField(allow_null=True)
    ability = s.FloatField(allow_null=True)
    lower = s.FloatField(allow_null=True)
    upper = s.FloatField(allow_null=True)
    judgments = s.IntegerField(help_text="number of judgments that count for the board")
    judgments_to_go = s.IntegerField(help_text="number of judgments until the chatbot is placed")
    created_at = s.DateTimeField(allow_null=True)

    @classmethod
    def of(cls, submission: Submission) -> dict[str, Any]:
        """Return the body of an answer about one submission."""
        return cls.render(_shown(submission, list(submission.events.all())))

    @classmethod
    def checked(cls, submission: Submission, report: ReplyReport | None) -> dict[str, Any]:
        """Return the body of an answer about a submission that was only checked."""
        submission.report = report_kept(report) if report else {}
        return {**cls.render(_shown(submission, [])), "id": None, "created_at": None}


def _shown(submission: Submission, events: Sequence[SubmissionEvent]) -> dict[str, Any]:
    results = results_of(submission)
    row: Any = results.row or {}
    places = {name: row.get(name) for name in ("rank", "ability", "lower", "upper")}
    return {
        **{name: getattr(submission, name) for name in ("public_id", "campaign", "organisation", "name", "kind")},
        **{name: getattr(submission, name) for name in ("state", "card", "report", "created_at")},
        **places,
        "version": submission.label,
        "reason_text": "",
        "reason": events[-1].reason_text if events else "",
        "next_step": next_step(submission),
        "events": events,
        "judgments": results.judgments,
        "judgments_to_go": results.to_go,
    }


@extend_schema_serializer(component_name="Submissions")
class SubmissionPageSerializer(ResponseSerializer):
    """One page of the list of submissions."""

    results = SubmissionSerializer(many=True)
    next = cursor()

    def get_results(self, page: Any) -> list[dict[str, Any]]:
        return [_shown(one, list(one.events.all())) for one in page.results]


class OpponentResultSerializer(ResponseSerializer):
    """Votes against one other version on a prompt."""

    name = s.CharField()
    version = s.CharField(source="label")
    won = s.IntegerField()
    tied = s.IntegerField()
    lost = s.IntegerField()
    reply = s.CharField(allow_blank=True, help_text="blank unless the campaign releases replies and collects no more")


class PromptResultSerializer(ResponseSerializer):
    """Votes about a submitted chatbot on one prompt."""

    prompt_id = s.CharField(source="key")
    prompt = s.CharField(allow_blank=True)
    reply = s.CharField(allow_blank=True, help_text="reply of the submitted chatbot")
    won = s.IntegerField()
    tied = s.IntegerField()
    lost = s.IntegerField()
    opponents = OpponentResultSerializer(many=True)


class PromptResultsSerializer(ResponseSerializer):
    """The results of a submission by prompt. Only its organisation and the campaign's moderators see them."""

    results = PromptResultSerializer(many=True, help_text="results by prompt, lost prompts first")


class SubmissionSettingsSerializer(ResponseSerializer):
    """The submissions that a campaign accepts, and whether it is open for them."""

    admission = s.CharField(help_text="closed, moderated or open")
    takes = s.CharField(help_text="file, endpoint or both")
    organisations = s.ListField(child=s.CharField(), help_text="slugs; empty: all organisations")
    versions_per_week = s.IntegerField(allow_null=True)
    deadline = s.DateTimeField(allow_null=True)
    licence_note = s.CharField(allow_blank=True)
    terms = s.CharField(allow_blank=True)
    prompts_downloadable = s.BooleanField()
    standing = s.BooleanField(help_text="whether the board stands: after a stop, the campaign waits for new chatbots")
    newcomer_budget = s.IntegerField(allow_null=True, help_text="judgments for each newcomer")
    accepts_now = s.BooleanField()
    closed_reason = s.CharField(allow_blank=True, help_text="reason why submissions are closed")
    most_megabytes = s.IntegerField(help_text="maximum size of a decompressed file")
    most_rows = s.IntegerField(help_text="maximum number of rows in a file")
