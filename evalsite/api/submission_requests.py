"""Bodies and queries of requests about submissions."""

from rest_framework import serializers

from evalsite.api.endpoint_requests import EndpointChangeRequest
from evalsite.api.fields import MomentField, StrictBooleanField, StrictCharField, StrictIntegerField, StrictSerializer
from evalsite.api.requests import BOOLEANS
from evalsite.submissions.cards import LONGEST
from evalsite.submissions.models import SubmissionSettings
from evalsite.submissions.prompt_files import TYPES


def _card(field: str, about: str) -> StrictCharField:
    return StrictCharField(max_length=LONGEST[field], required=False, allow_blank=True, help_text=about)


class SubmissionFormRequest(StrictSerializer):
    """A chatbot and its replies, as fields of a form: either `file` or `endpoint`."""

    file = serializers.FileField(
        required=False, help_text="replies: CSV, JSON or JSONL; plain, in gzip, or alone in a zip archive"
    )
    readme = serializers.FileField(required=False, help_text="a model card, README.md, for the fields that are blank")
    endpoint = StrictCharField(max_length=100_000, required=False, help_text="settings of an endpoint, as JSON")
    secret = StrictCharField(max_length=1900, required=False, trim_whitespace=False, help_text="of the endpoint")
    name = _card("name", "that the board shows; the same name again is a new version")
    label = _card("label", "label of the version; default: the next number")  # type: ignore[assignment]
    link = _card("link", "to more about the chatbot")
    licence = _card("licence", "of the chatbot")
    price = _card("price", "of its use, in words")
    base_model = _card("base_model", "that it was made from")
    description = _card("description", "what readers of the board should know")
    organisation = StrictCharField(max_length=80, required=False, help_text="slug; default: your own organisation")
    encoding = StrictCharField(max_length=40, required=False, help_text="encoding of the file; default: UTF-8")
    accept_terms = serializers.ChoiceField(BOOLEANS, default="false")
    mails = serializers.ChoiceField(BOOLEANS, default="false", help_text="send a mail about each change")
    dry_run = serializers.ChoiceField(BOOLEANS, default="false", help_text="check everything and store nothing")


class SubmittedEndpointRequest(EndpointChangeRequest):
    """The settings of a submitted endpoint."""

    adapter = serializers.ChoiceField(choices=["openai", "anthropic", "http_json"])
    url = StrictCharField(max_length=2000)


class WithdrawalRequest(StrictSerializer):
    """The reason for a withdrawal. Readers of the board see it."""

    reason = StrictCharField(max_length=300, required=False, allow_blank=True)


class RefusalRequest(StrictSerializer):
    """The reason for a refusal. The submitter sees it."""

    reason = StrictCharField(max_length=1000)


class PromptsQuery(StrictSerializer):
    """The format of the file."""

    form = serializers.ChoiceField(list(TYPES), default="csv")


class SubmissionSettingsRequest(StrictSerializer):
    """The submissions that a campaign accepts. Absent settings get their defaults."""

    admission = serializers.ChoiceField(SubmissionSettings.Admission.values)
    takes = serializers.ChoiceField(SubmissionSettings.Takes.values, default="both")
    organisations = serializers.ListField(
        child=StrictCharField(max_length=80), default=list, max_length=200, help_text="slugs; empty: all organisations"
    )
    versions_per_week = StrictIntegerField(min_value=1, max_value=1000, default=None, allow_null=True)
    deadline = MomentField(default=None, allow_null=True, help_text="such as 2026-11-24T12:00:00Z")
    licence_note = StrictCharField(max_length=20_000, default="", allow_blank=True)
    terms = StrictCharField(max_length=20_000, default="", allow_blank=True)
    prompts_downloadable = StrictBooleanField(default=False)
    standing = StrictBooleanField(required=False, help_text="whether the board stands; if absent, no change")
    newcomer_budget = StrictIntegerField(
        min_value=1,
        max_value=2_000_000_000,
        required=False,
        allow_null=True,
        help_text="judgments for each newcomer of a standing board; if absent, no change",
    )
