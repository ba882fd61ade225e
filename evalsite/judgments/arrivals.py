"""Arrival and end of an annotator's participation: invitation links, crowd platforms, completion codes."""

import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.selectors import onboarding_of
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.number_format import whole
from evalsite.core.row_files import unstorable
from evalsite.core.tokens import keyed_hashes, token_hash, token_make
from evalsite.judgments.admission import consent_check
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Arrival,
    Assignment,
    Enrolment,
    Invitation,
    PastWorker,
)
from evalsite.judgments.prolific import submission_check
from evalsite.judgments.qualification import qualification_get
from evalsite.judgments.selectors import is_excluded, judgments_given
from evalsite.judgments.services import enrolment_make

LONGEST_INVITATION_DAYS, LONGEST_INVITATION_NAME, MOST_INVITED = 366, 100, 1_000_000
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # sent by MTurk while a HIT is only previewed
MTURK_HOSTS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc="
PLATFORM_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


# Invitations --------------------------------------------------------------------------------------------


def invitation_issue(
    *, campaign: Campaign, name: str, at_most: int | None = None, days: int = 30, by: User | None = None
) -> str:
    """Create an invitation link and return its secret, which is shown only once and stored as a hash.

    It admits annotators whatever the campaign's admission. The log names the invitation by its public id: log entries
    are permanent, viewers read them, and the name may be a person's.
    """
    if not 1 <= days <= LONGEST_INVITATION_DAYS:
        raise InvalidInput(
            gettext("An invitation lasts from 1 to %(longest_invitation_days)s days.")
            % {"longest_invitation_days": LONGEST_INVITATION_DAYS},
            field="days",
        )
    if not name.strip() or len(name) > LONGEST_INVITATION_NAME or unstorable(name):
        raise InvalidInput(
            gettext("An invitation's name has 1 to %(longest)s characters that can be kept.")
            % {"longest": LONGEST_INVITATION_NAME},
            hint=gettext("Say shortly whom it is for."),
            field="name",
        )
    if at_most is not None and not 1 <= at_most <= MOST_INVITED:
        raise InvalidInput(
            gettext("An invitation admits from 1 to %(most)s annotators.") % {"most": whole(MOST_INVITED)},
            hint=gettext("Leave the number out for any number."),
            field="at_most",
        )
    secret = token_make("tsi")
    until = timezone.now() + timedelta(days=days)
    with write_transaction():
        made = Invitation.objects.create(
            campaign=campaign, name=name, sha256=token_hash(secret), at_most=at_most, expires_at=until
        )
        after = {"at_most": at_most, "until": until.isoformat(timespec="minutes")}
        audit_record(act="invite", subject=campaign.public_id, by=by, target=str(made.public_id), after=after)
    return secret


def invitation_revoke(*, campaign: Campaign, name: str, by: User | None = None) -> None:
    """Revoke the invitations of this name. The annotators lose their admission, but their judgments stay."""
    with write_transaction():
        named = Invitation.objects.filter(campaign=campaign, name=name, revoked_at=None)
        ended = list(named.select_for_update(no_key=True).order_by("pk"))
        if not ended:
            raise NotFound(
                gettext("There is no invitation called %(name)s in force.") % {"name": repr(name)}, field="name"
            )
        Invitation.objects.filter(pk__in=[one.pk for one in ended]).update(revoked_at=timezone.now())
        for one in ended:
            audit_record(
                act="revoke_invitation",
                subject=campaign.public_id,
                by=by,
                target=str(one.public_id),
                before={"revoked": False},
                after={"revoked": True},
            )


def invitations_of(campaign: Campaign) -> QuerySet[Invitation]:
    """Return the campaign's invitations, newest first, each with its number of annotators as `admitted`."""
    return Invitation.objects.filter(campaign=campaign).annotate(admitted=Count("enrolments")).order_by("-pk")


def invitation_get(secret: str) -> Invitation:
    """Return the valid invitation. Raises NotFound alike for unknown, expired and revoked ones."""
    standing = Invitation.objects.filter(sha256=token_hash(secret), revoked_at=None, expires_at__gt=timezone.now())
    found = standing.select_related("campaign__rubric", "campaign__organisation").first()
    if found is None:
        raise NotFound(
            gettext("This invitation is not valid."),
            hint=gettext("It may have expired. Ask the sender for a new one."),
        )
    return found


