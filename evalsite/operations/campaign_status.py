"""Status of a campaign: progress, remaining work, and problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from evalsite.boards.models import Board, Refit, Snapshot
from evalsite.boards.selectors import BoardState, board_state_get
from evalsite.campaigns.limits import budget_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core.models import Job
from evalsite.core.number_format import whole
from evalsite.core.reasons import StoredReason
from evalsite.judgments.annotator_statistics import batch_waiting_since, proposals, queue_size, spent, unqualified_count
from evalsite.judgments.models import Annotator, Assignment, Judgment
from evalsite.judgments.selectors import judgments_spent
from evalsite.judgments.skips import items_skipped
from evalsite.refits.models import Findings

PACE_OVER = timedelta(hours=24)
REFIT_LATE = timedelta(minutes=5)
BUDGET_ALARM = 0.8


@dataclass(frozen=True, slots=True)
class StatusAlarm:
    """A problem that a person should examine.

    what: its name.
    value: the number that its text needs.
    """

    what: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """The status of a campaign at this moment.

    per_day: judgments per day at the pace of the last day.
    to_go, days, money: remaining up to the target, if known and reachable.
    looks_anew: the target has changed since the last refit, and may be out of reach.
    """

    board_state: BoardState | None
    progress: float | None
    to_go: int | None
    per_day: float | None
    days: float | None
    money: Decimal | None
    spent: Mapping[str, Decimal]
    alarms: Sequence[StatusAlarm]
    looks_anew: bool = False


def campaign_status_get(campaign: Campaign) -> CampaignStatus:
    """Return the status for the overview."""
    board = board_of(campaign)
    board_state = board_state_get(board) if board else None
    evidence = board_state.evidence if board_state else {}
    ahead = campaign.collecting and not evidence.get("out_of_reach")
    to_go = round(evidence["judgments_to_go"]) if "judgments_to_go" in evidence and ahead else None
    progress, per_day = evidence.get("progress"), pace(board) if board else None
    if campaign.is_single and board_state is not None:
        to_go, per_day = _unjudged(campaign), _recent_pace(campaign)
        progress = None if to_go is None else board_state.tally.judgments / (board_state.tally.judgments + to_go)
    return CampaignStatus(
        board_state=board_state,
        progress=progress,
        to_go=to_go,
        per_day=per_day,
        days=to_go / per_day if to_go is not None and per_day else None,
        money=to_go * campaign.judgment_price if to_go is not None and campaign.pay_rate else None,
        spent=spent(campaign),
        alarms=list(_alarms(campaign, board, board_state)),
        looks_anew=_looks_anew(board_state),
    )


def _unjudged(campaign: Campaign) -> int | None:
    """Return the judgments that a campaign of single replies still collects; None while nothing is queued or issued.

    Its queue holds everything that is left, within the budget.
    """
    waiting = Assignment.objects.filter(
        campaign=campaign, gold=None, state__in=[Assignment.State.QUEUED, Assignment.State.ISSUED]
    )
    return waiting.count() or None if campaign.collecting else None


def _recent_pace(campaign: Campaign) -> float | None:
    """Return the judgments per day since the start, or of the last day; None without any."""
    now = timezone.now()
    begin = max(now - PACE_OVER, campaign.started_at or now)
    found = Judgment.objects.filter(assignment__campaign=campaign, supersedes=None, recorded_at__gte=begin).count()
    days = (now - begin).total_seconds() / 86_400
    return found / days if found and days > 0 else None


def _looks_anew(board_state: BoardState | None) -> bool:
    if board_state is None or board_state.decision is None:
        return False
    another = board_state.evidence.get("target") != board_state.decision.evidence.get("target")
    return another and "judgments_to_go" not in board_state.evidence


def board_of(campaign: Campaign) -> Board | None:
    """Return the campaign's own board; a draft may have none yet."""
    return Board.objects.filter(default_of=campaign).select_related("default_of__stopping", "aspect").first()


def pace(board: Board) -> float | None:
    """Return the judgments per day from the last day's snapshots; None without enough of them."""
    recent = board.snapshots.filter(created_at__gte=timezone.now() - PACE_OVER).order_by("number")
    moments = list(recent.values_list("created_at", "judgments"))
    if len(moments) < 2:
        return None
    (begin, before), (end, after) = moments[0], moments[-1]
    days = (end - begin).total_seconds() / 86_400
    return (after - before) / days if days > 0 and after > before else None


