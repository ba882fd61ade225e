"""Issue of blocks: queued assignments are composed for an annotator, and the sides of their replies are fixed."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain
from typing import Any

from django.utils import timezone

from evalsite.campaigns.models import Campaign, Entrant, GoldItem
from evalsite.campaigns.selectors import gold_in_use
from evalsite.core.row_writes import rows_add, rows_update
from evalsite.judgments.claim_sql import Claimable, assignments_issue, claimable, queued_lock, replies_shown
from evalsite.judgments.conflict_of_interest import leaves_a_pair, own_entrants
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Assignment, Candidate, Enrolment, Place
from scheduler.blocks import AnnotatorHistory, BlockItem, QueuedItem, compose_block

WINDOW = 5  # best of the queue to compose from, as a multiple of the block's size
COMPOSED_AT_MOST = 6  # attempts, while others claim the same rows


def block_issue(
    campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int, *, users: Collection[int] = ()
) -> list[Assignment]:
    """Issue up to `size` queued assignments to an annotator, composed and mixed for them (`scheduler.blocks`).

    The campaign's share of gold is created here; gold is not queued. Runs in the claim's transaction with the enrolment
    locked, because the number of blocks is part of the seed. `users` are accounts (keys) whose own chatbots are left
    out.
    """
    gold = _unseen_gold(campaign, annotator)
    own = own_entrants(campaign, users)
    block = _compose_and_issue(campaign, annotator, enrolment, size, gold, own)
    if not block and size == 1 and gold:
        # The only gold item compared a reply that was withdrawn.
        return _compose_and_issue(campaign, annotator, enrolment, size, {}, own)
    return block


def _compose_and_issue(
    campaign: Campaign,
    annotator: Annotator,
    enrolment: Enrolment,
    size: int,
    gold: Mapping[int, GoldItem],
    own: set[int],
) -> list[Assignment]:
    """Return the issued block, or nothing. A block of gold alone is not issued, unless it has a single seat."""
    waiting, seats = _seats_locked(campaign, annotator, enrolment, size, gold, own)
    replies = _current_replies([waiting[seat.key] for seat in seats if not seat.gold])
    replies |= _current_replies([gold[seat.key].item for seat in seats if seat.gold and gold[seat.key].entrant_a_id])
    shown: list[tuple[BlockItem, list[Candidate]]] = []
    for seat in seats:
        of_gold = gold[seat.key] if seat.gold else None
        if of_gold and not of_gold.entrant_a_id:
            candidates = _text_candidates(of_gold, seat.swapped)
        else:
            candidates = _reply_candidates(
                of_gold.item if of_gold else waiting[seat.key], seat.swapped, replies, of_gold
            )
        if candidates:
            shown.append((seat, candidates))
    if not any(size == 1 or not seat.gold for seat, _ in shown):
        return []
    block = _issue(campaign, annotator, [seat for seat, _ in shown], gold)
    for assignment, (_, candidates) in zip(block, shown, strict=True):
        for candidate in candidates:
            candidate.assignment = assignment
    rows_add(list(chain.from_iterable(candidates for _, candidates in shown)))
    enrolment.blocks_claimed += 1
    rows_update([enrolment], ["blocks_claimed"])
    return block


def _seats_locked(
    campaign: Campaign,
    annotator: Annotator,
    enrolment: Enrolment,
    size: int,
    gold: Mapping[int, GoldItem],
    own: set[int],
) -> tuple[dict[int, str], list[BlockItem]]:
    """Return the waiting items, and a composed block whose rows are locked.

    Rows that others claim meanwhile are skipped, and the block is composed anew. A lock on all candidate rows would
    show all others an empty queue. If all attempts lose their rows to others, the block takes the next free rows.
    """
    if own and not leaves_a_pair(campaign, own):
        return {}, []
    # With excluded entrants, look at the whole queue: the annotator gets the best of the allowed items, however far
    # down.
    window = None if own else WINDOW * size * _most_copies(campaign)
    given = _assignments_given(campaign, annotator) if gold else 0

    def read(at_most: int | None, *, lock: bool = False) -> dict[int, str]:
        found = claimable(campaign.pk, annotator.pk, without=[] if lock else sorted(taken), at_most=at_most, lock=lock)
        return _first_together(found, own) if campaign.is_single else {key: one.item for key, one in found.items()}

    def composed(waiting: Mapping[int, str]) -> Sequence[BlockItem]:
        return compose_block(
            [_queued_item(key, item) for key, item in waiting.items()],
            AnnotatorHistory(str(annotator.public_id), own=own, given=given),
            campaign=f"{campaign.seed}:{campaign.public_id}",
            block=enrolment.blocks_claimed,
            size=size,
            gold=[_queued_gold(item) for item in gold.values()],
            gold_share=campaign.gold_share,
            in_order=campaign.is_single,
        )

    waiting: dict[int, str] = {}
    seats: Sequence[BlockItem] = ()
    asked: list[int] = []
    taken: set[int] = set()
    held: set[int] = set()
    for _ in range(COMPOSED_AT_MOST):
        waiting = read(window)
        seats = composed(waiting)
        asked = [seat.key for seat in seats if not seat.gold]
        held = queued_lock(asked)
        if len(held) == len(asked):
            break
        taken |= set(asked) - held
    if taken and not held and not own:
        waiting = read(size, lock=True)
        seats, held = composed(waiting), set(waiting)
    return waiting, [seat for seat in seats if seat.gold or seat.key in held]


def _first_together(waiting: Mapping[int, Claimable], own: set[int]) -> dict[int, str]:
    """Return the first waiting items that belong together: turns of one conversation, or several short ones."""
    allowed = {key: one for key, one in waiting.items() if own.isdisjoint(item_parts(one.item)[1])}
    first = next((one.priority for one in allowed.values()), None)
    return {key: one.item for key, one in allowed.items() if one.priority == first}


# Gold -----------------------------------------------------------------------------------------------------


def _unseen_gold(campaign: Campaign, annotator: Annotator) -> dict[int, GoldItem]:
    """Return unseen gold for this annotator, on current prompts and, if it compares chatbots, on active ones."""
    if not campaign.gold_share:
        return {}
    seen = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    unseen = gold_in_use(campaign).exclude(pk__in=seen.filter(gold__isnull=False).values("gold"))
    left = Entrant.objects.filter(campaign=campaign).exclude(state=Entrant.State.ACTIVE)
    shown = unseen.exclude(entrant_a__in=left).exclude(entrant_b__in=left)
    shown = shown.exclude(prompt__in=campaign.retirements.values("prompt"))
    items = {item.pk: item for item in shown}
    known = set(seen.filter(item__in=[item.item for item in items.values()]).values_list("item", flat=True))
    return {number: item for number, item in items.items() if item.item not in known}


def _assignments_given(campaign: Campaign, annotator: Annotator) -> int:
    """Return how many assignments the annotator has had here. Gold is spread over blocks by this number."""
    return Assignment.objects.filter(campaign=campaign, annotator=annotator, source=Assignment.Source.PLAN).count()


def _queued_gold(item: GoldItem) -> QueuedItem:
    """Convert gold for the composer. Texts get entrant ids that no chatbot has."""
    return QueuedItem(item.pk, item.entrant_a_id or -1, item.entrant_b_id or -2, item.prompt_id)


def _gold_assignment(campaign: Campaign, item: GoldItem, terms: Mapping[str, Any]) -> Assignment:
    """Return an unsaved assignment for a gold item, with a place of its own."""
    place = Place(campaign=campaign, prompt_id=item.prompt_id, item=item.item)
    gold = Assignment.Purpose.GOLD
    return Assignment(campaign=campaign, place=place, item=item.item, purpose=gold, gold=item, **terms)


def _text_candidates(gold: GoldItem, swapped: bool) -> list[Candidate]:
    sides = "A" if not gold.text_b else "BA" if swapped else "AB"
    return [Candidate(position=position, gold_side=side) for position, side in enumerate(sides)]


def _most_copies(campaign: Campaign) -> int:
    """Return how often an item may be queued at once. An annotator gets one of these."""
    spec = campaign.plan
    return max(campaign.votes_per_item, spec.overlap_votes if spec.overlap_share > 0.0 else 1)


def _queued_item(key: int, item: str) -> QueuedItem:
    prompt, entrants = item_parts(item)
    return QueuedItem(key, entrants[0], entrants[-1], prompt)


def _current_replies(items: Iterable[str]) -> dict[tuple[int, int], int]:
    """Return the current reply that can be shown for each (entrant, prompt)."""
    parts = map(item_parts, items)
    return replies_shown({(entrant, prompt) for prompt, pair in parts for entrant in pair})


def _reply_candidates(
    item: str, swapped: bool, replies: Mapping[tuple[int, int], int], gold: GoldItem | None
) -> list[Candidate]:
    """Return the replies on their sides; none if one was withdrawn after the plan was made."""
    prompt, entrants = item_parts(item)
    sides = entrants[::-1] if swapped else entrants
    if any((entrant, prompt) not in replies for entrant in sides):
        return []
    return [
        Candidate(
            position=position,
            entrant_id=entrant,
            reply_id=replies[entrant, prompt],
            gold_side="" if gold is None else "A" if entrant == gold.entrant_a_id else "B",
        )
        for position, entrant in enumerate(sides)
    ]


def _issue(
    campaign: Campaign, annotator: Annotator, seats: Sequence[BlockItem], gold: Mapping[int, GoldItem]
) -> list[Assignment]:
    """Issue the seats to this annotator in their order. Gold is created, and queued assignments are updated."""
    now = timezone.now()
    terms = {
        "state": Assignment.State.ISSUED,
        "annotator_id": annotator.pk,
        "block": uuid.uuid4(),
        "issued_at": now,
        "lease_until": now + timedelta(seconds=campaign.lease_s),
        "pay_rate": campaign.pay_rate,
        "currency": campaign.currency,
        "pay_per": campaign.pay_per,
    }
    numbered = list(enumerate(seats))
    checks = [
        _gold_assignment(campaign, gold[seat.key], {**terms, "block_position": position})
        for position, seat in numbered
        if seat.gold
    ]
    if checks:
        Place.objects.bulk_create([assignment.place for assignment in checks])
        Assignment.objects.bulk_create(checks)
    asked = assignments_issue({seat.key: position for position, seat in numbered if not seat.gold}, terms)
    return sorted([*asked, *checks], key=lambda row: row.block_position)