def invitation_accept(
    *, secret: str, annotator: Annotator | None = None, user: User | None = None, consents: bool = False
) -> Enrolment:
    """Enrol by an invitation. Raises NotFound, and Conflict for an invitation without free admissions."""
    with write_transaction():
        invitation = invitation_get(secret)
        Invitation.objects.select_for_update(no_key=True).get(pk=invitation.pk)
        admitted = Enrolment.objects.filter(invitation=invitation)
        known = admitted.filter(
            Q(annotator=annotator) if annotator else Q(annotator__user=user, annotator__user__isnull=False)
        )
        if invitation.at_most is not None and not known.exists() and admitted.count() >= invitation.at_most:
            raise Conflict(gettext("This invitation has been used up."), hint=gettext("Ask the sender for a new one."))
        consent = consent_check(invitation.campaign, consents=consents, earlier=known.first())
        return enrolment_make(
            campaign=invitation.campaign, annotator=annotator, user=user, invitation=invitation, **consent
        )


# Crowd platforms ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit from a crowd platform: its ids, and the address to which MTurk wants the answer.

    `secret` must be part of the study's address. `browser` is a secret that this browser stores; the completion code is
    shown to no other browser.
    """

    platform: Onboarding.Platform
    worker: str
    study: str
    session: str
    submit_to: str = ""
    secret: str = ""
    browser: str = ""

    def __post_init__(self) -> None:
        ids = (self.worker, self.study, self.session)
        if not all(PLATFORM_ID.fullmatch(one) for one in ids):
            raise InvalidInput(
                gettext("This address lacks the details that the platform adds."),
                hint=gettext("Open the study from the platform again. If this happens again, contact the researcher."),
            )
        if self.platform == Onboarding.Platform.MTURK and self.submit_to not in MTURK_HOSTS:
            raise InvalidInput(gettext("turkSubmitTo is not an address of Mechanical Turk."), field="turkSubmitTo")


def identity_source(campaign: Campaign, platform: str) -> str:
    """Return the source of a platform's ids. Each campaign has its own.

    The id is part of an address that anybody can type, and a worker has the same id in all studies. It must therefore
    open only one campaign. Two campaigns know the same worker by two pseudonyms.
    """
    return f"{platform}/{campaign.public_id}"


def identities_of(campaign: Campaign) -> QuerySet[AnnotatorIdentity]:
    """Return the ids by which this campaign identifies its annotators: from platforms and imported files."""
    own = Q(source__endswith=identity_source(campaign, "")) | Q(source__startswith=f"{campaign.slug}/")
    return AnnotatorIdentity.objects.filter(own)


SECRET_LENGTH = 32  # hexadecimal digits


def arrival_secret(campaign: Campaign) -> str:
    """Return the secret in the study's address. Only the platform gets it."""
    return _arrival_secrets(campaign)[0]


def _arrival_secrets(campaign: Campaign) -> list[str]:
    """Return the secret under each key of this site. Fallback keys keep addresses valid when SECRET_KEY changes."""
    value = f"{campaign.public_id}:{onboarding_of(campaign).secret_number}"
    return [one[:SECRET_LENGTH] for one in keyed_hashes(value, purpose="evalsite.judgments.arrival_secret")]


def arrival_secret_check(campaign: Campaign, secret: str) -> None:
    """Raise NotAllowed if the campaign requires the study's secret and the address does not have it."""
    if not onboarding_of(campaign).secret_required:
        return
    if not any(hmac.compare_digest(one, secret) for one in _arrival_secrets(campaign) if secret.isascii()):
        raise NotAllowed(
            gettext("This address lacks the secret of the study, or has an old one."),
            hint=gettext("Open the study from the platform again. If this happens again, contact the researcher."),
            code="arrival_secret",
        )


def prolific_token(campaign: Campaign) -> str:
    """Return the API token that checks submissions for this campaign's organisation; "" for none."""
    return str(settings.PROLIFIC_TOKENS.get(campaign.organisation.slug, ""))


def arrivals_are_checked(campaign: Campaign) -> bool:
    """Return whether invented ids are refused, by a secret in the address or by a request to the platform."""
    onboarding = onboarding_of(campaign)
    by_api = onboarding.platform == Onboarding.Platform.PROLIFIC and bool(prolific_token(campaign))
    return onboarding.secret_required or by_api


