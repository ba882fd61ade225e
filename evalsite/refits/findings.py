"""Findings about annotators and prompts, for the owner of the campaign and not for the ranking."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.boards.chart_data import DIFFERENCES, DIGITS, MARGIN, points
from evalsite.boards.models import Snapshot
from evalsite.boards.rows import BoardRow, board_rows, board_tests
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.core.jobs import Lease
from evalsite.core.reasons import as_stored
from evalsite.judgments.models import Annotator
from evalsite.judgments.selectors import CountedVote, LeftOut, judgments_counted, votes_counted
from evalsite.refits.answer_agreement import LEAST_CELLS, answer_verdicts
from evalsite.refits.gold_findings import gold_findings
from evalsite.refits.mapping import ENGINE, FitInput, fit_input, input_named, versions_of
from evalsite.refits.models import Findings
from evalsite.refits.screening import reason_of
from evalsite.refits.vote_cache import VOTE_CACHE
from irt_engine import EngineError, Posterior
from irt_engine.agreement import Verdict, screen
from irt_engine.agreement.prompt_redundancy import redundant_prompts
from irt_engine.information import InformationTable
from scheduler.reasons import Reason

PACES, PACE_LEAST = 12, 3
LEAST_FOR_INTERVAL = 4  # Fisher's interval of a correlation needs more than three cells.


@dataclass(frozen=True, slots=True)
class AnnotatorFinding:
    """Statistics of one annotator (`annotator`: key).

    Shares are fractions of 1, times are in seconds. agreement is the correlation with the others, with its 95 %
    interval. pace holds the median seconds of up to PACES equal parts of the work, from first to last. decision,
    reason and reason_data come from the screening (irt_engine.agreement.screen); they have no effect by themselves.
    """

    annotator: int
    votes: int
    shared: int
    agreement: float | None
    lower: float | None
    upper: float | None
    seconds: float | None
    first_share: float | None
    tie_share: float
    decision: str
    reason: str
    reason_data: dict[str, Any] | None
    pace: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptFinding:
    """Statistics of one prompt (`prompt`: key): votes, discrimination and its SE.

    information: expected information of one more judgment at each ability difference of `DIFFERENCES`, in 1 / logit^2.
    half_at: the ability difference at which the stronger chatbot wins every second vote.
    by_tier: discriminations among the chatbots of each tier, the strongest first; empty without tiers.
    like: keys of redundant prompts (irt_engine.agreement.prompt_redundancy).
    """

    prompt: int
    judgments: int
    discrimination: float | None = None
    se: float | None = None
    information: Sequence[float] = ()
    half_at: float | None = None
    like: Sequence[int] = ()
    by_tier: Sequence[float] = ()


def findings_make(campaign: Campaign, lease: Lease) -> None:
    """Compute the findings and replace the last ones.

    Excluded annotators are included, because they may be readmitted.
    """
    board = board_default(campaign=campaign)
    votes = votes_counted([campaign], board.aspect, without=LeftOut.NOBODY)
    judges = answer_findings(campaign) if campaign.is_single else annotator_findings(votes)
    annotators = [asdict(one) for one in judges]
    newest = board.snapshots.filter(engine=ENGINE).order_by("-number").first()
    counted = VOTE_CACHE.read(board, [campaign])
    prompts = [asdict(one) for one in prompt_findings(votes, newest, redundant_groups(counted))]
    gold = gold_findings(campaign)
    with write_transaction():
        lease.confirm()
        made = {"annotators": annotators, "prompts": prompts, "gold": gold, "made_at": timezone.now()}
        Findings.objects.update_or_create(campaign=campaign, defaults=made)


def annotator_findings(votes: Sequence[CountedVote]) -> list[AnnotatorFinding]:
    """Return the findings of every annotator with a key; none if the votes cannot be screened."""
    if not any(vote.annotator is not None for vote in votes):
        return []
    table = FitInput(votes, "", 0).table()
    seconds = [None if vote.client_ms is None else vote.client_ms / 1000 for vote in votes]
    try:
        timed = any(each is not None for each in seconds)
        found = screen(table, seconds=seconds if timed else None, min_cells=LEAST_CELLS)
    except EngineError:
        return []
    keys = {int(number): vote.annotator for number, vote in zip(table.annotator, votes, strict=True)}
    known = ((keys[verdict.annotator], verdict) for verdict in found.verdicts)
    times = _times(votes)
    return [replace(_finding(key, one), pace=pace(times.get(key, []))) for key, one in known if key is not None]


def answer_findings(campaign: Campaign) -> list[AnnotatorFinding]:
    """Return the findings of annotators who label or rate single replies; agreement is kappa, without an interval."""
    verdicts = answer_verdicts(campaign, without=LeftOut.NOBODY)
    judgments = judgments_counted([campaign], without=LeftOut.NOBODY).filter(annotator__isnull=False).order_by("pk")
    times: dict[int, list[float]] = {}
    for annotator, milliseconds in judgments.values_list("annotator", "client_ms"):
        if milliseconds is not None:
            times.setdefault(annotator, []).append(milliseconds / 1000)
    return [
        replace(_finding(annotator, one, answers=True), lower=None, upper=None, pace=pace(times.get(annotator, [])))
        for annotator, one in verdicts.items()
    ]


def _times(votes: Sequence[CountedVote]) -> Mapping[int, list[float]]:
    """Map annotators to the seconds of their judgments in order, as far as the client reported them."""
    found: dict[int, list[float]] = {}
    for vote in votes:
        if vote.annotator is not None and vote.client_ms is not None:
            found.setdefault(vote.annotator, []).append(vote.client_ms / 1000)
    return found


def pace(seconds: Sequence[float]) -> tuple[float, ...]:
    """Return the medians of equal parts of a series.

    There are PACES parts, or fewer if a part would have less than PACE_LEAST values.
    """
    parts = min(PACES, len(seconds) // PACE_LEAST)
    ends = [round(number * len(seconds) / parts) for number in range(parts + 1)] if parts > 1 else []
    return tuple(round(median(seconds[start:end]), 2) for start, end in pairwise(ends))


def _finding(annotator: int, verdict: Verdict, *, answers: bool = False) -> AnnotatorFinding:
    seen = verdict.statistics
    lower, upper = _interval(seen.correlation, seen.cells)
    return AnnotatorFinding(
        annotator,
        seen.votes,
        seen.cells,
        seen.correlation,
        lower,
        upper,
        seen.median_seconds,
        seen.first_share,
        seen.tie_share,
        verdict.decision,
        *as_stored(reason_of(verdict, answers=answers)),
    )


def _interval(correlation: float | None, cells: int) -> tuple[float | None, float | None]:
    """Return Fisher's 95 % interval of a correlation over `cells` pairs."""
    if correlation is None or cells < LEAST_FOR_INTERVAL or abs(correlation) >= 1.0:
        return None, None
    middle, margin = math.atanh(correlation), MARGIN / math.sqrt(cells - 3)
    return math.tanh(middle - margin), math.tanh(middle + margin)


