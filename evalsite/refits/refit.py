"""The refit: judgments -> fit -> snapshot -> screening -> decision -> plan -> queue. Slices follow in their own job.

No transaction is open during the fit and the plan. The lease of the job fences each write. One transaction publishes
the snapshot, so that readers do not wait for a plan. One writes the results, with the first part of the queue; further
ones write the rest of it.

After any failure, the last good board stays in use, with the old queue or the part of the new one that was written. A
published snapshot is not fitted again.
"""

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from django.utils import timezone

from evalsite.boards.chart_data import Pair, fit_facts, pairs, points, sensitivity_facts
from evalsite.boards.models import Board, BoardChartData, Decision, Refit, Snapshot
from evalsite.boards.rows import BoardRow, board_rows, board_tests
from evalsite.boards.services import board_default, board_tell
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import pilot_end, refit_request
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.core.reasons import as_stored
from evalsite.judgments.models import Batch
from evalsite.judgments.queue import (
    QueueState,
    RemainingPlan,
    queue_close,
    queue_length,
    queue_state_read,
    queue_withdraw,
)
from evalsite.judgments.selectors import CountedVote, LeftOut, judgments_spent, votes_counted
from evalsite.judgments.vetting_facts import newcomers_vet
from evalsite.refits.annotator_groups import annotator_groups
from evalsite.refits.designs import rules_of
from evalsite.refits.gold_findings import gold_counts
from evalsite.refits.known_ties import by_version, known_ties
from evalsite.refits.mapping import ENGINE, FitInput, Planner, fit_input, input_mark, votes_to_screen
from evalsite.refits.newcomers import newcomers_due, to_screen
from evalsite.refits.planned_looks import looks_at_stop, looks_planned
from evalsite.refits.planning import Planned, planned_of, queue_begin, queue_finish
from evalsite.refits.screening import ExclusionChange, acts_on_board, changes_make, changes_wanted
from evalsite.refits.services import (
    campaign_close,
    findings_request,
    notice_request,
    pilot_summary_request,
    slices_request,
)
from evalsite.refits.vote_evidence import EvidenceVerdict, evidence_verdicts
from irt_engine import EngineError, Posterior, WarmStart, read_warm_start
from irt_engine.agreement import NO_GOLD, GoldCounts, MergedPrompts
from scheduler import CampaignState, SchedulerError, StoppingDecision, decide, with_retired
from scheduler.forecasting.random_baseline import random_baseline
from scheduler.reasons import Reason

log = logging.getLogger(__name__)
COMPARED_AT_MOST = 80  # Chatbots. With more, the random baseline takes seconds.


@dataclass(frozen=True, slots=True)
class BoardContent:
    """Content of a board for storage. It is computed outside any transaction, because others wait to write."""

    rows: list[BoardRow]
    pairs: list[Pair]
    fit: dict[str, Any]
    posterior: bytes


@dataclass(frozen=True, slots=True)
class Fitted:
    """A posterior and its input.

    snapshot: set if an earlier snapshot has the same input.
    given: None if nothing can have changed since that snapshot; then no vote was read.
    shown: the content for pages; None if it is stored already.
    mark: the version of the input that was read.
    looks: number of looks for the tests of differences; None is valid at any number.
    """

    posterior: Posterior
    given: FitInput | None
    seconds: float
    snapshot: Snapshot | None
    shown: BoardContent | None
    mark: str
    looks: int | None = None


@dataclass(frozen=True, slots=True)
class Following:
    """Results of a fit for its campaign.

    vetted: newcomers (keys) whose votes count from the next refit on, with the reason.
    course: errors of the random baseline; None if no vote was read.
    sensitivity: how far the board moves without a few annotators; None as `course`.
    decided: the decision with the plan; None if the campaign does not continue from this fit.
    """

    changes: list[ExclusionChange]
    vetted: Mapping[int, Reason]
    course: list[tuple[float, float]] | None = None
    sensitivity: dict[str, Any] | None = None
    decided: tuple[StoppingDecision, Planned] | None = None


