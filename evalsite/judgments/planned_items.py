"""Planned items in terms of database rows."""

import uuid
from dataclasses import dataclass, field

from evalsite.campaigns.models import Entrant
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Assignment
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One planned comparison: this pair on this prompt, drawn with this probability.

    `votes` is the total number of votes wanted for the item. `shared` marks items of the overlap, which compares
    annotators. `item` is the item's key, computed once: all claims wait while a queue is written.
    """

    entrants: tuple[Entrant, Entrant]
    prompt: Prompt
    probability: float
    votes: int = 1
    shared: bool = False
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
