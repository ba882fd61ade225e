"""What must hold of a site after a fault, asked of its database."""

import warnings
from collections import Counter
from collections.abc import Mapping

import numpy as np
from django.db.models import Count
from django.utils import timezone

from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.core.models import Job
from evalsite.demo.client import Receipt
from evalsite.judgments.models import Answer, Assignment, Batch, Judgment
from evalsite.judgments.selectors import judgments_counted
from evalsite.refits.mapping import fit_input
from irt_engine import Posterior
from scheduler.estimator import estimate
from tests.faults.annotators import Ledger

TOLERANCE = 1e-9
State = Assignment.State


def settled(campaign: Campaign) -> bool:
    """Nobody holds anything, nothing waits to be done, and the board shows every judgment that counts."""
    if Assignment.objects.filter(campaign=campaign, state=State.ISSUED).exists():
        return False
    # An answer that was changed is no further judgment: until its batch closes, the numbers below say nothing of it.
    if Judgment.objects.filter(batch__campaign=campaign, batch__state=Batch.State.OPEN).exists():
        return False
    if Job.objects.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).exists():
        return False
    snapshot = snapshot_current(campaign.default_board)
    in_force = Judgment.objects.filter(
        batch__campaign=campaign, superseded_by=None, assignment__state=State.ANSWERED
    ).count()
    return snapshot is not None and snapshot.judgments == in_force == judgments_counted([campaign]).count()


def problems(campaign: Campaign, ledger: Ledger) -> list[str]:
    """Everything that is wrong, in words; empty when the fault did no harm."""
    return [*lost_or_doubled(campaign, ledger)[:5], *stuck(campaign)[:5], *strange_board(campaign)]


def lost_or_doubled(campaign: Campaign, ledger: Ledger) -> list[str]:
    """Every confirmed judgment is there exactly once and as it was given, and there is none that nobody gave."""
    said = lost(campaign, ledger.book())
    rows = Judgment.objects.filter(batch__campaign=campaign).values_list(
        "public_id", "assignment__public_id", "supersedes__public_id"
    )
    possible = Counter((receipt.assignment, receipt.supersedes) for receipt in ledger.unsure)
    unknown = Counter(
        (str(assignment), str(before) if before else None)
        for key, assignment, before in rows
        if str(key) not in ledger.confirmed
    )
    return said + [f"nobody gave the judgment of {assignment}" for assignment, _ in unknown - possible]


def lost(campaign: Campaign, confirmed: Mapping[str, Receipt]) -> list[str]:
    """Which of these judgments are not there exactly once and as they were given. People may go on judging."""
    rows = Judgment.objects.filter(batch__campaign=campaign).select_related("assignment", "supersedes")
    there = {
        str(row.public_id): (str(row.assignment.public_id), str(row.supersedes.public_id) if row.supersedes else None)
        for row in rows
    }
    choices: dict[str, dict[str, str]] = {}
    for answer in Answer.objects.filter(judgment__in=rows).select_related("judgment", "aspect", "candidate"):
        of_this = choices.setdefault(str(answer.judgment.public_id), {})
        of_this[answer.aspect.key] = answer.candidate.label if answer.candidate else answer.value
    said = []
    for key, receipt in confirmed.items():
        if key not in there:
            said.append(f"the confirmed judgment {key} is lost")
        elif there[key] != (receipt.assignment, receipt.supersedes) or choices[key] != receipt.choices:
            said.append(f"the judgment {key} is not what was confirmed")
    of = Counter(assignment for assignment, before in there.values() if before is None)
    return said + [f"the assignment {one} was judged {count} times" for one, count in of.items() if count > 1]


def stuck(campaign: Campaign) -> list[str]:
    """Assignments, places or jobs that nobody would ever look at again."""
    now = timezone.now()
    issued = Assignment.objects.filter(campaign=campaign, state=State.ISSUED)
    jobs = Job.objects.exclude(state=Job.State.DONE).values_list("kind", "state", "attempts", "last_error")
    said = [f"issued until {one.lease_until}, now {now}" for one in issued]
    said += [f"job {kind} is {state} after {attempts} attempts: {error}" for kind, state, attempts, error in jobs]
    places = Assignment.objects.filter(campaign=campaign).values("place").annotate(count=Count("pk"))
    open_ends = places.filter(state__in=[State.QUEUED, State.ISSUED, State.ANSWERED]).filter(count__gt=1)
    said += [f"place {one['place']} is open or answered {one['count']} times" for one in open_ends]
    if campaign.collecting and not Assignment.objects.filter(campaign=campaign, state=State.QUEUED).exists():
        said.append("nothing is queued")
    return said


def strange_board(campaign: Campaign) -> list[str]:
    """The board is what a fit from scratch of the same rows gives."""
    board = campaign.default_board
    given = fit_input(board)
    shown = snapshot_current(board)
    if shown is None:
        return ["there is no snapshot"]
    if shown.input_sha256 != given.sha256:
        return [f"the board was made of other judgments ({shown.judgments}) than are there ({len(given.votes)})"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the worker's fit says them into its log
        anew = estimate(given.table(), None, given.seed)
    apart = farthest(Posterior.from_bytes(bytes(shown.posterior)), anew)
    return [] if apart <= TOLERANCE else [f"the board is {apart:.1e} from a fit from scratch"]


def farthest(one: Posterior, other: Posterior) -> float:
    """The largest difference between two posteriors, over abilities and their covariance."""
    assert one.chatbots == other.chatbots
    pairs = [(one.ability, other.ability), (one.covariance, other.covariance)]
    return max(float(np.abs(a - b).max()) for a, b in pairs)