def refit_campaign(campaign: Campaign, lease: Lease) -> None:
    """Refit every board that ranks this campaign.

    The campaign's own board is screened. If the campaign collects, it is also decided and planned.
    """
    own = board_default(campaign=campaign)
    for board in campaign.boards.filter(slice_of=None).order_by("pk"):
        began = timezone.now()
        fitted = _fitted(board, began)
        if board == own:
            # The campaign may have changed meanwhile, and a plan from the old row would be useless.
            campaign.refresh_from_db()
            _refit_own(board, campaign, fitted, began, lease)
        elif fitted is not None:
            with write_transaction():
                lease.confirm()
                publish(board, fitted, began)
    campaign.refresh_from_db()
    if not campaign.collecting:
        queue_withdraw(campaign=campaign)


def _refit_own(board: Board, campaign: Campaign, fitted: Fitted | None, began: datetime, lease: Lease) -> None:
    """Publish the campaign's own board and write the results.

    While the campaign collects, the board is published first, so that readers do not wait for the rest. After a failure
    in between, the next try reads the votes again, because the input is not yet marked as seen.
    """
    refit = None
    if fitted is not None and campaign.collecting:
        with write_transaction():
            lease.confirm()
            refit = publish(board, fitted, began, seen="")
    following = _following(board, campaign, fitted, began)
    if fitted is None and not (following.changes or following.vetted) and following.decided is None:
        return
    rest = None
    with write_transaction():
        lease.confirm()
        if fitted is not None:
            refit = refit or publish(board, fitted, began)
            _finish(refit, fitted, following)
        changes_make(campaign, following.changes)
        newcomers_vet(campaign=campaign, reasons=following.vetted)
        if following.decided is not None:
            rest = _act(campaign, *following.decided, refit.snapshot if refit else None)
    if following.decided is not None and rest is not None:
        queue_finish(following.decided[1], rest, lease)


def _following(board: Board, campaign: Campaign, fitted: Fitted | None, began: datetime) -> Following:
    """Screen, decide and plan outside any transaction."""
    changes, vetted = _screened(board, fitted)
    goes_on = campaign.collecting and not acts_on_board(campaign, changes)
    is_new = fitted is not None and fitted.given is not None
    if not (goes_on or is_new):
        return Following(changes, vetted)
    planner, seen = Planner(campaign), queue_state_read(campaign)
    state = planner.state(fitted.posterior if fitted else None, judgments_spent(campaign), seen.counts)
    course = _course_at_random(campaign, state) if is_new else None
    moves = sensitivity_facts(fitted.posterior, fitted.given.table()) if fitted and fitted.given else None
    return Following(changes, vetted, course, moves, _decision(planner, state, seen, began) if goes_on else None)


def _finish(refit: Refit, fitted: Fitted, following: Following) -> None:
    """Write the results beside a published refit, and mark its input as seen."""
    Refit.objects.filter(pk=refit.pk).update(seen=fitted.mark)
    record = BoardChartData.objects.filter(board=refit.board, snapshot=refit.snapshot).only("fit").first()
    if following.course is not None and record is not None:
        record.fit |= {"at_random": list(following.course), "sensitivity": following.sensitivity or {}}
        record.save(update_fields=["fit"])
    if following.decided is not None and refit.snapshot is not None:
        _decided(refit.snapshot, following.decided[0])
    if fitted.given is not None and refit.board.default_of is not None:
        findings_request(refit.board.default_of)
        slices_request(refit.board.default_of)


