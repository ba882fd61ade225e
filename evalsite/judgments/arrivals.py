"""How annotators come and how it ends for them: invitation links, crowd platforms, completion codes."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from django.db.models import Count, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Reception
from evalsite.campaigns.selectors import reception_of
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.numbers import whole
from evalsite.core.rowfiles import unstorable
from evalsite.core.tokens import keyed_hashes, token_hash, token_make
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Arrival,
    Assignment,
    Enrolment,
    Invitation,
    PastWorker,
)
from evalsite.judgments.qualification import qualification_get
from evalsite.judgments.selectors import is_excluded, judgments_given
from evalsite.judgments.services import enrolment_make

LONGEST_INVITATION_DAYS, LONGEST_INVITATION_NAME, MOST_INVITED = 366, 100, 1_000_000
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk sends while a HIT is only looked at
MTURK_HOSTS = ("https://www.mturk.com", "https://workersandbox.mturk.com")
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc="
PLATFORM_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


# Invitations --------------------------------------------------------------------------------------------


def invitation_issue(
    *, campaign: Campaign, name: str, at_most: int | None = None, days: int = 30, by: User | None = None
) -> str:
    """A link's secret that admits annotators, whatever the campaign's admission; shown this once, kept as a hash.

    The log names the invitation by its public id: it stays, viewers read it, and the name is somebody's.
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
    """End the invitations of this name; whom they admitted is admitted no longer, and keeps what was judged."""
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
    """Newest first, each with how many it `admitted`."""
    return Invitation.objects.filter(campaign=campaign).annotate(admitted=Count("enrolments")).order_by("-pk")


def invitation_get(secret: str) -> Invitation:
    """The invitation that stands. Raises NotFound: the same for unknown, expired, revoked."""
    standing = Invitation.objects.filter(sha256=token_hash(secret), revoked_at=None, expires_at__gt=timezone.now())
    found = standing.select_related("campaign__rubric", "campaign__organisation").first()
    if found is None:
        raise NotFound(
            gettext("This invitation is not valid."),
            hint=gettext("It may have expired. Ask who sent it for a new one."),
        )
    return found


def invitation_accept(
    *, secret: str, annotator: Annotator | None = None, user: User | None = None, consents: bool = False
) -> Enrolment:
    """Enrol by an invitation. Raises NotFound, Conflict (it has admitted as many as it may)."""
    with write_transaction():
        invitation = invitation_get(secret)
        Invitation.objects.select_for_update(no_key=True).get(pk=invitation.pk)
        admitted = Enrolment.objects.filter(invitation=invitation)
        known = admitted.filter(
            Q(annotator=annotator) if annotator else Q(annotator__user=user, annotator__user__isnull=False)
        )
        if invitation.at_most is not None and not known.exists() and admitted.count() >= invitation.at_most:
            raise Conflict(gettext("This invitation has been used up."), hint=gettext("Ask who sent it for a new one."))
        consent = consent_check(invitation.campaign, consents=consents)
        return enrolment_make(
            campaign=invitation.campaign, annotator=annotator, user=user, invitation=invitation, **consent
        )


def consent_check(campaign: Campaign, *, consents: bool) -> dict[str, Any]:
    """What an enrolment keeps of the consent. Raises InvalidInput where it is required and was not given."""
    if not consents and reception_of(campaign).consent_required:
        raise InvalidInput(
            gettext("You can take part only if you agree."), hint=gettext("Go back and tick the box."), field="consent"
        )
    return {"consented_at": timezone.now()} if consents else {}


# Crowd platforms ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Visit:
    """Whom a platform sends, by its ids, and where MTurk wants the answer."""

    platform: Reception.Platform
    worker: str
    study: str
    session: str
    submit_to: str = ""

    def __post_init__(self) -> None:
        ids = (self.worker, self.study, self.session)
        if not all(PLATFORM_ID.fullmatch(one) for one in ids):
            raise InvalidInput(
                gettext("This address lacks what the platform should have added to it."),
                hint=gettext("Open the study from the platform again. If it stays so, tell the researcher."),
            )
        if self.platform == Reception.Platform.MTURK and self.submit_to not in MTURK_HOSTS:
            raise InvalidInput(gettext("turkSubmitTo is not an address of Mechanical Turk."), field="turkSubmitTo")


def identity_source(campaign: Campaign, platform: str) -> str:
    """Under which source a platform's id stands: of each campaign apart.

    The id comes in an address that anybody can type, and is the same in all that the worker does. So it opens one
    campaign only, and two campaigns know the same worker by two pseudonyms.
    """
    return f"{platform}/{campaign.public_id}"


def identities_of(campaign: Campaign) -> QuerySet[AnnotatorIdentity]:
    """The ids by which this campaign knows its annotators: platforms' and those of imported files, no other's."""
    own = Q(source__endswith=identity_source(campaign, "")) | Q(source__startswith=f"{campaign.slug}/")
    return AnnotatorIdentity.objects.filter(own)


