"""The counted votes of boards, kept by a worker from one refit to the next.

What a closed batch holds are facts. To read 100,000 of them anew after each batch takes a second, half of it of the
database's, which does not give way to those who judge as a worker does. So a refit reads the batches that have closed
since, and leaves out whose place they took. Where anything else may have changed which votes count, all are read again.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Batch
from evalsite.judgments.selectors import (
    CountedVote,
    judgments_taken_back,
    left_out_mark,
    votes_by_judgment,
)

MOST_KEPT = 400_000  # votes of all boards together, a hundred megabytes: those of boards seen longest ago go first
MOST_BATCHES = 200  # that are read by their names: for more than these all are read again

Batches = frozenset[tuple[int, datetime | None]]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What votes depend on. left_out: the mark of that; batches: those that are closed."""

    left_out: str
    batches: Batches


@dataclass(frozen=True, slots=True)
class _Kept:
    """Votes by the keys of their judgments, and what was seen before they were read."""

    seen: _Seen
    votes: Mapping[int, CountedVote]

    def leads_to(self, now: _Seen) -> bool:
        """Whether nothing has happened since but that a few batches were closed."""
        batches = self.seen.batches
        return (
            self.seen.left_out == now.left_out and batches <= now.batches and len(now.batches - batches) <= MOST_BATCHES
        )


class KeptVotes:
    """Of several boards; shared by the threads of a worker, each of which finds what the last one read."""

    def __init__(self) -> None:
        self._boards: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, board: Board, campaigns: list[Campaign]) -> list[CountedVote]:
        """The counted votes of a board, as `votes_counted` gives them, in the order of their judgments' keys."""
        name = (*(campaign.public_id for campaign in campaigns), board.aspect_id, board.category)
        with self._lock:
            before = self._boards.get(name)
        seen, votes = _seen(campaigns), None  # first: what comes before the votes are read is found missing next time
        if before is not None and before.leads_to(seen):
            votes = _gone_on(before, seen, board, campaigns)
            if _seen(campaigns) != seen:  # between two of its statements: only one of them may have seen that
                votes = None
        if votes is None:
            votes = votes_by_judgment(campaigns, board.aspect, category=board.category)
        self._keep(name, _Kept(seen, votes))
        return [votes[key] for key in sorted(votes)]

    def _keep(self, name: tuple[Any, ...], kept: _Kept) -> None:
        with self._lock:
            self._boards.pop(name, None)
            if len(kept.votes) > MOST_KEPT:  # all others would have to go, and then this one
                return
            self._boards[name] = kept
            while sum(len(one.votes) for one in self._boards.values()) > MOST_KEPT:
                self._boards.popitem(last=False)


KEPT = KeptVotes()


def _gone_on(before: _Kept, now: _Seen, board: Board, campaigns: list[Campaign]) -> dict[int, CountedVote]:
    fresh = [key for key, _ in now.batches - before.seen.batches]
    new = votes_by_judgment(campaigns, board.aspect, category=board.category, batches=fresh)
    taken_back = judgments_taken_back(fresh)
    return {key: vote for key, vote in {**before.votes, **new}.items() if key not in taken_back}


def _seen(campaigns: list[Campaign]) -> _Seen:
    """All by key and time: in a database that was emptied and filled again keys come back, times do not; and what a
    restored backup brings back is what was read."""
    closed = Batch.objects.filter(campaign__in=campaigns, state=Batch.State.CLOSED)
    return _Seen(left_out_mark(campaigns), frozenset(closed.values_list("pk", "closed_at")))
