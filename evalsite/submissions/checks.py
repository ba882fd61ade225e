"""Checks of a submission before anything is written. The service makes them again under its lock."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.core.confusable_names import skeleton
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, TooMany
from evalsite.core.names import lookalike_check
from evalsite.submissions.cards import ChatbotCard
from evalsite.submissions.models import Submission, SubmissionSettings
from evalsite.submissions.selectors import (
    WEEK,
    closed_reason,
    may_act_for,
    names_taken,
    organisations_allowed,
    versions_this_week,
)

MOST_LISTED = 1000


class TooManyVersions(TooMany):
    code = "too_many_versions"


@dataclass(frozen=True, slots=True)
class Submitter:
    """Who submits, and for which organisation."""

    user: User
    organisation: Organisation


def open_check(campaign: Campaign, settings: SubmissionSettings, now: datetime) -> None:
    """Raise Conflict if the campaign accepts nothing now."""
    code, why = closed_reason(campaign, settings, now)
    if code:
        raise Conflict(why, hint=_("Look for another board that accepts submissions."), code=code)


def kind_check(settings: SubmissionSettings, kind: str) -> None:
    """Raise InvalidInput for a file where the campaign takes endpoints alone, and the other way round."""
    if kind == Submission.Kind.FILE and not settings.takes_files:
        raise InvalidInput(
            _("This campaign takes endpoints, not files."), hint=_("Submit an endpoint."), field="file", code="kind"
        )
    if kind == Submission.Kind.ENDPOINT and not settings.takes_endpoints:
        raise InvalidInput(
            _("This campaign takes files of replies, not endpoints."),
            hint=_("Submit a file."),
            field="endpoint",
            code="kind",
        )


def submitter_check(settings: SubmissionSettings, who: Submitter) -> None:
    """Raise NotAllowed unless this person may submit for the organisation, and the organisation to the campaign."""
    if not may_act_for(who.organisation, who.user):
        raise NotAllowed(
            _("You may not submit chatbots of %(name)s.") % {"name": who.organisation.name},
            hint=_("Its owners and managers may."),
            code="not_submitter",
        )
    allowed = organisations_allowed(settings)
    if allowed and who.organisation not in allowed:
        raise NotAllowed(
            _("This campaign accepts submissions of certain organisations only."),
            hint=_("Submit for one of them, or ask the campaign's owner."),
            code="organisation_not_allowed",
        )


def terms_check(settings: SubmissionSettings, accepted: bool) -> None:
    if settings.terms.strip() and not accepted:
        raise InvalidInput(
            _("The terms of this campaign are not accepted."),
            hint=_("Read them, and accept them with the submission."),
            field="accept_terms",
            code="terms_not_accepted",
        )


def week_check(campaign: Campaign, settings: SubmissionSettings, organisation: Organisation, now: datetime) -> None:
    """Raise TooManyVersions if the organisation has submitted its versions of this week."""
    most = settings.versions_per_week
    if most is None:
        return
    given = list(versions_this_week(campaign, organisation, now).values_list("created_at", flat=True))
    if len(given) < most:
        return
    again = given[len(given) - most] + WEEK
    raise TooManyVersions(
        _("This campaign accepts %(most)s versions of an organisation in seven days.") % {"most": most},
        hint=_("The next one is accepted from %(when)s UTC on.") % {"when": date_format(again, "DATETIME_FORMAT")},
        retry_after_s=max(1.0, (again - now).total_seconds()),
    )


def name_check_taken(campaign: Campaign, organisation: Organisation, name: str) -> None:
    """Raise Conflict for a name that is taken in the campaign, or looks like one that is.

    The organisation's own chatbot of this very name is the same chatbot: it gets a new version.
    """
    others = names_taken(campaign, besides=organisation)
    if name in others or skeleton(name) in map(skeleton, others):
        same = next(other for other in others if skeleton(other) == skeleton(name))
        said = {"name": ascii(name) if name != same else name, "other": ascii(same) if name != same else same}
        raise Conflict(
            _("%(name)s looks like %(other)s, a chatbot of another organisation in this campaign.") % said
            if name != same
            else _("Another organisation has a chatbot called %(name)s in this campaign.") % said,
            hint=_("Give the chatbot a name that readers can tell from it."),
            field="name",
            code="name_taken",
        )
    own = [one for one in names_taken(campaign) if one != name]
    lookalike_check(name, own, field="name")


def label_for(campaign: Campaign, organisation: Organisation, card: ChatbotCard) -> str:
    """Return the label of the version: the given one, or the lowest free number. Raises Conflict for a taken one."""
    chatbot = Chatbot.objects.filter(organisation=organisation, name=card.name).first()
    taken = set(chatbot.versions.values_list("label", flat=True)) if chatbot else set()
    under_way = Submission.objects.filter(organisation=organisation, name=card.name)
    taken |= set(under_way.exclude(state=Submission.State.REFUSED).values_list("label", flat=True))
    if card.label in taken:
        raise Conflict(
            _("%(name)s has a version %(label)s already.") % {"name": card.name, "label": repr(card.label)},
            hint=_("Give it another label."),
            field="label",
            code="version_taken",
        )
    return card.label or next(str(n) for n in range(1, len(taken) + 2) if str(n) not in taken)


def duplicate_check(campaign: Campaign, organisation: Organisation, sha256: str) -> None:
    """Raise Conflict if the organisation has submitted this file to the campaign before, and it was not refused."""
    same = Submission.objects.filter(campaign=campaign, organisation=organisation, sha256=sha256)
    found = same.exclude(state__in=[Submission.State.REFUSED, Submission.State.WITHDRAWN]).first()
    if found is not None:
        raise Conflict(
            _("This file was submitted already, as %(name)s %(label)s.") % {"name": found.name, "label": found.label},
            hint=_("Look at that submission, or submit other replies."),
            field="file",
            code="duplicate",
        )


def content_sha256(report: ReplyReport) -> str:
    """Return a hash of the replies by prompt, whatever the format and the order of their file."""
    rows = sorted((row.key, row.sample, row.text) for row in report.rows if row.fate == "add")
    return hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()


def report_kept(report: ReplyReport) -> dict[str, Any]:
    """Return the report as it is stored: counts, refused rows and prompts without a reply, up to 1,000 each."""
    refused = report.refused
    return {
        "prompts": report.prompts,
        "add": report.count("add"),
        "refused": len(refused),
        "without_reply": len(report.missing),
        "rows": [
            {"line": row.line, "prompt_id": row.key, "fate": row.fate, "problem": row.problem}
            for row in refused[:MOST_LISTED]
        ],
        "missing": list(report.missing[:MOST_LISTED]),
        "passed_over": [name[:200] for name in report.passed_over[:100]],
    }
