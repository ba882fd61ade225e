"""Asking for the full Bayesian fit of a board, and reading what came of it. (The fit is `refits.full_check_fit`.)"""

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
from evalsite.core.jobs import job_enqueue, job_waits
from evalsite.core.number_format import whole
from evalsite.refits.models import FullCheck

FULL_CHECK = "full_check"
# What a worker may be kept busy with: minutes on two cores. Chains take longer than in proportion to these.
MOST_JUDGMENTS, MOST_CHATBOTS = 2000, 40
DIED = "Its workers died again and again; the server's log says more."


def check_ask(*, campaign: Campaign, by: User | None = None) -> FullCheck:
    """Have the newest snapshot checked: the check that there is of the same judgments, or a new one.

    Raises Conflict where there is nothing to check, too much, or a check under way.
    """
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        snapshot = snapshot_current(board_default(campaign=campaign))
        if snapshot is None:
            raise Conflict(_("There is no fit to check yet."), hint=_("Wait for the first refit."))
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
        under_way.trouble, under_way.finished_at = DIED, timezone.now()
        under_way.save(update_fields=["trouble", "finished_at"])
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
    """The check that is not finished."""
    return FullCheck.objects.filter(campaign=campaign, finished_at=None).select_related("snapshot").first()


def check_shown(campaign: Campaign) -> FullCheck | None:
    """What a page shows: the check under way, or else the newest."""
    found = check_under_way(campaign) or checks_done(campaign).first()
    if found is not None and found.finished_at is None and _died(found):
        found.trouble = DIED  # shown, and written when the next one is asked for: a page writes nothing
    return found


def checks_done(campaign: Campaign) -> QuerySet[FullCheck]:
    """The finished ones, newest first."""
    done = FullCheck.objects.filter(campaign=campaign, finished_at__isnull=False)
    return done.select_related("snapshot").order_by("-pk")


def _died(check: FullCheck) -> bool:
    """Whether nobody works on it any more."""
    return not job_waits(_key(check.campaign_id))


def _key(campaign_id: int) -> str:
    return f"{FULL_CHECK}:{campaign_id}"
