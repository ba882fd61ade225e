"""Read submissions, and what campaigns accept."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import MAKERS, Act, Role, allows, role_of
from evalsite.campaigns.selectors import stopped_by_hand, visible_to
from evalsite.core.errors import NotFound
from evalsite.submissions.models import Submission, SubmissionEvent, SubmissionSettings

WEEK = timedelta(days=7)


def settings_of(campaign: Campaign) -> SubmissionSettings:
    """Return what the campaign accepts, read once for each Campaign object; by default nothing."""
    try:
        return campaign.submission_settings
    except SubmissionSettings.DoesNotExist:
        return SubmissionSettings(campaign=campaign)


def organisations_allowed(settings: SubmissionSettings) -> list[Organisation]:
    """Return the only organisations that may submit; none where every organisation may."""
    return list(settings.organisations.order_by("name")) if settings.pk else []


def closed_reason(campaign: Campaign, settings: SubmissionSettings, now: datetime) -> tuple[str, str]:
    """Return why the campaign accepts nothing now, as a code and a sentence; two blanks where it does."""
    state = campaign.state
    if settings.admission == SubmissionSettings.Admission.CLOSED:
        return "submissions_closed", _("This campaign accepts no submissions.")
    if settings.deadline is not None and settings.deadline <= now:
        said = _("The deadline for submissions was %(deadline)s UTC.")
        return "deadline_passed", said % {"deadline": date_format(settings.deadline, "DATETIME_FORMAT")}
    if state == Campaign.State.DRAFT:
        return "not_begun", _("The campaign has not begun.")
    if state == Campaign.State.STOPPED and (not campaign.standing or stopped_by_hand(campaign)):
        return "campaign_over", _("The campaign has ended.")
    return "", ""


def accepts_now(campaign: Campaign, settings: SubmissionSettings) -> bool:
    return not closed_reason(campaign, settings, timezone.now())[0]


def campaigns_accepting(*, most: int) -> list[Campaign]:
    """Return the public campaigns that accept submissions now, newest first."""
    now = timezone.now()
    begun = Campaign.objects.filter(visibility=Campaign.Visibility.PUBLIC).exclude(state=Campaign.State.DRAFT)
    wanted = begun.exclude(submission_settings=None).exclude(
        Q(submission_settings__admission="closed") | Q(submission_settings__deadline__lte=now)
    )
    rows = wanted.exclude(Q(state=Campaign.State.STOPPED) & Q(standing=False)).select_related("submission_settings")
    found = rows.order_by("-pk")[: 2 * most]
    return [one for one in found if not closed_reason(one, one.submission_settings, now)[0]][:most]


def organisations_to_submit_for(user: User, settings: SubmissionSettings) -> list[Organisation]:
    """Return the organisations for which this person may submit (owner or manager), their own first."""
    roles = [role.value for role in MAKERS if role != Role.STAFF]
    held = Organisation.objects.filter(memberships__user=user, memberships__role__in=roles)
    allowed = organisations_allowed(settings)
    if allowed:
        held = held.filter(pk__in=[one.pk for one in allowed])
    return sorted(held.order_by("pk"), key=lambda one: one.personal_of_id != user.pk)


def versions_this_week(campaign: Campaign, organisation: Organisation, now: datetime) -> QuerySet[Submission]:
    """Return the organisation's submissions of seven days that count, the oldest first. Refused ones do not."""
    rows = Submission.objects.filter(campaign=campaign, organisation=organisation, created_at__gt=now - WEEK)
    return rows.exclude(state=Submission.State.REFUSED).order_by("created_at")


def with_events(rows: QuerySet[Submission]) -> QuerySet[Submission]:
    """Return the submissions with what their pages and answers show."""
    events = Prefetch("events", SubmissionEvent.objects.order_by("pk"))
    return rows.select_related("campaign__stopping", "organisation", "version__chatbot").prefetch_related(events)


def submissions_of(user: User) -> QuerySet[Submission]:
    """Return the submissions of this person's organisations, newest first."""
    own = Membership.objects.filter(user=user).values("organisation")
    return Submission.objects.filter(organisation__in=own).order_by("-pk")


def submissions_to(campaign: Campaign, user: User) -> QuerySet[Submission]:
    """Return the submissions to a campaign that this person may see: all for its moderators, else their own."""
    rows = Submission.objects.filter(campaign=campaign).order_by("-pk")
    return rows if allows(role_of(user, campaign), Act.MODERATE) else rows.filter(pk__in=submissions_of(user))


def submission_get(*, public_id: uuid.UUID, user: User | None) -> Submission:
    """Return a submission of this person's organisations, or of a campaign that they moderate. Raises NotFound."""
    found = with_events(Submission.objects.filter(public_id=public_id)).first() if user else None
    if found is None or user is None or not may_see(found, user):
        raise NotFound(
            _("There is no such submission."), hint=_("It may be one of an organisation that you are not in.")
        )
    return found


def may_see(submission: Submission, user: User) -> bool:
    own = Membership.objects.filter(user=user, organisation=submission.organisation_id).exists()
    return own or allows(role_of(user, submission.campaign), Act.MODERATE)


def may_act_for(organisation: Organisation, user: User) -> bool:
    """Return whether this person may submit and withdraw for the organisation."""
    roles = [role.value for role in MAKERS if role != Role.STAFF]
    return Membership.objects.filter(user=user, organisation=organisation, role__in=roles).exists()


def names_taken(campaign: Campaign, *, besides: Organisation | None = None) -> list[str]:
    """Return the names of chatbots that take part or are about to, withdrawn ones too, except an organisation's own."""
    entrants = campaign.entrants.all()
    waiting = Submission.objects.filter(campaign=campaign, state__in=Submission.BEFORE_JOINING)
    if besides is not None:
        entrants = entrants.exclude(version__chatbot__organisation=besides)
        waiting = waiting.exclude(organisation=besides)
    names = set(entrants.values_list("version__chatbot__name", flat=True))
    return sorted(names | set(waiting.values_list("name", flat=True)))


def seen_by(campaigns: Iterable[Campaign], user: User) -> set[int]:
    """Return the keys of the campaigns whose boards this person may open by their names."""
    numbers = [one.pk for one in campaigns]
    return set(Campaign.objects.filter(visible_to(user, by_link=False), pk__in=numbers).values_list("pk", flat=True))
