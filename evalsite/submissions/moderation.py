"""Moderation: look at what waits, approve it, or refuse it with a reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.files import replies_preview
from evalsite.chatbots.models import Reply
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.prompts.models import Prompt
from evalsite.submissions.events import state_change
from evalsite.submissions.flags import Flag, flags_of, names_near
from evalsite.submissions.joining import submission_join
from evalsite.submissions.models import Submission, SubmissionFile
from evalsite.submissions.selectors import closed_reason, names_taken, settings_of

MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class PreviewedReply:
    """A reply beside its prompt."""

    key: str
    prompt: str
    reply: str


@dataclass(frozen=True, slots=True)
class Preview:
    """What a moderator looks at: replies in the order of the prompts, and flags about all of them."""

    replies: Sequence[PreviewedReply]
    total: int
    flags: Sequence[Flag]


def preview_of(submission: Submission, *, start: int = 0) -> Preview:
    """Return the replies of a submission from a place on, and its flags."""
    texts = replies_of(submission)
    prompts = submission.campaign.prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")
    shown = [key for key in prompts.values_list("key", flat=True) if key in texts]
    here = shown[max(start, 0) : max(start, 0) + MOST_SHOWN]
    turns = dict(prompts.filter(key__in=here).values_list("key", "turns"))
    previewed = [PreviewedReply(key, _last_turn(turns.get(key)), texts[key]) for key in here]
    return Preview(previewed, len(shown), submission_flags(submission, texts))


def submission_flags(submission: Submission, texts: dict[str, str] | None = None) -> list[Flag]:
    """Return the flags of a submission."""
    texts = replies_of(submission) if texts is None else texts
    organisation, card = submission.organisation, submission.card
    own = (submission.name, organisation.name, card.get("base_model", "").rpartition("/")[2])
    near = names_near(submission.name, [one for one in names_taken(submission.campaign) if one != submission.name])
    current = submission.campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    return flags_of(list(texts.items()), own_names=own, missing=max(0, current - len(texts)), near=near)


def replies_of(submission: Submission) -> dict[str, str]:
    """Return the first replies of a submission by prompt id: of its version, or of the file that waits."""
    if submission.version_id is not None:
        rows = Reply.objects.shown().filter(version=submission.version_id, prompt__in=_current(submission))
        texts = rows.order_by("prompt").values_list("prompt__key", "text")
        return {key: text for key, text in texts if text is not None}
    file = SubmissionFile.objects.filter(submission=submission).first()
    if file is None:
        return {}
    report = replies_preview(prompt_set=submission.campaign.prompt_set, content=bytes(file.content), name=file.name)
    return {row.key: row.text for row in report.rows if row.fate == "add" and row.sample == 1}


def _current(submission: Submission) -> QuerySet[Prompt]:
    return Prompt.objects.filter(prompt_set=submission.campaign.prompt_set_id, corrected_by__isnull=True)


def _last_turn(turns: list[dict[str, str]] | None) -> str:
    return turns[-1]["text"] if turns else ""


def submission_approve(*, submission: Submission, by: User) -> Submission:
    """Let a waiting submission join. Raises Conflict if it does not wait, or the campaign has ended meanwhile.

    A deadline for submissions does not matter: it was submitted in time.
    """
    with write_transaction():
        locked = _waiting(submission)
        settings = settings_of(locked.campaign)
        code, why = closed_reason(locked.campaign, settings, timezone.now())
        if code in {"campaign_over", "not_begun"}:
            raise Conflict(why, hint=_("Refuse it, with that as the reason."), code=code)
        file = SubmissionFile.objects.filter(submission=locked).first()
        content = bytes(file.content) if file else None
        submission_join(submission=locked, content=content, filename=file.name if file else "", by=by)
        audit_record(
            act="approve_submission", subject=locked.campaign.public_id, by=by, target=f"{locked.name} {locked.label}"
        )
    return locked


def submission_refuse(*, submission: Submission, reason: str, by: User) -> Submission:
    """Refuse a waiting submission. Its submitter reads the reason. Raises InvalidInput without one, and Conflict."""
    text = reason.strip()
    if not 1 <= len(text) <= 1000:
        raise InvalidInput(
            _("Give a reason of 1 to %(longest)s characters.") % {"longest": "1,000"},
            hint=_("The submitter reads it."),
            field="reason",
        )
    with write_transaction():
        locked = _waiting(submission)
        SubmissionFile.objects.filter(submission=locked).delete()
        state_change(submission=locked, state=Submission.State.REFUSED, reason=text, by=by)
        audit_record(
            act="refuse_submission",
            subject=locked.campaign.public_id,
            by=by,
            target=f"{locked.name} {locked.label}",
            reason=text,
        )
    return locked


def _waiting(submission: Submission) -> Submission:
    """Return the locked submission. Raises Conflict unless it waits for approval."""
    Campaign.objects.select_for_update(no_key=True).get(pk=submission.campaign_id)
    locked: Submission = Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    if locked.state != Submission.State.WAITING:
        raise Conflict(
            _("This submission does not wait for approval: it is %(state)s.")
            % {"state": str(locked.get_state_display()).lower()},
            hint=_("Somebody may have decided meanwhile. Look at it again."),
            code="not_waiting",
        )
    return locked