def _alarms(campaign: Campaign, board: Board | None, board_state: BoardState | None) -> Sequence[StatusAlarm]:
    names = {"loop": "refit_fails", "slices": "slices_fail"}
    failing = campaign.alarms.filter(cleared_at=None).order_by("about")
    found = [StatusAlarm(names[one.about], one.message) for one in failing]
    snapshot = board_state.snapshot if board_state else None
    if snapshot is not None and not snapshot.converged:
        found.append(StatusAlarm("not_converged"))
    job = Job.objects.filter(key=refit_key(campaign)).order_by("-pk").first()
    proposed = len(proposals(campaign))
    if proposed:
        found.append(StatusAlarm("proposals", str(proposed)))
    if campaign.collecting:
        found += _collecting_alarms(campaign, job)
    return found


def _collecting_alarms(campaign: Campaign, job: Job | None) -> list[StatusAlarm]:
    found: list[StatusAlarm] = []
    waits = job is not None and job.state in {Job.State.QUEUED, Job.State.RUNNING}
    issued = campaign.is_single and _unjudged(campaign)  # its queue empties before the last answers are in
    if queue_size(campaign) == 0 and not waits and not issued:
        found.append(StatusAlarm("queue_empty"))
    skipped = items_skipped(campaign)
    if skipped:
        found.append(StatusAlarm("skipped", whole(skipped)))
    unqualified = unqualified_count(campaign)
    if unqualified:
        found.append(StatusAlarm("unqualified", whole(unqualified)))
    closed = batch_waiting_since(campaign)
    late = closed is not None and timezone.now() - closed > REFIT_LATE
    if waits and late and job is not None and job.created_at < timezone.now() - REFIT_LATE:
        found.append(StatusAlarm("refit_late"))
    budget = budget_of(campaign)
    if budget and (judged := judgments_spent(campaign)) >= BUDGET_ALARM * budget:
        found.append(StatusAlarm("budget", f"{whole(judged)} / {whole(budget)}"))
    return found


def refits_of(board: Board) -> QuerySet[Refit]:
    """Return the board's refits with their snapshots, newest first."""
    return Refit.objects.filter(board=board).select_related("snapshot").defer("snapshot__posterior").order_by("-pk")


@dataclass(frozen=True, slots=True)
class BoardChange:
    """Changes in a snapshot: the ability that changed most, and whether any ranks changed."""

    name: str
    by: float
    order: bool


def change_of(snapshot: Snapshot, before: Snapshot | None) -> BoardChange | None:
    """Return the changes against the snapshot before; None for the first."""
    if before is None:
        return None
    was = {row["chatbot"]: row for row in before.rows}
    both = [row for row in snapshot.rows if row["chatbot"] in was]
    moves = [(row["ability"] - was[row["chatbot"]]["ability"], row["name"]) for row in both]
    if not moves:
        return None
    by, name = max(moves, key=lambda move: abs(move[0]))
    here = [row["chatbot"] for row in both]
    common = set(here)
    return BoardChange(name, by, here != [row["chatbot"] for row in before.rows if row["chatbot"] in common])


def gold_findings_of(campaign: Campaign, what: str) -> dict[int, dict[str, Any]]:
    """Return the gold results of the last refit for "annotators" or "items", by key."""
    found = Findings.objects.filter(campaign=campaign).values_list("gold", flat=True).first() or {}
    return {one[what.removesuffix("s")]: one for one in found.get(what, [])}


def findings_of(campaign: Campaign, what: str) -> dict[int, dict[str, Any]]:
    """Return the newest findings about "annotators" or "prompts", by key."""
    found = Findings.objects.filter(campaign=campaign).values_list(what, flat=True).first() or []
    return {one[what.removesuffix("s")]: one for one in found}


def exclusion_suggested(campaign: Campaign, annotator: Annotator) -> StoredReason:
    """Return the screening's reason to exclude this annotator; empty where it has none."""
    found = findings_of(campaign, "annotators").get(annotator.pk, {})
    if found.get("decision") != "exclude":
        return StoredReason("")
    return StoredReason(found["reason"], found.get("reason_data"))
