"""Results of a submitted chatbot for its submitter: its place, its interval over time, and each prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.boards.models import Board, Snapshot
from evalsite.boards.rows import PRELIMINARY_BELOW, BoardRow
from evalsite.boards.selectors import Moment, history, snapshot_current
from evalsite.boards.withdrawn_rows import rows_now
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary, versions_withdrawn
from evalsite.chatbots.models import Reply, Version
from evalsite.judgments.selectors import votes_counted
from evalsite.prompts.models import Prompt
from evalsite.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class Results:
    """The newest row of a submission; None before its first judgments are ranked. `to_go`: until it has its place."""

    snapshot: Snapshot | None
    row: BoardRow | None
    judgments: int
    to_go: int

    @property
    def moments(self) -> list[Moment]:
        """Return the board's history for a chart."""
        return history(self.snapshot) if self.snapshot else []


def results_of(submission: Submission) -> Results:
    """Return the place of a submission on its campaign's board."""
    board = Board.objects.filter(default_of=submission.campaign_id).first()
    snapshot = snapshot_current(board) if board and submission.version_id else None
    version = str(submission.version.public_id) if submission.version else ""
    gone = versions_withdrawn([submission.campaign]) if snapshot else {}
    rows = rows_now(snapshot.rows, gone) if snapshot else []
    row = next((one for one in rows if one.get("version") == version), None)
    judgments = row["judgments"] if row else 0
    on_board = submission.state in Submission.ON_BOARD
    return Results(snapshot, row, judgments, max(0, PRELIMINARY_BELOW - judgments) if on_board else 0)


@dataclass(frozen=True, slots=True)
class OpponentResult:
    """Votes against one other version on a prompt."""

    name: str
    label: str
    won: int
    tied: int
    lost: int
    reply: str = ""


@dataclass(frozen=True, slots=True)
class SubmittedPromptResult:
    """Votes about the chatbot on one prompt. `reply` is its own; those of opponents only where they may be shown."""

    key: str
    prompt: str
    reply: str
    won: int
    tied: int
    lost: int
    opponents: Sequence[OpponentResult]


def replies_comparable(campaign: Campaign) -> bool:
    """Return whether submitters may read the replies of others: the campaign releases them, and collects no more.

    Until then annotators may be asked about any of them, and must not know whose they are.
    """
    return campaign.shows_replies and not campaign.collecting


def prompt_results(submission: Submission) -> list[SubmittedPromptResult]:
    """Return the result on each judged prompt, the lost ones first."""
    if submission.version_id is None:
        return []
    campaign, own = submission.campaign, submission.version_id
    votes = votes_counted([campaign], aspect_primary(campaign), version=own)
    counts: dict[int, dict[int, list[int]]] = {}
    for vote in votes:
        is_first = vote.first_version == own
        other = vote.second_version if is_first else vote.first_version
        of = counts.setdefault(vote.prompt, {}).setdefault(other, [0, 0, 0])
        of[1 + (vote.outcome if is_first else -vote.outcome)] += 1
    return _results(campaign, own, counts)


def _results(campaign: Campaign, own: int, counts: dict[int, dict[int, list[int]]]) -> list[SubmittedPromptResult]:
    others = {version for met in counts.values() for version in met}
    versions = Version.objects.select_related("chatbot").in_bulk(others)
    prompts = Prompt.objects.in_bulk(counts)
    read = {own, *others} if replies_comparable(campaign) else {own}
    rows = Reply.objects.shown().filter(version__in=read, prompt__in=counts)
    replies = {(version, prompt): text for version, prompt, text in rows.values_list("version", "prompt", "text")}
    found = []
    for number, met in counts.items():
        opponents = [
            _opponent(versions[other], of, replies.get((other, number)))
            for other, of in sorted(met.items(), key=lambda one: (one[1][0] - one[1][2], one[0]))
        ]
        won, tied, lost = (sum(of[place] for of in met.values()) for place in range(3))
        turns = prompts[number].turns or []
        text = turns[-1]["text"] if turns else ""
        reply = replies.get((own, number)) or ""
        found.append(SubmittedPromptResult(prompts[number].key, text, reply, won, tied, lost, opponents))
    return sorted(found, key=lambda one: (one.won - one.lost, one.key))


def _opponent(version: Version, counts: Sequence[int], reply: str | None) -> OpponentResult:
    won, tied, lost = counts
    return OpponentResult(version.chatbot.name, version.label, won, tied, lost, reply or "")
