"""Submit a chatbot, withdraw it, and decide what a campaign accepts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime

from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import entrant_withdraw
from evalsite.campaigns.storage_quota import set_room_check
from evalsite.chatbots.files import replies_preview
from evalsite.chatbots.models import Chatbot
from evalsite.chatbots.reply_report import ReplyReport
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.endpoints.checking import endpoint_test
from evalsite.endpoints.collecting import collection_pause
from evalsite.endpoints.models import Collection
from evalsite.endpoints.options import EndpointSettings, secret_check, settings_check
from evalsite.endpoints.registration import live_chatbot_register
from evalsite.submissions.cards import ChatbotCard, card_check
from evalsite.submissions.checks import (
    Submitter,
    content_sha256,
    duplicate_check,
    kind_check,
    label_for,
    name_check_taken,
    open_check,
    report_kept,
    submitter_check,
    terms_check,
    week_check,
)
from evalsite.submissions.events import state_change
from evalsite.submissions.joining import submission_join
from evalsite.submissions.models import Submission, SubmissionFile, SubmissionSettings
from evalsite.submissions.selectors import may_act_for, settings_of
from scheduler.reasons import Reason

LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class SentReplies:
    """A file of replies: its bytes, and its name, which says its format."""

    content: bytes
    name: str


@dataclass(frozen=True, slots=True)
class SentEndpoint:
    """An endpoint and its secret."""

    settings: EndpointSettings
    secret: str = ""


@dataclass(frozen=True, slots=True)
class NewSubmission:
    """What a submitter sends."""

    card: ChatbotCard
    source: SentReplies | SentEndpoint
    accepts_terms: bool = False
    mails: bool = False

    @property
    def kind(self) -> Submission.Kind:
        return Submission.Kind.FILE if isinstance(self.source, SentReplies) else Submission.Kind.ENDPOINT


@dataclass(frozen=True, slots=True)
class CheckedSubmission:
    """The result of a check: the label that the version gets, and the report on a file (None: an endpoint)."""

    label: str
    report: ReplyReport | None

    @property
    def accepted(self) -> bool:
        return self.report is None or not self.report.count("refused")


def submission_check(*, campaign: Campaign, who: Submitter, sent: NewSubmission) -> CheckedSubmission:
    """Return what `submission_create` would do, without writing. Raises the same errors."""
    settings = settings_of(campaign)
    report = _source_check(campaign, settings, who, sent)
    label = _place_check(campaign, settings, who, sent, report, timezone.now())
    return CheckedSubmission(label, report)


def submission_create(
    *, campaign: Campaign, who: Submitter, sent: NewSubmission
) -> tuple[Submission, CheckedSubmission]:
    """Receive a submission and check it at once.

    A file with a refused row is kept as a refused submission with its report, and counts against no limit. Everything
    else that is wrong is raised, with nothing written: a closed campaign, a late, duplicate or excess submission, a
    taken name, terms that are not accepted.
    """
    report = _source_check(campaign, settings_of(campaign), who, sent)  # outside of the transaction: it takes seconds
    try:
        with write_transaction():
            return _created(campaign, who, sent, report)
    except IntegrityError as error:
        if "submission_version_once" not in str(error) and "submissions_submission" not in str(error):
            raise
        raise Conflict(
            _("This version was submitted at the same moment."), hint=_("Look at it."), code="version_taken"
        ) from None


def _created(
    campaign: Campaign, who: Submitter, sent: NewSubmission, report: ReplyReport | None
) -> tuple[Submission, CheckedSubmission]:
    # Of two simultaneous submissions to a campaign, one waits. So does a change of what it accepts, or its stop.
    locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    settings, now = settings_of(locked), timezone.now()
    submitter_check(settings, who)
    kind_check(settings, sent.kind)
    terms_check(settings, sent.accepts_terms)
    checked = CheckedSubmission(_place_check(locked, settings, who, sent, report, now), report)
    submission = Submission.objects.create(
        campaign=locked,
        organisation=who.organisation,
        submitted_by=who.user,
        name=sent.card.name,
        label=checked.label,
        kind=sent.kind,
        card=sent.card.about,
        terms_accepted=settings.terms,
        report=report_kept(report) if report else {},
        sha256=content_sha256(report) if report else "",
        mails=sent.mails,
        created_at=now,
    )
    state_change(submission=submission, state=Submission.State.RECEIVED, by=who.user, at=now)
    audit_record(act="submit", subject=locked.public_id, by=who.user, target=f"{submission.name} {submission.label}")
    if isinstance(sent.source, SentEndpoint):
        _endpoint_begin(submission, sent.source, who)
    else:
        _file_settle(submission, settings, sent.source, checked, who)
    return submission, checked


def _file_settle(
    submission: Submission,
    settings: SubmissionSettings,
    source: SentReplies,
    checked: CheckedSubmission,
    who: Submitter,
) -> None:
    """Refuse a file with faults, keep it for the moderators, or let it join."""
    refused = checked.report.count("refused") if checked.report else 0
    if refused:
        state_change(
            submission=submission, state=Submission.State.REFUSED, reason=Reason("rows_refused", {"rows": refused})
        )
        return
    state_change(submission=submission, state=Submission.State.CHECKED)
    if settings.admission == SubmissionSettings.Admission.OPEN:
        submission_join(submission=submission, content=source.content, filename=source.name, by=who.user)
        return
    SubmissionFile.objects.create(submission=submission, name=source.name[:200], content=source.content)
    state_change(submission=submission, state=Submission.State.WAITING)


def _endpoint_begin(submission: Submission, source: SentEndpoint, who: Submitter) -> None:
    """Register the endpoint and have it tested. `advance` goes on when the test is over."""
    endpoint = live_chatbot_register(
        organisation=who.organisation,
        name=submission.name,
        settings=source.settings,
        label=submission.label,
        description=submission.card.get("description", ""),
        secret=source.secret,
        by=who.user,
    )
    submission.version = endpoint.version
    submission.save(update_fields=["version"])
    endpoint_test(endpoint=endpoint, by=who.user)


def _source_check(
    campaign: Campaign, settings: SubmissionSettings, who: Submitter, sent: NewSubmission
) -> ReplyReport | None:
    """Check the request by itself, and read the file. Raises before a file is read that nobody would take."""
    open_check(campaign, settings, timezone.now())
    submitter_check(settings, who)
    kind_check(settings, sent.kind)
    terms_check(settings, sent.accepts_terms)
    card_check(sent.card)
    Chatbot(name=sent.card.name).names_check()
    if isinstance(sent.source, SentEndpoint):
        if sent.source.secret:
            secret_check(sent.source.secret)
        settings_check(sent.source.settings, secret=sent.source.secret)
        return None
    set_room_check(prompt_set=campaign.prompt_set, sent=len(sent.source.content))
    report = replies_preview(prompt_set=campaign.prompt_set, content=sent.source.content, name=sent.source.name)
    if not any(row.fate == "add" and row.sample == 1 for row in report.rows) and not report.refused:
        raise InvalidInput(_("The file has no first reply to any prompt."), hint=_("Give sample 1."), field="file")
    return report


def _place_check(
    campaign: Campaign,
    settings: SubmissionSettings,
    who: Submitter,
    sent: NewSubmission,
    report: ReplyReport | None,
    now: datetime,
) -> str:
    """Check what depends on other submissions, and return the label of the version."""
    open_check(campaign, settings, now)
    name_check_taken(campaign, who.organisation, sent.card.name)
    label = label_for(campaign, who.organisation, sent.card)
    if report is None or not report.refused:
        if report is not None:
            duplicate_check(campaign, who.organisation, content_sha256(report))
        week_check(campaign, settings, who.organisation, now)
    return label


def submission_withdraw(*, submission: Submission, reason: str = "", by: User) -> Submission:
    """Withdraw a submission. A chatbot on the board gets no further questions, and what was judged of it stays.

    Raises NotAllowed for others than owners and managers of its organisation, Conflict for one that has ended.
    """
    if not may_act_for(submission.organisation, by):
        raise NotAllowed(
            _("You may not withdraw submissions of %(name)s.") % {"name": submission.organisation.name},
            hint=_("Its owners and managers may."),
        )
    text = reason.strip()[:300]
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=submission.campaign_id)
        locked = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
        if locked.state in {Submission.State.REFUSED, Submission.State.WITHDRAWN}:
            raise Conflict(
                _("This submission is %(state)s already.") % {"state": str(locked.get_state_display()).lower()},
                code="ended",
            )
        if locked.state in Submission.ON_BOARD:
            _entrant_leave(locked, text, by)
        _collections_pause(locked, by)
        SubmissionFile.objects.filter(submission=locked).delete()
        kept = text or Reason("submitter_withdrew")
        state_change(submission=locked, state=Submission.State.WITHDRAWN, reason=kept, by=by)
        audit_record(
            act="withdraw_submission", subject=locked.campaign.public_id, by=by, target=f"{locked.name} {locked.label}"
        )
    return locked


def _entrant_leave(submission: Submission, reason: str, by: User) -> None:
    entrant = Entrant.objects.filter(campaign=submission.campaign_id, version=submission.version_id).first()
    if entrant is not None and entrant.state == Entrant.State.ACTIVE:
        said = reason or "withdrawn by its submitter"
        entrant_withdraw(campaign=submission.campaign, entrant=entrant, reason=said, by=by)


def _collections_pause(submission: Submission, by: User) -> None:
    running = Collection.objects.filter(
        endpoint__version=submission.version_id, prompt_set=submission.campaign.prompt_set_id
    )
    for collection in running.exclude(state=Collection.State.COMPLETE) if submission.version_id else ():
        collection_pause(collection=collection, by=by)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a campaign accepts, as its owner decides it: the options of `models.SubmissionSettings`.

    `standing` and `newcomer_budget` are those of the campaign.
    """

    admission: str = SubmissionSettings.Admission.CLOSED
    takes: str = SubmissionSettings.Takes.BOTH
    organisations: Sequence[str] = field(default=())
    versions_per_week: int | None = None
    deadline: datetime | None = None
    licence_note: str = ""
    terms: str = ""
    prompts_downloadable: bool = False

    def __post_init__(self) -> None:
        for name, known in (("admission", SubmissionSettings.Admission), ("takes", SubmissionSettings.Takes)):
            if getattr(self, name) not in known.values:
                raise InvalidInput(
                    _("%(value)s is not known.") % {"value": repr(getattr(self, name))},
                    hint=_("Use one of: %(values)s.") % {"values": ", ".join(known.values)},
                    field=name,
                )
        if self.versions_per_week is not None and not 1 <= self.versions_per_week <= 1000:
            raise InvalidInput(
                _("Versions per week are a number from 1 to 1,000."), hint=_("Leave it empty for no limit."),
                field="versions_per_week",
            )  # fmt: skip
        if self.deadline is not None and self.deadline.utcoffset() is None:
            raise InvalidInput(
                _("The deadline has no time zone."), hint=_("Add one: …Z, or …+02:00."), field="deadline"
            )
        for name in ("licence_note", "terms"):
            if len(getattr(self, name)) > LONGEST_TEXT:
                raise InvalidInput(
                    _("It is longer than %(most)s characters.") % {"most": "20,000"}, hint=_("Shorten it."), field=name
                )


