"""What submitters see of their submissions: states, places, intervals over time, and prompts."""

from collections.abc import Sequence
from typing import Any

from django.urls import reverse

from evalsite.accounts.models import User
from evalsite.boards.rows import PRELIMINARY_BELOW
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.presentation.figures import panels
from evalsite.presentation.formatting import interval_text, rank_text, signed
from evalsite.submissions.events import next_step
from evalsite.submissions.models import Submission
from evalsite.submissions.results import Results, prompt_results, replies_comparable, results_of
from evalsite.submissions.selectors import may_act_for

MOST_PROMPTS = 100
ENDED = (Submission.State.REFUSED, Submission.State.WITHDRAWN)
DOTS = {"waiting": "paused", "received": "pilot", "checked": "pilot", "joined": "running", "placed": "running"}


def submissions_listed(rows: Sequence[Submission]) -> list[dict[str, Any]]:
    """Return the rows of the list."""
    return [_entry(one) for one in rows]


def _entry(submission: Submission) -> dict[str, Any]:
    results = results_of(submission)
    events = list(submission.events.all())
    return {
        "row": submission,
        "state": submission.get_state_display(),
        "dot": DOTS.get(submission.state, "stopped"),
        "reason": events[-1].reason_text if events else "",
        "next": next_step(submission),
        "place": _place(results),
        "judgments": results.judgments,
        "to_go": results.to_go,
        "of": PRELIMINARY_BELOW,
        "url": reverse("submission", args=[submission.public_id]),
    }


def _place(results: Results) -> dict[str, str]:
    row = results.row
    if row is None:
        return {}
    return {
        "rank": rank_text(row),
        "ability": signed(row["ability"]),
        "interval": interval_text(row["lower"], row["upper"]),
    }


def submission_context(submission: Submission, user: User) -> dict[str, Any]:
    """Return the context of a submission's page."""
    results, own = results_of(submission), may_act_for(submission.organisation, user)
    moments = results.moments if results.row else []
    seen = [one for one in moments if any(row.get("version") == _version(submission) for row in one.rows)]
    found = prompt_results(submission) if results.row else []
    campaign = submission.campaign
    return {
        **_entry(submission),
        "submission": submission,
        "campaign": campaign,
        "events": [(one, one.get_state_display(), one.reason_text) for one in submission.events.all()],
        "drawing": panels([results.row], moments) if results.row and len(seen) > 1 else None,
        "prompts": found[:MOST_PROMPTS],
        "prompts_more": max(0, len(found) - MOST_PROMPTS),
        "comparable": replies_comparable(campaign),
        "board_url": reverse("board", args=[campaign.slug]),
        "may_withdraw": own and submission.state not in ENDED,
        "may_moderate": allows(role_of(user, campaign), Act.MODERATE),
        "again_url": reverse("submit", args=[campaign.slug]) if own else "",
    }


def _version(submission: Submission) -> str:
    return str(submission.version.public_id) if submission.version else ""