def prompt_findings(
    votes: Sequence[CountedVote], snapshot: Snapshot | None, groups: Sequence[Sequence[int]] = ()
) -> list[PromptFinding]:
    """Return the findings of every judged prompt.

    groups: groups of redundant prompts.
    """
    fitted = _fitted_prompts(snapshot) if snapshot is not None else {}
    like = {prompt: [other for other in group if other != prompt] for group in groups for prompt in group}
    return [
        replace(fitted.get(prompt, PromptFinding(prompt, 0)), judgments=count, like=like.get(prompt, ()))
        for prompt, count in Counter(vote.prompt for vote in votes if not vote.live).items()
    ]


def _fitted_prompts(snapshot: Snapshot) -> dict[int, PromptFinding]:
    """Map prompt keys to the estimates in a snapshot's fit.

    Both directions of an ability difference have the same information.
    """
    posterior = Posterior.from_bytes(bytes(snapshot.posterior))
    slope, slope_se, edges = posterior.discrimination, posterior.discrimination_se, posterior.thresholds
    cell_sd = posterior.scales.fresh
    table = InformationTable.of(
        slope,
        edges,
        discrimination_se=slope_se,
        cell_sd=cell_sd,
        reach=DIFFERENCES[-1],
        points=2 * len(DIFFERENCES) - 1,
    )
    upper = table.values[len(DIFFERENCES) - 1 :].T.round(DIGITS).tolist()
    ties = edges[:, -1].tolist()
    unit = posterior.scales.unit  # A typical prompt is displayed with a discrimination of 1.
    shown, shown_se = (slope / unit).tolist(), (slope_se / unit).tolist()
    among = np.diagonal(posterior.tier_discrimination, axis1=1, axis2=2) / unit
    by_tier = among.tolist() if posterior.tier.size else [[]] * len(shown)
    columns = zip(posterior.prompts, shown, shown_se, upper, ties, by_tier, strict=True)
    return {
        int(name): PromptFinding(int(name), 0, value, se, told, max(0.0, tie), by_tier=tiers)
        for name, value, se, told, tie, tiers in columns
        if name.isdecimal()  # not a conversation
    }


def redundant_groups(votes: Sequence[CountedVote]) -> list[list[int]]:
    """Return groups of redundant prompts (keys); none if the votes cannot show any."""
    if not votes:
        return []
    try:
        found = redundant_prompts(FitInput(votes, "", 0).table())
    except EngineError:
        return []
    return [[int(name) for name in group] for group in found.groups]


def board_without(campaign: Campaign, annotator_id: str) -> Mapping[str, Any]:
    """Return the campaign's current board, and the board without this annotator (a public ID).

    Raises Conflict if no votes would be left.
    """
    board = board_default(campaign=campaign)
    gone = Annotator.objects.get(public_id=annotator_id)
    given = fit_input(board)
    left = input_without(given, gone.pk)
    if not left.votes:
        raise Conflict(
            _("Without this annotator no judgment is left."),
            hint=_("There would be no board."),
            reason=Reason("board_would_be_empty"),
        )
    now, then = _rows(given), _rows(left)
    return {
        "judgments": [given.judgments, left.judgments],
        "rows": [_changed(row, then.get(version)) for version, row in now.items()],
    }


def input_without(given: FitInput, annotator: int) -> FitInput:
    """Return the fit input without an annotator.

    Known ties stay only for chatbots that others have judged.
    """
    votes = [vote for vote in given.votes if vote.annotator != annotator]
    left = versions_of(votes)
    ties = [tie for tie in given.ties if {tie.first_version, tie.second_version} <= left]
    without = input_named(votes, ties, given.seed)
    return replace(without, conversations=given.conversations, tiers=given.tiers, merge_redundant=given.merge_redundant)


def _rows(given: FitInput) -> dict[int, BoardRow]:
    try:
        posterior = given.fit()[0].posterior
        return board_rows(posterior, points(given.votes), board_tests(posterior, None))
    except EngineError as error:
        message = _("The fit failed: %(error)s.") % {"error": error}
        raise Conflict(message, reason=Reason("fit_failed", {"rest": str(error)})) from error


def _changed(row: BoardRow, after: BoardRow | None) -> dict[str, Any]:
    return {
        "name": row["name"],
        "rank": [row["rank"], after["rank"] if after else None],
        "ability": [row["ability"], after["ability"] if after else None],
        "se": [row["se"], after["se"] if after else None],
    }
