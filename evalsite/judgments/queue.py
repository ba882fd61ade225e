"""The queue of a campaign: places that the plan wants filled, and the assignments that wait to be issued."""

import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.db import write_transaction
from evalsite.judgments.models import Assignment, Place
from evalsite.judgments.selectors import RANKING_PURPOSES, budget_left, item_counts
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """One ask of a plan, in rows: this pair, on this prompt, drawn with this probability.

    votes: wanted of the item in all. shared: the item is of the overlap, by which annotators are compared.
    """

    entrants: tuple[Entrant, Entrant]
    prompt: Prompt
    probability: float
    votes: int = 1
    shared: bool = False

    @property
    def item(self) -> str:
        return item_of(self.prompt.pk, [entrant.pk for entrant in self.entrants])

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


def item_of(prompt_id: int, entrant_ids: Sequence[int]) -> str:
    """The name of what is shown, whatever the order: a prompt and the entrants that answer it."""
    return f"{prompt_id}:" + "-".join(str(number) for number in sorted(entrant_ids))


def item_parts(item: str) -> tuple[int, tuple[int, ...]]:
    """Prompt id and entrant ids of an item's name."""
    prompt, entrants = item.split(":")
    return int(prompt), tuple(int(number) for number in entrants.split("-"))


def queue_replace(
    *, campaign: Campaign, asks: Sequence[PlannedAsk], origin: Origin, votes_per_pair: int | None = None
) -> None:
    """Make the queue what the plan says: keep what is still wanted, withdraw the rest, add what is new.

    Only QUEUED rows change; what is issued stays. What was issued or answered while the plan was made is not asked
    beyond the votes wanted of it and of its pair, nor beyond the budget.
    """
    with write_transaction():
        waiting: dict[str, list[Assignment]] = {}
        # Locked first: claims under way have committed, or wait for us, before anything is counted.
        queued = Assignment.objects.select_for_update().filter(campaign=campaign, state=Assignment.State.QUEUED)
        for assignment in queued.filter(purpose__in=RANKING_PURPOSES).order_by("pk"):
            waiting.setdefault(assignment.item, []).append(assignment)
        kept, new = [], []
        for priority, ask in enumerate(_still_wanted(campaign, asks, votes_per_pair)):
            same = waiting.get(ask.item)
            if same:
                kept.append(_planned(same.pop(), priority, ask, origin))
            else:
                new.append((priority, ask))
        fields = ["priority", "purpose", "policy", "snapshot", "plan_seed", "probability"]
        Assignment.objects.bulk_update(kept, fields, batch_size=200)
        _withdraw([assignment for same in waiting.values() for assignment in same])
        _add(campaign, new, origin)


def _still_wanted(campaign: Campaign, asks: Sequence[PlannedAsk], votes_per_pair: int | None) -> list[PlannedAsk]:
    counts = item_counts(campaign)
    of_item = Counter(counts.judged) + Counter(counts.pending)
    of_pair: Counter[tuple[int, ...]] = Counter()
    for item, count in of_item.items():
        of_pair[item_parts(item)[1]] += count
    wanted = []
    for ask in asks:
        pair = item_parts(ask.item)[1]
        if of_item[ask.item] < ask.votes and (votes_per_pair is None or of_pair[pair] < votes_per_pair):
            of_item[ask.item] += 1
            of_pair[pair] += 1
            wanted.append(ask)
    return wanted[: budget_left(campaign)]


def queue_withdraw(*, campaign: Campaign) -> None:
    """Empty the queue, as after a stop. What is issued may still be answered."""
    with write_transaction():
        _withdraw(list(Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)))


def requeue(assignment: Assignment) -> None:
    """Queue a new assignment for the place of one that ended without an answer."""
    Assignment.objects.create(
        campaign_id=assignment.campaign_id,
        place_id=assignment.place_id,
        item=assignment.item,
        purpose=assignment.purpose,
        priority=assignment.priority,
        policy=assignment.policy,
        snapshot=assignment.snapshot,
        plan_seed=assignment.plan_seed,
        probability=assignment.probability,
    )


def _planned(assignment: Assignment, priority: int, ask: PlannedAsk, origin: Origin) -> Assignment:
    assignment.priority, assignment.purpose, assignment.probability = priority, ask.purpose, ask.probability
    assignment.policy, assignment.snapshot, assignment.plan_seed = origin.policy, origin.snapshot, origin.seed
    return assignment


def _withdraw(assignments: Sequence[Assignment]) -> None:
    Assignment.objects.filter(
        pk__in=[assignment.pk for assignment in assignments], state=Assignment.State.QUEUED
    ).update(state=Assignment.State.WITHDRAWN, closed_at=timezone.now())


def _add(campaign: Campaign, asks: Sequence[tuple[int, PlannedAsk]], origin: Origin) -> None:
    """New places with a queued assignment each. What it shows, on which side, is decided when it is claimed."""
    places = Place.objects.bulk_create(Place(campaign=campaign, prompt=ask.prompt, item=ask.item) for _, ask in asks)
    Assignment.objects.bulk_create(
        _planned(Assignment(campaign=campaign, place=place, item=place.item), priority, ask, origin)
        for place, (priority, ask) in zip(places, asks, strict=True)
    )
