"""Submissions in the console: the queue of a campaign, a preview with flags, and what the campaign accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.models import Campaign
from evalsite.console.page_frame import CampaignContext
from evalsite.submissions.models import Submission, SubmissionSettings
from evalsite.submissions.moderation import preview_of, submission_flags
from evalsite.submissions.selectors import closed_reason, settings_of, with_events
from evalsite.submissions.services import Accepted, accepted_of

LISTED = 100
ORDER = (Submission.State.WAITING, Submission.State.RECEIVED, Submission.State.CHECKED)


class SubmissionsForm(forms.Form):
    """What a campaign accepts from submitters."""

    admission = forms.ChoiceField(label=_("Who submits chatbots"), choices=SubmissionSettings.Admission.choices)
    takes = forms.ChoiceField(label=_("Form of a submission"), choices=SubmissionSettings.Takes.choices)
    organisations = forms.CharField(
        label=_("Organisations that may submit"),
        help_text=_("Their address names (slugs), one a line. Empty: every organisation of the site."),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    versions_per_week = forms.IntegerField(
        label=_("Versions of one organisation in seven days"),
        help_text=_("Empty: no limit."),
        required=False,
        min_value=1,
        max_value=1000,
    )
    deadline = forms.DateTimeField(
        label=_("Deadline for submissions (UTC)"),
        help_text=_("Empty: none."),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    prompts_downloadable = forms.BooleanField(
        label=_("Submitters may download the prompts"),
        help_text=_("Without them nobody can prepare a file. An endpoint gets them one by one."),
        required=False,
    )
    licence_note = forms.CharField(
        label=_("Note on licences"),
        help_text=_("What submitters should know of rights in their replies."),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    terms = forms.CharField(
        label=_("Terms"),
        help_text=_("A submitter accepts them with each submission. Empty: none."),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 4}),
    )

    def accepted(self) -> Accepted:
        """Return the values of a valid form. Raises InvalidInput."""
        return accepted_from(self.cleaned_data)


def accepted_from(cleaned: Mapping[str, Any]) -> Accepted:
    """Return what the fields say. Organisations are separated by blanks, commas or lines."""
    slugs = tuple(cleaned["organisations"].replace(",", " ").split())
    return Accepted(**{**cleaned, "organisations": slugs})


def accepted_initial(campaign: Campaign) -> dict[str, Any]:
    """Return the current values of the form."""
    found = accepted_of(settings_of(campaign))
    names = [name for name in SubmissionsForm.base_fields if name != "organisations"]
    return {**{name: getattr(found, name) for name in names}, "organisations": "\n".join(found.organisations)}


def queue_context(desk: CampaignContext) -> dict[str, Any]:
    """Return the submissions of a campaign, waiting ones first, with the flags of those."""
    rows = with_events(Submission.objects.filter(campaign=desk.campaign).order_by("-pk"))
    shown = sorted(rows[:LISTED], key=lambda one: (ORDER.index(one.state) if one.state in ORDER else 9, -one.pk))
    _code, why = closed_reason(desk.campaign, settings_of(desk.campaign), timezone.now())
    return {
        "rows": [_row(one, desk) for one in shown],
        "waiting": sum(one.state == Submission.State.WAITING for one in shown),
        "closed": why,
    }


def _row(submission: Submission, desk: CampaignContext) -> dict[str, Any]:
    waits = submission.state == Submission.State.WAITING
    return {
        "row": submission,
        "state": submission.get_state_display(),
        "url": desk.url("console_submission", submission.public_id),
        "flags": submission_flags(submission) if waits else [],
        "reason": next((one.reason_text for one in reversed(submission.events.all()) if one.reason), ""),
    }


def review_context(submission: Submission, start: int) -> dict[str, Any]:
    """Return the preview of one submission."""
    preview = preview_of(submission, start=start)
    following = start + len(preview.replies)
    return {
        "submission": submission,
        "state": submission.get_state_display(),
        "preview": preview,
        "more": f"from={following}" if following < preview.total else "",
        "events": [(one, one.get_state_display(), one.reason_text) for one in submission.events.all()],
        "waits": submission.state == Submission.State.WAITING,
    }