def _visit_check(campaign: Campaign, visit: Visit) -> None:
    """Raise NotFound, NotAllowed or Unavailable unless the platform has sent this visit, as far as it can be checked.

    Sends a request to the platform, so no transaction may be open. A visit that this browser has begun is not checked
    again.
    """
    onboarding = onboarding_of(campaign)
    if onboarding.platform != visit.platform or onboarding.study not in {"", visit.study}:
        raise NotFound(gettext("There is no such study."), hint=gettext("Check the address."))
    arrival_secret_check(campaign, visit.secret)
    token = prolific_token(campaign)
    if visit.platform != Onboarding.Platform.PROLIFIC or not token:
        return
    begun = Arrival.objects.filter(enrolment__campaign=campaign, session=visit.session, browser=_browser_hash(visit))
    if not visit.browser or not begun.exists():
        submission_check(token=token, session=visit.session, worker=visit.worker, study=visit.study)


def _browser_hash(visit: Visit) -> str:
    return token_hash(visit.browser) if visit.browser else ""


def visit_accept(*, campaign: Campaign, visit: Visit, consents: bool = False) -> Enrolment:
    """Enrol the worker of a visit. The same worker is one annotator in this campaign.

    A further visit continues the previous one. After a visit with a completion code it starts anew, if the campaign
    accepts more work of the same annotator (no quota). Otherwise it is refused, because each code pays for separate
    work. Raises NotFound, NotAllowed, Conflict and Unavailable.
    """
    _visit_check(campaign, visit)
    with write_transaction():
        source = identity_source(campaign, visit.platform)
        known = AnnotatorIdentity.objects.filter(source=source, external_id=visit.worker).first()
        counts_from = _check_may_begin(campaign, visit, known)
        part = Enrolment.objects.filter(campaign=campaign, annotator=known.annotator).first() if known else None
        consent = consent_check(campaign, consents=consents, earlier=part)
        enrolment = enrolment_make(
            campaign=campaign,
            annotator=known.annotator if known else None,
            user=None,
            platform=visit.platform,
            **consent,
        )
        if known is None:
            AnnotatorIdentity.objects.create(annotator=enrolment.annotator, source=source, external_id=visit.worker)
        Arrival.objects.update_or_create(
            enrolment=enrolment,
            session=visit.session,
            defaults={"browser": _browser_hash(visit)},
            create_defaults={
                "study": visit.study,
                "submit_to": visit.submit_to,
                "counts_from": counts_from,
                "browser": _browser_hash(visit),
            },
        )
    return enrolment


def _check_may_begin(campaign: Campaign, visit: Visit, known: AnnotatorIdentity | None) -> int:
    """Return the number of earlier judgments that do not count for this visit.

    Raises Conflict if it is too late or if the worker has taken part already.
    """
    # The lock serializes two simultaneous visits.
    joined = Enrolment.objects.select_for_update(of=("self",)).select_related("campaign", "annotator")
    enrolment = joined.filter(campaign=campaign, annotator=known.annotator_id).first() if known else None
    if enrolment is None:
        if not campaign.collecting:
            raise _too_late_error()
        if is_past_worker(campaign=campaign, worker=visit.worker):
            raise _taken_part_error()
        return 0
    again = enrolment.arrivals.filter(session=visit.session).first()
    counts_from = 0 if again else _next_counts_from(enrolment)
    _check_browser(enrolment, visit, again or enrolment.arrivals.order_by("-pk").first())
    return counts_from


def _check_browser(enrolment: Enrolment, visit: Visit, before: Arrival | None) -> None:
    """Raise Conflict if another browser would take over a visit that has earned its code.

    If ids can be invented, judgments of another browser cannot be taken over either.
    """
    if before is None or before.browser == _browser_hash(visit):
        return
    if before.session == visit.session and ending_get(enrolment).state:
        raise _other_browser_error()
    campaign = enrolment.campaign
    judged = judgments_given(campaign=campaign, annotator=enrolment.annotator) > before.counts_from
    if judged and not ending_get(enrolment).state and not arrivals_are_checked(campaign):
        raise _other_browser_error()


def _other_browser_error() -> Conflict:
    return Conflict(
        gettext("You have opened this study in another browser."),
        hint=gettext("Go on there. The completion code is shown only in the browser in which you judged."),
        code="other_browser",
    )


def _next_counts_from(enrolment: Enrolment) -> int:
    """Return the same number for a further visit: that of the previous visit, or a new start after its end."""
    campaign, ending = enrolment.campaign, ending_get(enrolment)
    if ending.state == "late":
        raise _too_late_error()
    if ending.state in {"screened_out", "failed"}:
        raise _taken_part_error()
    if ending.state != "complete":
        before = enrolment.arrivals.order_by("-pk").first()
        return before.counts_from if before else 0
    if campaign.quota or not campaign.collecting:
        raise _taken_part_error()
    return judgments_given(campaign=campaign, annotator=enrolment.annotator)


