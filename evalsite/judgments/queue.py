"""The queue of a campaign: places that the plan wants filled, and the assignments that wait to be issued."""

import random
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.chatbots.models import Reply
from evalsite.core.db import write_transaction
from evalsite.judgments.models import Assignment, Candidate, Place
from evalsite.judgments.selectors import budget_left, item_counts
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PlannedAsk:
    """One ask of a plan, in rows: this pair, on this prompt, drawn with this probability."""

    entrants: tuple[Entrant, Entrant]
    replies: tuple[Reply, Reply]
    prompt: Prompt
    probability: float


def item_of(prompt_id: int, entrant_ids: Sequence[int]) -> str:
    """The name of what is shown, whatever the order: a prompt and the entrants that answer it."""
    return f"{prompt_id}:" + "-".join(str(number) for number in sorted(entrant_ids))


def item_parts(item: str) -> tuple[int, tuple[int, ...]]:
    """Prompt id and entrant ids of an item's name."""
    prompt, entrants = item.split(":")
    return int(prompt), tuple(int(number) for number in entrants.split("-"))


def queue_replace(
    *, campaign: Campaign, asks: Sequence[PlannedAsk], policy: str, snapshot: uuid.UUID | None, seed: int
) -> None:
    """Make the queue what the plan says: keep what is still wanted, withdraw the rest, add what is new.

    Only QUEUED rows change; what is issued stays. What was issued or answered while the plan was made is not asked
    beyond the votes wanted of it, nor beyond the budget. Sides are drawn from the seed: the same plan, the same queue.
    """
    with write_transaction():
        waiting: dict[str, list[Assignment]] = {}
        # Locked first: claims under way have committed, or wait for us, before anything is counted.
        queued = Assignment.objects.select_for_update().filter(campaign=campaign, state=Assignment.State.QUEUED)
        for assignment in queued.filter(purpose=Assignment.Purpose.MEASURE).order_by("pk"):
            waiting.setdefault(assignment.item, []).append(assignment)
        kept, new = [], []
        for priority, ask in enumerate(_still_wanted(campaign, asks)):
            same = waiting.get(item_of(ask.prompt.pk, [entrant.pk for entrant in ask.entrants]))
            if same:
                kept.append(_planned(same.pop(), priority, ask, policy, snapshot))
            else:
                new.append((priority, ask))
        fields = ["priority", "policy", "snapshot", "probability"]
        Assignment.objects.bulk_update(kept, fields, batch_size=200)
        _withdraw([assignment for same in waiting.values() for assignment in same])
        _add(campaign, new, policy, snapshot, random.Random(seed))  # noqa: S311  sides need balance, not secrecy


def _still_wanted(campaign: Campaign, asks: Sequence[PlannedAsk]) -> list[PlannedAsk]:
    counts = item_counts(campaign)
    asked = Counter(counts.judged) + Counter(counts.pending)
    wanted = []
    for ask in asks:
        item = item_of(ask.prompt.pk, [entrant.pk for entrant in ask.entrants])
        asked[item] += 1
        if asked[item] <= campaign.votes_per_item:
            wanted.append(ask)
    return wanted[: budget_left(campaign)]


def queue_withdraw(*, campaign: Campaign) -> None:
    """Empty the queue, as after a stop. What is issued may still be answered."""
    with write_transaction():
        _withdraw(list(Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)))


def requeue(assignment: Assignment) -> None:
    """Queue a new assignment for the place of one that ended without an answer, with the same candidates."""
    again = Assignment.objects.create(
        campaign_id=assignment.campaign_id,
        place_id=assignment.place_id,
        item=assignment.item,
        purpose=assignment.purpose,
        priority=assignment.priority,
        policy=assignment.policy,
        snapshot=assignment.snapshot,
        probability=assignment.probability,
        pay_rate=assignment.pay_rate,
    )
    Candidate.objects.bulk_create(
        Candidate(
            assignment=again,
            position=candidate.position,
            entrant_id=candidate.entrant_id,
            reply_id=candidate.reply_id,
        )
        for candidate in assignment.candidates.all()
    )


def _planned(
    assignment: Assignment, priority: int, ask: PlannedAsk, policy: str, snapshot: uuid.UUID | None
) -> Assignment:
    assignment.priority, assignment.probability = priority, ask.probability
    assignment.policy, assignment.snapshot = policy, snapshot
    return assignment


def _withdraw(assignments: Sequence[Assignment]) -> None:
    Assignment.objects.filter(
        pk__in=[assignment.pk for assignment in assignments], state=Assignment.State.QUEUED
    ).update(state=Assignment.State.WITHDRAWN, closed_at=timezone.now())


def _add(
    campaign: Campaign,
    asks: Sequence[tuple[int, PlannedAsk]],
    policy: str,
    snapshot: uuid.UUID | None,
    draw: random.Random,
) -> None:
    places = Place.objects.bulk_create(
        Place(
            campaign=campaign,
            prompt=ask.prompt,
            item=item_of(ask.prompt.pk, [entrant.pk for entrant in ask.entrants]),
        )
        for _, ask in asks
    )
    assignments = Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            place=place,
            item=place.item,
            priority=priority,
            policy=policy,
            snapshot=snapshot,
            probability=ask.probability,
        )
        for place, (priority, ask) in zip(places, asks, strict=True)
    )
    candidates = []
    for assignment, (_, ask) in zip(assignments, asks, strict=True):
        sides = (0, 1) if draw.random() < 0.5 else (1, 0)
        for position, side in enumerate(sides):
            candidates.append(
                Candidate(
                    assignment=assignment,
                    position=position,
                    entrant=ask.entrants[side],
                    reply=ask.replies[side],
                )
            )
    Candidate.objects.bulk_create(candidates, batch_size=500)
