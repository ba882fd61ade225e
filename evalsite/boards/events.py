"""Events in the history of a board: entrants added or withdrawn, pauses, changed limits, exclusions."""

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from evalsite.boards.models import Board
from evalsite.boards.selectors import Moment
from evalsite.core.models import AuditEntry

# Readers may see these targets because they are chatbots, not people or prompts.
NAMED = ("add_entrant", "withdraw_entrant")
COUNTED = ("exclude", "readmit", "retire_prompt")
PLAIN = ("pause", "resume", "launch", "stop", "extend")
ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """An event between two snapshots.

    moment: index of the snapshot before the event.
    names: names of chatbots, or of an engine.
    count: number of occurrences between the two snapshots.
    """

    moment: int
    at: datetime
    what: str
    names: tuple[str, ...]
    count: int


def events_of(board: Board, moments: Sequence[Moment]) -> list[BoardEvent]:
    """Return the events since the first of these snapshots, oldest first.

    Repeated events of one kind between two snapshots are merged into one.
    """
    if not moments:
        return []
    acts = _acts(board).filter(at__gt=moments[0].created_at)
    times = [moment.created_at for moment in moments]
    found: dict[tuple[int, str], list[tuple[datetime, str]]] = {}
    for at, act, target in acts.order_by("pk").values_list("at", "act", "target"):
        found.setdefault((bisect_right(times, at) - 1, act), []).append((at, target if act in NAMED else ""))
    for index, (before, after) in enumerate(itertools.pairwise(moments)):
        if before.engine != after.engine:
            found[index, ENGINE] = [(after.created_at, after.engine)]
    events = [
        BoardEvent(moment, each[0][0], what, tuple(dict.fromkeys(name for _, name in each if name)), len(each))
        for (moment, what), each in found.items()
    ]
    return sorted(events, key=lambda event: event.at)


def newest_event(board: Board) -> int:
    """Return the ID of the newest public audit entry, which changes with every new entry.

    Returns 0 before the first entry.
    """
    return _acts(board).order_by("-pk").values_list("pk", flat=True).first() or 0


def _acts(board: Board) -> QuerySet[AuditEntry]:
    subjects = list(board.campaigns.values_list("public_id", flat=True))
    return AuditEntry.objects.filter(subject__in=subjects, act__in=[*NAMED, *COUNTED, *PLAIN])