def _course_at_random(campaign: Campaign, state: CampaignState) -> list[tuple[float, float]]:
    """Return the random baseline as (judgments, largest SE), unless the campaign itself chooses at random.

    It is a line in a chart. If it cannot be computed, it is left out and the refit continues. Chatbots without votes or
    without open items differ between the board and the state. Then there is nothing to compare, and the result is
    empty.
    """
    posterior = state.posterior
    if posterior is None or campaign.started_at is None or campaign.policy == "random":
        return []
    on_board = set(posterior.chatbots) == set(state.chatbots) and int(posterior.group.max(initial=1)) == 1
    if not on_board or not 2 <= len(state.chatbots) <= COMPARED_AT_MOST or not state.prompts:
        return []
    try:
        found = random_baseline(state)
    except (EngineError, SchedulerError, np.linalg.LinAlgError):
        log.warning("campaign %s: the random baseline failed", campaign.slug, exc_info=True)
        return []
    return [(round(n), round(se, 4)) for n, se in zip(found.judgments, found.largest_se, strict=True)]


def _screened(board: Board, fitted: Fitted | None) -> tuple[list[ExclusionChange], Mapping[int, Reason]]:
    """Return the changes that the screening wants, and the newcomers who are vetted.

    Screening also runs without a fit, because everybody who judged may be excluded or a newcomer. If no vote was read,
    the same votes were screened before.
    """
    campaign = board.default_of
    if campaign is None:
        return [], {}
    gold = NO_GOLD if campaign.screening == Campaign.Screening.OFF else gold_counts(campaign)
    due = newcomers_due(campaign, gold)
    given = fit_input(board) if fitted is None else fitted.given
    if given is None:
        return [], {key: reason for key, reason in due.items() if key not in to_screen(due)}
    votes = votes_to_screen(board, given)
    verdicts = _evidence(campaign, given, votes, fitted, gold)
    if fitted is not None and (new := to_screen(due)):
        theirs = votes_counted([campaign], board.aspect, annotators=new, without=LeftOut.NOBODY)
        beside = _evidence(campaign, given, [*votes, *theirs], fitted, gold)
        verdicts = {**verdicts, **{key: beside[key] for key in beside.keys() & set(new)}}
    changes = changes_wanted(campaign, votes, verdicts, gold)
    flagged = {change.annotator for change in changes if not change.lifted}
    return changes, {key: reason for key, reason in due.items() if key not in flagged}


def _evidence(
    campaign: Campaign,
    given: FitInput,
    votes: Sequence[CountedVote],
    fitted: Fitted | None,
    gold: GoldCounts,
) -> Mapping[int, EvidenceVerdict]:
    """Return the annotators against whom the fit speaks; none without a fit or without screening."""
    if fitted is None or campaign.screening == Campaign.Screening.OFF or not votes:
        return {}
    people = sorted({str(vote.annotator) for vote in votes if vote.annotator is not None})
    place = {int(name): number for number, name in enumerate(people)}
    groups = [{place[one] for one in group if one in place} for group in annotator_groups(campaign, votes)]
    found = evidence_verdicts(
        fitted.posterior,
        replace(given, votes=votes, ties=()).table(),
        groups,
        seconds=[math.nan if vote.client_ms is None else vote.client_ms for vote in votes],
        gold=replace(gold, counts={place[one]: counts for one, counts in gold.counts.items() if one in place}),
    )
    return {int(people[number]): verdict for number, verdict in found.items()}


def _decision(
    planner: Planner, state: CampaignState, seen: QueueState, began: datetime
) -> tuple[StoppingDecision, Planned]:
    """Return the decision and the plan."""
    campaign = planner.campaign
    state = with_retired(state, planner.design.retirement, planner.design.placement)
    verdict = decide(state, rules=rules_of(campaign, withheld=planner.withheld(state)))
    seconds = (timezone.now() - began).total_seconds()
    return verdict, planned_of(planner, state, seen, None if verdict.stop else queue_length(campaign, seconds))


def _fitted(board: Board, began: datetime) -> Fitted | None:
    """Return the fit of the board's votes; None before the first vote.

    A failure is stored, then raised.
    """
    mark = input_mark(board)
    same = _unchanged(board, mark)
    if same is not None:
        return Fitted(Posterior.from_bytes(bytes(same.posterior)), None, 0.0, same, None, mark)
    given = fit_input(board)
    return fitted_of(board, given, mark, began) if given.votes else None


