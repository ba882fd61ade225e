"""Summary of a pilot: time per judgment, share of ties, agreement, and a forecast of the rest."""

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign, Pilot
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lease
from evalsite.core.reasons import StoredReason
from evalsite.judgments.selectors import CountedVote, votes_counted
from evalsite.refits.findings import annotator_findings
from evalsite.refits.forecasts import campaign_forecast, forecast_error
from evalsite.refits.mapping import FitInput
from irt_engine import EngineError
from irt_engine.agreement import vote_agreement
from scheduler import SchedulerError


@dataclass(frozen=True, slots=True)
class PilotSummary:
    """Results of a pilot.

    seconds: median time of a judgment.
    tie_share: share of ties among the judgments.
    agreement: Krippendorff's alpha; None if no comparison was judged twice. `shared` is the number of comparisons with
        two or more votes.
    hours: annotator hours for the remaining campaign (low, middle, high).
    forecast: `scheduler.Forecast` from the pilot's own fit, or the reason why there is none.
    """

    judgments: int
    annotators: int
    seconds: float | None
    tie_share: float
    shared: int
    agreement: float | None
    suspects: int
    forecast: dict[str, Any] | None
    hours: tuple[float, float, float] | None
    trouble: str
    trouble_data: dict[str, Any] | None = None


def summary_make(campaign: Campaign, lease: Lease) -> None:
    """Compute the summary outside any transaction, and store it with the pilot."""
    board = board_default(campaign=campaign)
    summary = asdict(summary_of(campaign, votes_counted([campaign], board.aspect)))
    with write_transaction():
        lease.confirm()
        Pilot.objects.filter(campaign=campaign).update(summary=summary)


def summary_of(campaign: Campaign, votes: list[CountedVote]) -> PilotSummary:
    """Return the summary of these votes, which are all that count."""
    times = [vote.client_ms / 1000 for vote in votes if vote.client_ms is not None]
    seconds = statistics.median(times) if times else None
    forecast, trouble = _forecast(campaign)
    hours = None
    if forecast is not None and seconds is not None:
        low, middle, high = (forecast["judgments"][name] * seconds / 3600 for name in ("low", "middle", "high"))
        hours = (low, middle, high)
    shared, agreement = _agreement(votes)
    return PilotSummary(
        judgments=len(votes),
        annotators=len({vote.annotator for vote in votes}),
        seconds=seconds,
        tie_share=sum(vote.outcome == 0 for vote in votes) / max(len(votes), 1),
        shared=shared,
        agreement=agreement,
        suspects=sum(one.decision == "exclude" for one in annotator_findings(votes)),
        forecast=forecast,
        hours=hours,
        trouble=trouble.text,
        trouble_data=trouble.data,
    )


def _forecast(campaign: Campaign) -> tuple[dict[str, Any] | None, StoredReason]:
    try:
        return asdict(campaign_forecast(campaign, per_day=campaign.per_day)), StoredReason("")
    except SchedulerError as error:
        return None, forecast_error(error, campaign.policy)
    except EngineError as error:
        return None, StoredReason(str(error))


def _agreement(votes: list[CountedVote]) -> tuple[int, float | None]:
    """Return the number of comparisons with two or more votes, and the agreement beyond chance."""
    try:
        found = vote_agreement(FitInput(votes, "", 0).table()).alpha_ordinal
    except EngineError:
        return 0, None
    return found.items, found.value