def accepted_of(settings: SubmissionSettings) -> Accepted:
    """Return the stored settings as checked values."""
    names = [one.name for one in fields(Accepted) if one.name != "organisations"]
    slugs = tuple(settings.organisations.order_by("slug").values_list("slug", flat=True)) if settings.pk else ()
    return Accepted(**{name: getattr(settings, name) for name in names}, organisations=slugs)


def submissions_accept(*, campaign: Campaign, accepted: Accepted, by: User | None = None) -> SubmissionSettings:
    """Set what a campaign accepts, and log what has changed. Raises InvalidInput for an unknown organisation."""
    slugs = list(dict.fromkeys(slug.strip() for slug in accepted.organisations if slug.strip()))
    accepted = replace(accepted, organisations=tuple(sorted(slugs)))
    found = {
        one.slug: one for one in Organisation.objects.filter(slug__in=[slug for slug in slugs if "\0" not in slug])
    }
    unknown = next((slug for slug in slugs if slug not in found), None)
    if unknown is not None:
        raise InvalidInput(
            _("There is no organisation %(slug)s.") % {"slug": ascii(unknown[:80])},
            hint=_("Give the address names (slugs) of organisations of this site."),
            field="organisations",
        )
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        row, _made = SubmissionSettings.objects.get_or_create(campaign=locked)
        before = accepted_of(row)
        changed = [one.name for one in fields(Accepted) if getattr(before, one.name) != getattr(accepted, one.name)]
        for name in changed:
            if name != "organisations":
                setattr(row, name, getattr(accepted, name))
        row.save()
        row.organisations.set(found.values())
        if changed:
            audit_record(
                act="accept_submissions",
                subject=locked.public_id,
                by=by,
                before={name: _plain(getattr(before, name)) for name in changed},
                after={name: _plain(getattr(accepted, name)) for name in changed},
            )
    campaign.submission_settings = row
    return row


def standing_set(*, campaign: Campaign, standing: bool, newcomer_budget: int | None, by: User | None = None) -> None:
    """Decide whether the board stands, and what each newcomer may cost. Raises InvalidInput."""
    if newcomer_budget is not None and not 1 <= newcomer_budget <= 2_000_000_000:
        raise InvalidInput(
            _("A budget of %(budget)s asks nothing.") % {"budget": newcomer_budget},
            hint=_("Give at least 1."),
            field="newcomer_budget",
        )
    with write_transaction():
        locked = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        after = {"standing": standing, "newcomer_budget": newcomer_budget}
        before = {name: getattr(locked, name) for name in after}
        if before != after:
            locked.standing, locked.newcomer_budget = standing, newcomer_budget
            locked.save(update_fields=["standing", "newcomer_budget"])
            audit_record(act="accept_submissions", subject=locked.public_id, by=by, before=before, after=after)
    campaign.refresh_from_db()


def _plain(value: object) -> object:
    return str(value) if isinstance(value, datetime) else list(value) if isinstance(value, tuple) else value