def fitted_of(board: Board, given: FitInput, mark: str, began: datetime) -> Fitted:
    """Return the posterior of these votes: an earlier one with the same input, or a new fit.

    A failure is stored, then raised.
    """
    looks = _looks(board, given)
    fitted_before = board.snapshots.filter(input_sha256=given.sha256)
    same = fitted_before.filter(looks=looks).first()
    if same is not None:
        posterior = Posterior.from_bytes(bytes(same.posterior))
        shown = None if _has_record(board, same) else _shown(board, posterior, given, looks)
        return Fitted(posterior, given, 0.0, same, shown, mark, looks)
    earlier = fitted_before.order_by("-number").first()
    if earlier is not None:
        return _tested_again(board, earlier, given, mark, looks)
    # Read posteriors of this engine version only, because another version may encode them differently.
    last = board.snapshots.filter(engine=ENGINE).order_by("-number").first()
    clock = time.perf_counter()
    try:
        start = read_warm_start(bytes(last.posterior)) if last else None
        found, merged = given.fit(start)
    except EngineError as error:
        with write_transaction():
            Refit.objects.create(board=board, outcome=Refit.Outcome.FAILED, message=str(error), started_at=began)
        raise
    seconds = time.perf_counter() - clock
    shown = _shown(board, found.posterior, given, looks, found.warm_start, merged)
    return Fitted(found.posterior, given, seconds, None, shown, mark, looks)


def _looks(board: Board, given: FitInput) -> int | None:
    """Return the number of looks at the board with this input; None while votes may come in, or if none are planned."""
    planned = looks_planned(list(board.campaigns.select_related("stopping")))
    seen = board.snapshots.values_list("input_sha256", flat=True) if planned else ()
    return looks_at_stop(planned, set(seen), given.sha256)


def _tested_again(board: Board, earlier: Snapshot, given: FitInput, mark: str, looks: int | None) -> Fitted:
    """Return the fit of a snapshot with another number of looks, for a new snapshot: only the tests change."""
    stored = bytes(earlier.posterior)
    posterior = Posterior.from_bytes(stored)
    shown = _shown(board, posterior, given, looks)
    record = BoardChartData.objects.filter(board=board, snapshot=earlier).values_list("fit", flat=True).first() or {}
    fit = shown.fit | {"merged": record.get("merged")}
    return Fitted(posterior, given, earlier.seconds, None, replace(shown, fit=fit, posterior=stored), mark, looks)


def _unchanged(board: Board, mark: str) -> Snapshot | None:
    """Return the newest snapshot if nothing can have changed since, so that a needless refit is skipped."""
    last = Refit.objects.filter(board=board, snapshot__isnull=False).select_related("snapshot").order_by("-pk").first()
    if last is None or last.seen != mark or last.snapshot is None:
        return None
    return last.snapshot if _has_record(board, last.snapshot) else None


def _has_record(board: Board, snapshot: Snapshot) -> bool:
    return BoardChartData.objects.filter(board=board, snapshot=snapshot).exists()


def _shown(
    board: Board,
    posterior: Posterior,
    given: FitInput,
    looks: int | None,
    warm_start: WarmStart | None = None,
    merged: MergedPrompts | None = None,
) -> BoardContent:
    known = known_ties(board, [int(name) for name in posterior.chatbots])
    tests = board_tests(posterior, looks)
    rows = board_rows(posterior, points(given.votes, by_version(known)), tests)
    results = pairs(tests, posterior, given.votes, list(rows), known)
    stored = posterior.to_bytes(warm_start)
    return BoardContent(list(rows.values()), results, fit_facts(posterior, len(given.ties), merged), stored)


