"""A cache of boards' counted votes, which a worker keeps from one refit to the next.

The votes of a closed batch do not change. Reading 100,000 votes after each batch takes a second. Half of it is the
database's, which does not yield to annotators' requests as a worker does. So a refit reads only the batches closed
since and the votes of newcomers vetted since, and drops the votes that they replace. If anything else may have changed
which votes count, it reads all votes again.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.core.composed import composed
from evalsite.judgments.models import Batch
from evalsite.judgments.selectors import (
    CountedVote,
    exclusions_version,
    judgments_taken_back,
    newcomers_vetted,
    votes_by_judgment,
)

MOST_VOTES = 400_000  # Votes of all boards together, about 100 MB. The least recently used boards are dropped first.
MOST_BATCHES = 200  # Batches that are read by ID. For more than these, all votes are read again.
MOST_VETTED = 200  # Newcomers whose votes are read by ID, likewise.

Batches = frozenset[tuple[int, datetime | None]]


@dataclass(frozen=True, slots=True)
class _InputState:
    """Everything that the counted votes depend on.

    left_out: the hash of what is left out.
    vetted: the newcomers whose votes count by now.
    batches: the closed batches.
    """

    left_out: str
    vetted: frozenset[tuple[int, datetime]]
    batches: Batches


@dataclass(frozen=True, slots=True)
class _CachedVotes:
    """Votes by the keys of their judgments, with the state that was read before them."""

    seen: _InputState
    votes: Mapping[int, tuple[CountedVote, ...]]

    def can_extend_to(self, now: _InputState) -> bool:
        """Return whether nothing has changed since, except that a few batches were closed and newcomers vetted."""
        seen = self.seen
        grown = seen.batches <= now.batches and seen.vetted <= now.vetted
        few = len(now.batches - seen.batches) <= MOST_BATCHES and len(now.vetted - seen.vetted) <= MOST_VETTED
        return seen.left_out == now.left_out and grown and few


class VoteCache:
    """Cached votes of several boards.

    The threads of a worker share it, so each finds the votes that another one read.
    """

    def __init__(self) -> None:
        self._boards: OrderedDict[tuple[Any, ...], _CachedVotes] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, board: Board, campaigns: list[Campaign]) -> list[CountedVote]:
        """Return the counted votes of a board, as `votes_counted` does, in the order of the judgments' keys."""
        name = (*(campaign.public_id for campaign in campaigns), board.aspect_id, board.category)
        with self._lock:
            before = self._boards.get(name)
        votes: Mapping[int, tuple[CountedVote, ...]] | None = None
        seen = _input_state(campaigns)  # Read before the votes: a change in between is then detected next time.
        if not seen.batches:
            votes = {}  # Only votes of closed batches count.
        elif before is not None and before.seen == seen:
            votes = before.votes
        elif before is not None and before.can_extend_to(seen):
            votes = _updated_votes(before, seen, board, campaigns)
            # The batches changed between the two statements, so perhaps only one of them saw the change.
            if _input_state(campaigns) != seen:
                votes = None
        if votes is None:
            votes = votes_by_judgment(campaigns, board.aspect, category=board.category)
        self._store(name, _CachedVotes(seen, votes))
        return [vote for key in sorted(votes) for vote in votes[key]]

    def _store(self, name: tuple[Any, ...], kept: _CachedVotes) -> None:
        with self._lock:
            self._boards.pop(name, None)
            if len(kept.votes) > MOST_VOTES:  # It would evict all others, and then itself.
                return
            self._boards[name] = kept
            while sum(len(one.votes) for one in self._boards.values()) > MOST_VOTES:
                self._boards.popitem(last=False)


VOTE_CACHE = VoteCache()


def _updated_votes(
    before: _CachedVotes, now: _InputState, board: Board, campaigns: list[Campaign]
) -> dict[int, tuple[CountedVote, ...]]:
    fresh = [key for key, _ in now.batches - before.seen.batches]
    vetted = [annotator for annotator, _ in now.vetted - before.seen.vetted]
    new = votes_by_judgment(campaigns, board.aspect, category=board.category, batches=fresh, annotators=vetted)
    taken_back = judgments_taken_back(fresh)
    return {key: vote for key, vote in {**before.votes, **new}.items() if key not in taken_back}


def _input_state(campaigns: list[Campaign]) -> _InputState:
    """Return the closed batches by key and time.

    A database that was emptied and filled again reuses keys but not times. A restored backup brings back the votes that
    were read.
    """
    closed = frozenset(_closed_batches([campaign.pk for campaign in campaigns]))
    return _InputState(exclusions_version(campaigns), newcomers_vetted(campaigns), closed)


@composed
def _closed_batches(campaigns: list[int]) -> QuerySet[Batch, tuple[int, datetime | None]]:
    return Batch.objects.filter(campaign__in=campaigns, state=Batch.State.CLOSED).values_list("pk", "closed_at")
