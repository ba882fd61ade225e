"""What a plan asks, as rows."""

import uuid
from dataclasses import dataclass, field

from evalsite.campaigns.models import Entrant
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Assignment
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """One ask of a plan, in rows: this pair, on this prompt, drawn with this probability.

    votes: wanted of the item in all. shared: the item is of the overlap, by which annotators are compared. item: its
    name, made once, since everybody waits while a queue is written.
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
    """The plan that asks come from: its policy, the snapshot that it was made from (its public id), its seed.

    With the probability of each draw given the earlier ones they tell how likely any queue was.
    """

    policy: str = ""
    snapshot: uuid.UUID | None = None
    seed: int = 0
