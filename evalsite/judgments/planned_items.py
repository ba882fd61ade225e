"""Planned items in terms of database rows."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.campaigns.models import Entrant
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Assignment
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One planned comparison: this pair on this prompt, drawn with this probability; or one reply to judge alone.

    `votes` is the total number of votes wanted for the item. `shared` marks items of the overlap, which compares
    annotators. Items with the same `together` are issued in one block; None for an item alone. `item` is the item's
    key, computed once: all claims wait while a queue is written.
    """

    entrants: tuple[Entrant, ...]
    prompt: Prompt
    probability: float
    votes: int = 1
    shared: bool = False
    together: int | None = None
    item: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", item_of(self.prompt.pk, [entrant.pk for entrant in self.entrants]))

    @property
    def purpose(self) -> Assignment.Purpose:
        return Assignment.Purpose.OVERLAP if self.shared else Assignment.Purpose.MEASURE


@dataclass(frozen=True, slots=True)
class Origin:
    """The plan of queued items: its policy, its snapshot (public id) and its seed.

    Together with the probability of each draw given the earlier ones, they determine the probability of a queue.
    """

    policy: str = ""
    snapshot: uuid.UUID | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """A plan for a queue.

    - `asks`: the planned items, best first.
    - `head`: the number of them that belong to the head of the queue; None for all.
    - `kept`: the keys of queued assignments that may stay behind the plan, the first ones first, each with the total
      number of votes wanted for its item.
    - `length`: the number of items up to which such assignments stay.
    - `votes_per_pair`: the most votes of a pair; None without a limit.
    """

    asks: Sequence[PlannedItem]
    origin: Origin = field(default_factory=Origin)
    head: int | None = None
    kept: Mapping[int, int] = field(default_factory=dict)
    length: int = 0
    votes_per_pair: int | None = None