def publish(board: Board, fitted: Fitted, began: datetime, *, seen: str | None = None) -> Refit:
    """Store the snapshot and its chart data; reuse an earlier snapshot of the same input.

    seen: replaces the version of the input that was read, if more has to be written first.
    """
    snapshot = fitted.snapshot or _snapshot(board, fitted, fitted.given, fitted.shown)
    outcome = Refit.Outcome.UNCHANGED if fitted.snapshot else Refit.Outcome.PUBLISHED
    seen = fitted.mark if seen is None else seen
    refit = Refit.objects.create(board=board, outcome=outcome, snapshot=snapshot, seen=seen, started_at=began)
    if fitted.shown is not None:
        last = BoardChartData.objects.filter(board=board).values_list("fit", flat=True).first() or {}
        course = {"at_random": last.get("at_random", [])}  # Until the next baseline is computed.
        values = {
            "snapshot": snapshot,
            "pairs": [astuple(pair) for pair in fitted.shown.pairs],
            "fit": fitted.shown.fit | course,
        }
        BoardChartData.objects.update_or_create(board=board, defaults=values)
    return refit


def _snapshot(board: Board, fitted: Fitted, given: FitInput | None, shown: BoardContent | None) -> Snapshot:
    assert given is not None and shown is not None  # noqa: S101, PT018 - a new input is always read and worked out
    last = board.snapshots.order_by("-number").values_list("number", flat=True).first() or 0
    created: Snapshot = Snapshot.objects.create(
        board=board,
        number=last + 1,
        input_sha256=given.sha256,
        engine=ENGINE,
        seed=given.seed,
        judgments=given.judgments,
        annotators=given.annotators,
        converged=fitted.posterior.converged,
        seconds=fitted.seconds,
        looks=fitted.looks,
        rows=shown.rows,
        posterior=shown.posterior,
    )
    board_tell(board, snapshot=created.number, judgments=created.judgments, at=created.created_at)
    return created


def _decided(snapshot: Snapshot, verdict: StoppingDecision) -> None:
    """Store the decision, unless it repeats the last one of this snapshot."""
    evidence = {key: float(value) for key, value in verdict.evidence.items()}
    reason = as_stored(verdict.reason)
    last = snapshot.decisions.order_by("-pk").first()
    if last is None or (last.stop, last.reason, last.evidence) != (verdict.stop, reason.text, evidence):
        Decision.objects.create(
            snapshot=snapshot, stop=verdict.stop, reason=reason.text, reason_data=reason.data, evidence=evidence
        )


def _act(
    campaign: Campaign, verdict: StoppingDecision, planned: Planned, snapshot: Snapshot | None
) -> RemainingPlan | None:
    """Stop the campaign, or replace the queue and return the part that is still to be written.

    The campaign is locked and read again, so that changes during planning are seen.
    """
    now = Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
    if not now.collecting:
        queue_close(campaign=now)
        return None
    if planned.planner.is_outdated(now):
        refit_request(now)
        return None
    if verdict.stop:
        campaign_close(campaign=now, reason=verdict.reason)
        if looks_planned([now]) is not None:
            refit_request(now)  # Now that the number of looks is known, the board is tested again.
        log.info("campaign %s stopped: %s", now.slug, verdict.reason)
        return None
    notice_request(now, "progress", evidence={key: float(value) for key, value in verdict.evidence.items()})
    if now.state == Campaign.State.PILOT and _pilot_is_over(now):
        pilot_end(campaign=now)
        pilot_summary_request(now)
        queue_close(campaign=now)
        return None
    return queue_begin(now, planned, snapshot)


def _pilot_is_over(campaign: Campaign) -> bool:
    """Return whether the board includes all judgments of the pilot, so that no open batch holds any."""
    waiting = Batch.objects.filter(campaign=campaign, state=Batch.State.OPEN, judgments__isnull=False)
    return judgments_spent(campaign) >= campaign.pilot.judgments and not waiting.exists()