def _too_late_error() -> Conflict:
    return Conflict(
        gettext("This study is closed to new annotators."),
        hint=gettext("Return the task on the platform; nothing was recorded."),
        code="late",
    )


def _taken_part_error() -> Conflict:
    """Return one error for workers who have finished and for erased ones, so that an id does not reveal which it is."""
    return Conflict(
        gettext("You have taken part in this study already."),
        hint=gettext(
            "Return the task on the platform; nothing was recorded. What you did before, unless it was erased, "
            "opens at the address by which you came then."
        ),
        code="taken_part",
    )


def past_worker_record(*, part: Enrolment, worker: str) -> None:
    """Store a keyed hash of a worker's id before erasure, if the worker may not start again in this campaign."""
    if not _has_finished(part):
        return
    hmac, *_ = _worker_hashes(part.campaign, part.platform, worker)
    with write_transaction():
        PastWorker.objects.get_or_create(campaign=part.campaign, hmac=hmac)


def is_past_worker(*, campaign: Campaign, worker: str) -> bool:
    hashes = _worker_hashes(campaign, onboarding_of(campaign).platform, worker)
    return PastWorker.objects.filter(campaign=campaign, hmac__in=hashes).exists()


def _worker_hashes(campaign: Campaign, platform: str, worker: str) -> list[str]:
    return keyed_hashes(f"{identity_source(campaign, platform)}:{worker}", purpose="evalsite.judgments.PastWorker")


def _has_finished(enrolment: Enrolment) -> bool:
    """Return whether an annotator has finished, was excluded, or has failed a qualification and knows its answers."""
    qualification = qualification_get(enrolment)
    tried = not qualification.passed and (qualification.attempt > 1 or qualification.answered > 0)
    finished = enrolment.arrivals.filter(counts_from__gt=0).exists()
    return tried or finished or ending_get(enrolment).state in {"complete", "screened_out", "failed"}


# End of participation -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of an annotator's participation. `state` is "" before the end, else complete, screened_out, failed or
    late.

    `code` and `return_url` are for annotators from a platform; `arrival` is their last visit. `elsewhere` means that
    another browser has earned the code.
    """

    state: str = ""
    code: str = ""
    return_url: str = ""
    arrival: Arrival | None = None
    elsewhere: bool = False


def ending_get(enrolment: Enrolment, browser: str = "") -> Ending:
    """Return how the participation stands. It is complete with the quota judged (without a quota: one block).

    It is also complete if the campaign ended after some work. Judgments that earned the code of an earlier visit do not
    count for the last one. Only the browser of that visit gets the code. Visits from before browsers were distinguished
    have none.
    """
    arrival = enrolment.arrivals.order_by("-pk").first()
    state = _ending_state(enrolment, arrival)
    if not state or arrival is None:
        return Ending(state)
    onboarding = onboarding_of(enrolment.campaign)
    code = {
        "complete": onboarding.code_complete,
        "screened_out": onboarding.code_screened_out,
        "failed": onboarding.code_failed,
    }.get(state, "")
    if arrival.browser and not (browser and hmac.compare_digest(arrival.browser, token_hash(browser))):
        return Ending(state, arrival=arrival, elsewhere=bool(code))
    by_link = enrolment.platform == Onboarding.Platform.PROLIFIC and code
    return Ending(state, code, PROLIFIC_RETURN + quote(code) if by_link else "", arrival)


def _ending_state(enrolment: Enrolment, arrival: Arrival | None) -> str:
    campaign, annotator = enrolment.campaign, enrolment.annotator
    if is_excluded(campaign=campaign, annotator=annotator):
        return "failed"
    if qualification_get(enrolment).screened_out:
        return "screened_out"
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    if not enrolment.platform or own.filter(state=Assignment.State.ISSUED).exists():
        return ""
    given = judgments_given(campaign=campaign, annotator=annotator)
    counts_from = arrival.counts_from if arrival else 0
    if given > counts_from and given >= (campaign.quota or counts_from + campaign.block_size):
        return "complete"
    if campaign.state == Campaign.State.STOPPED:
        begun = own.exclude(issued_at=None)
        if counts_from and arrival:
            begun = begun.filter(Q(closed_at=None) | Q(closed_at__gte=arrival.arrived_at))
        return "complete" if given > counts_from or begun.exists() else "late"
    return ""
