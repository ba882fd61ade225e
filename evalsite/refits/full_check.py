"""Requests for the full Bayesian fit of a board, and its results.

The fit itself is in `refits.full_check_fit`.
"""

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.boards.models import Snapshot
from evalsite.boards.selectors import snapshot_current
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.core.jobs import job_enqueue, job_is_pending
from evalsite.core.number_format import whole
from evalsite.core.reasons import as_stored
from evalsite.refits.models import FullCheck
from scheduler.reasons import Reason

FULL_CHECK = "full_check"
# Limits that keep a check at minutes on two cores. The time of the chains grows more than proportionally.
MOST_JUDGMENTS, MOST_CHATBOTS = 2000, 40
DIED = as_stored(Reason("workers_died"))


def check_ask(*, campaign: Campaign, by: User | None = None) -> FullCheck:
    """Return a full check of the newest snapshot: the existing check of the same judgments, or a new one.

    Raises Conflict if there is nothing to check, if the board is too large, or if a check is in progress.
    """
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        snapshot = snapshot_current(board_default(campaign=campaign))
        if snapshot is None:
            raise Conflict(_("There is no fit to check yet."), hint=_("Wait for the first update of the board."))
        done = checks_done(campaign).filter(input_sha256=snapshot.input_sha256).exclude(result=None).first()
        check = done or _new(campaign, snapshot)
        after = {"snapshot": snapshot.number, "judgments": snapshot.judgments, "known": done is not None}
        audit_record(act=FULL_CHECK, subject=campaign.public_id, by=by, after=after)
    return check


def _new(campaign: Campaign, snapshot: Snapshot) -> FullCheck:
    _check_size(snapshot)
    under_way = check_under_way(campaign)
    if under_way is not None and not _died(under_way):
        raise Conflict(_("A full check is under way already."), hint=_("Wait for it: it takes some minutes."))
    if under_way is not None:
        under_way.trouble, under_way.trouble_data, under_way.finished_at = *DIED, timezone.now()
        under_way.save(update_fields=["trouble", "trouble_data", "finished_at"])
    check: FullCheck = FullCheck.objects.create(
        campaign=campaign, snapshot=snapshot, input_sha256=snapshot.input_sha256
    )
    job_enqueue(kind=FULL_CHECK, key=_key(campaign.pk), args={"check": check.pk})
    return check


def _check_size(snapshot: Snapshot) -> None:
    if snapshot.judgments > MOST_JUDGMENTS or len(snapshot.rows) > MOST_CHATBOTS:
        raise Conflict(
            _(
                "A full check is made of up to %(most_judgments)s judgments of %(most_chatbots)s chatbots; "
                "this board has %(judgments)s of %(rows)s."
            )
            % {
                "most_judgments": whole(MOST_JUDGMENTS),
                "most_chatbots": MOST_CHATBOTS,
                "judgments": whole(snapshot.judgments),
                "rows": len(snapshot.rows),
            },
            hint=_(
                "Export the judgments and fit them with `irt_engine.full.fit_full`, which has as much time as you have."
            ),
            code="too_much_to_check",
        )


def check_under_way(campaign: Campaign) -> FullCheck | None:
    """Return the check in progress."""
    return FullCheck.objects.filter(campaign=campaign, finished_at=None).select_related("snapshot").first()


def check_shown(campaign: Campaign) -> FullCheck | None:
    """Return the check to display: the one in progress, or else the newest."""
    found = check_under_way(campaign) or checks_done(campaign).first()
    if found is not None and found.finished_at is None and _died(found):
        found.trouble, found.trouble_data = (
            DIED  # Displayed now and saved by the next request, because pages do not write.
        )
    return found


def checks_done(campaign: Campaign) -> QuerySet[FullCheck]:
    """Return the finished checks, newest first."""
    done = FullCheck.objects.filter(campaign=campaign, finished_at__isnull=False)
    return done.select_related("snapshot").order_by("-pk")


def _died(check: FullCheck) -> bool:
    """Return whether no worker processes the check any more."""
    return not job_is_pending(_key(check.campaign_id))


def _key(campaign_id: int) -> str:
    return f"{FULL_CHECK}:{campaign_id}"