def visit_accept(*, campaign: Campaign, visit: Visit, consents: bool = False) -> Enrolment:
    """Enrol whom the platform sends; the same worker is one annotator in this campaign. Raises NotFound, Conflict.

    A further visit goes on where the one before was left. Where that one had its code it begins anew, if the campaign
    asks for more of the same annotator (it has no quota); otherwise it is refused, for a code is given once for a work.
    """
    if reception_of(campaign).platform != visit.platform:
        raise NotFound(gettext("There is no such study."), hint=gettext("Check the address."))
    with write_transaction():
        source = identity_source(campaign, visit.platform)
        known = AnnotatorIdentity.objects.filter(source=source, external_id=visit.worker).first()
        counts_from = _check_may_begin(campaign, visit, known)
        consent = consent_check(campaign, consents=consents)
        enrolment = enrolment_make(
            campaign=campaign,
            annotator=known.annotator if known else None,
            user=None,
            platform=visit.platform,
            **consent,
        )
        if known is None:
            AnnotatorIdentity.objects.create(annotator=enrolment.annotator, source=source, external_id=visit.worker)
        Arrival.objects.get_or_create(
            enrolment=enrolment,
            session=visit.session,
            defaults={"study": visit.study, "submit_to": visit.submit_to, "counts_from": counts_from},
        )
    return enrolment


def _check_may_begin(campaign: Campaign, visit: Visit, known: AnnotatorIdentity | None) -> int:
    """From how many judgments on this visit counts. Raises Conflict: too late, or taken part already."""
    # The lock puts two visits at once one after the other.
    joined = Enrolment.objects.select_for_update(of=("self",)).select_related("campaign", "annotator")
    enrolment = joined.filter(campaign=campaign, annotator=known.annotator_id).first() if known else None
    if enrolment is None:
        if not campaign.collecting:
            raise _too_late()
        if is_past_worker(campaign=campaign, worker=visit.worker):
            raise _taken_part()
        return 0
    again = enrolment.arrivals.filter(session=visit.session).exists()
    return 0 if again else _next_counts_from(enrolment)


def _next_counts_from(enrolment: Enrolment) -> int:
    """The same for a further visit of somebody who takes part: where the one before was left, or anew after its end."""
    campaign, ending = enrolment.campaign, ending_get(enrolment)
    if ending.state == "late":
        raise _too_late()
    if ending.state in {"screened_out", "failed"}:
        raise _taken_part()
    if ending.state != "complete":
        before = enrolment.arrivals.order_by("-pk").first()
        return before.counts_from if before else 0
    if campaign.quota or not campaign.collecting:
        raise _taken_part()
    return judgments_given(campaign=campaign, annotator=enrolment.annotator)


def _too_late() -> Conflict:
    return Conflict(
        gettext("You came too late: this study takes nobody any more."),
        hint=gettext("Return the task on the platform; nothing was recorded."),
        code="late",
    )


def _taken_part() -> Conflict:
    """The same for whom it is over and who was erased: nobody learns by an id which of them it is."""
    return Conflict(
        gettext("You have taken part in this study already."),
        hint=gettext(
            "Return the task on the platform; nothing was recorded. What you did before, unless it was erased, "
            "opens at the address by which you came then."
        ),
        code="taken_part",
    )


def past_worker_keep(*, part: Enrolment, worker: str) -> None:
    """Keep a keyed hash of a worker's id who is about to be erased, if they may not begin again here."""
    if not _is_over(part):
        return
    hmac, *_ = _worker_hashes(part.campaign, part.platform, worker)
    with write_transaction():
        PastWorker.objects.get_or_create(campaign=part.campaign, hmac=hmac)


def is_past_worker(*, campaign: Campaign, worker: str) -> bool:
    hashes = _worker_hashes(campaign, reception_of(campaign).platform, worker)
    return PastWorker.objects.filter(campaign=campaign, hmac__in=hashes).exists()


def _worker_hashes(campaign: Campaign, platform: str, worker: str) -> list[str]:
    return keyed_hashes(f"{identity_source(campaign, platform)}:{worker}", purpose="evalsite.judgments.PastWorker")


def _is_over(enrolment: Enrolment) -> bool:
    """Whether somebody has finished, was excluded, or knows answers of a qualification that they have not passed."""
    qualification = qualification_get(enrolment)
    tried = not qualification.passed and (qualification.attempt > 1 or qualification.answered > 0)
    finished = enrolment.arrivals.filter(counts_from__gt=0).exists()
    return tried or finished or ending_get(enrolment).state in {"complete", "screened_out", "failed"}


# How it ends --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ending:
    """How an annotator's part ends. `state`: "" while it goes on, else complete, screened_out, failed or late.

    `code` and `return_url` are for whom a platform sent; `arrival` is their last visit.
    """

    state: str = ""
    code: str = ""
    return_url: str = ""
    arrival: Arrival | None = None


def ending_get(enrolment: Enrolment) -> Ending:
    """Complete: the quota (without one, a block) is judged; or the campaign ended and something had been begun.

    What an earlier visit had its code for does not count for the last one.
    """
    arrival = enrolment.arrivals.order_by("-pk").first()
    state = _state(enrolment, arrival)
    if not state or arrival is None:
        return Ending(state)
    reception = reception_of(enrolment.campaign)
    code = {
        "complete": reception.code_complete,
        "screened_out": reception.code_screened_out,
        "failed": reception.code_failed,
    }.get(state, "")
    by_link = enrolment.platform == Reception.Platform.PROLIFIC and code
    return Ending(state, code, PROLIFIC_RETURN + quote(code) if by_link else "", arrival)


def _state(enrolment: Enrolment, arrival: Arrival | None) -> str:
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
