"""Issuing a block: what waits is composed for this annotator, and from then on it shows two replies on their sides."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain

from django.db.models import Case, Exists, F, OuterRef, PositiveIntegerField, QuerySet, Value, When
from django.utils import timezone

from evalsite.campaigns.models import Campaign, Entrant, GoldItem, PlanSpec
from evalsite.campaigns.selectors import gold_in_use
from evalsite.chatbots.models import Reply
from evalsite.judgments.models import Annotator, Assignment, Candidate, Enrolment, Place
from evalsite.judgments.queue import item_parts
from scheduler.blocks import Reader, Seat, Waiting, compose_block

WINDOW = 5  # times the block's size: the best of the queue, from which a block that fits together is chosen
COMPOSED_AT_MOST = 6  # times, while others claim the same rows


def block_issue(campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int) -> None:
    """Issue up to `size` queued assignments to an annotator, composed and mixed for them (`scheduler.blocks`).

    The campaign's share of them is gold, which is made here: it stands in no queue. Part of the claim's transaction,
    with the enrolment locked: its number of blocks is part of the seed.
    """
    gold = _gold(campaign, annotator)
    if not _issued(campaign, annotator, enrolment, size, gold) and size == 1 and gold:
        _issued(campaign, annotator, enrolment, size, {})  # the one check was of a reply that was taken back


def _issued(
    campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int, gold: Mapping[int, GoldItem]
) -> bool:
    """Whether a block could be issued. One of gold alone is none, unless it was composed so: of one seat."""
    waiting, seats = _seats_locked(campaign, annotator, enrolment, size, gold)
    replies = _replies([waiting[seat.key].item for seat in seats if not seat.gold])
    replies |= _replies([gold[seat.key].item for seat in seats if seat.gold and gold[seat.key].entrant_a_id])
    block: list[Assignment] = []
    candidates: list[Candidate] = []
    for seat in seats:
        row = _checking(campaign, gold[seat.key]) if seat.gold else waiting[seat.key]
        shown = (
            _texts(row, seat.swapped) if row.gold and not row.gold.entrant_a_id else _pair(row, seat.swapped, replies)
        )
        if shown:
            block.append(row)
            candidates += shown
    if not any(size == 1 or row.gold is None for row in block):
        return False
    _issue(campaign, annotator, block)
    Candidate.objects.bulk_create(candidates)
    Enrolment.objects.filter(pk=enrolment.pk).update(blocks_claimed=F("blocks_claimed") + 1)
    return True


def _seats_locked(
    campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int, gold: Mapping[int, GoldItem]
) -> tuple[dict[int, Assignment], list[Seat]]:
    """A composed block whose rows are locked, and the rows.

    Rows that others are claiming meanwhile are left to them, and the block is composed anew: a lock on all that it is
    composed from would show everybody else an empty queue.
    """
    own = _own_entrants(campaign, annotator)
    waiting: dict[int, Assignment] = {}
    seats: Sequence[Seat] = ()
    taken: set[int] = set()
    held: set[int] = set()
    window = None if own else WINDOW * size * _copies(campaign)
    given = _given(campaign, annotator) if gold else 0
    for _ in range(COMPOSED_AT_MOST):
        rows = _claimable(campaign, annotator).exclude(pk__in=taken)
        # An annotator who may not see all of the queue gets the best of what they may see, however far down it is.
        waiting = {row.pk: row for row in rows[:window]}
        seats = compose_block(
            [_waiting(row.pk, row.item) for row in waiting.values()],
            Reader(str(annotator.public_id), own=own, given=given),
            campaign=f"{campaign.seed}:{campaign.public_id}",
            block=enrolment.blocks_claimed,
            size=size,
            gold=[_gold_waiting(item) for item in gold.values()],
            gold_share=campaign.gold_share,
        )
        asked = [seat.key for seat in seats if not seat.gold]
        held = _locked(asked)
        if len(held) == len(asked):
            break
        taken |= set(asked) - held
    return waiting, [seat for seat in seats if seat.gold or seat.key in held]


# Gold -----------------------------------------------------------------------------------------------------


def _gold(campaign: Campaign, annotator: Annotator) -> dict[int, GoldItem]:
    """Gold that this annotator has not been shown; of chatbots, of those that take part, and on prompts in use."""
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


def _given(campaign: Campaign, annotator: Annotator) -> int:
    """How many assignments this annotator has been given here: by it gold is spread over blocks."""
    return Assignment.objects.filter(campaign=campaign, annotator=annotator, source=Assignment.Source.PLAN).count()


def _gold_waiting(item: GoldItem) -> Waiting:
    """One that compares texts has no chatbots: no real one has these numbers."""
    return Waiting(item.pk, item.entrant_a_id or -1, item.entrant_b_id or -2, item.prompt_id)


def _checking(campaign: Campaign, item: GoldItem) -> Assignment:
    """An assignment that shows a gold item, not stored yet, with a place of its own."""
    place = Place(campaign=campaign, prompt_id=item.prompt_id, item=item.item)
    return Assignment(campaign=campaign, place=place, item=item.item, purpose=Assignment.Purpose.GOLD, gold=item)


def _texts(assignment: Assignment, swapped: bool) -> list[Candidate]:
    sides = "BA" if swapped else "AB"
    return [Candidate(assignment=assignment, position=position, gold_side=side) for position, side in enumerate(sides)]


def _locked(rows: Sequence[int]) -> set[int]:
    """Those of some rows that still wait, locked for this transaction. SQLite has one transaction at a time anyway."""
    queued = Assignment.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=rows)
    return set(queued.filter(state=Assignment.State.QUEUED).values_list("pk", flat=True))


def _copies(campaign: Campaign) -> int:
    """How often an item may wait at once, of which an annotator takes one."""
    spec = PlanSpec.objects.get(campaign=campaign)
    return max(campaign.votes_per_item, spec.overlap_votes if spec.overlap_share > 0.0 else 1)


def _claimable(campaign: Campaign, annotator: Annotator) -> QuerySet[Assignment]:
    """Queued rows whose item this annotator has not seen, the most wanted first."""
    seen = Assignment.objects.filter(annotator=annotator, item=OuterRef("item"))
    queued = Assignment.objects.filter(~Exists(seen), campaign=campaign, state=Assignment.State.QUEUED)
    return queued.order_by("priority", "pk")


def _own_entrants(campaign: Campaign, annotator: Annotator) -> set[int]:
    """Entrants that this annotator may not judge: those of their organisations.

    In a campaign of their own organisation members do judge its chatbots: that is what a private campaign is for.
    """
    if annotator.user_id is None:
        return set()
    own = Entrant.objects.filter(campaign=campaign, version__chatbot__organisation__members=annotator.user_id)
    return set(own.exclude(version__chatbot__organisation=campaign.organisation_id).values_list("pk", flat=True))


def _waiting(key: int, item: str) -> Waiting:
    prompt, (a, b) = item_parts(item)
    return Waiting(key, a, b, prompt)


def _replies(items: Iterable[str]) -> dict[tuple[int, int], int]:
    """(entrant, prompt) -> the reply in force that can be shown."""
    parts = [item_parts(item) for item in items]
    if not parts:
        return {}
    replies = Reply.objects.filter(
        version__entrants__in=set(chain.from_iterable(pair for _, pair in parts)),
        prompt__in={prompt for prompt, _ in parts},
        sample=1,
        text__isnull=False,
        corrected_by__isnull=True,
    )
    return {
        (entrant, prompt): reply
        for entrant, prompt, reply in replies.values_list("version__entrants", "prompt_id", "pk")
    }


def _pair(assignment: Assignment, swapped: bool, replies: Mapping[tuple[int, int], int]) -> list[Candidate]:
    """Both replies on their sides; none if one was taken back since the plan was made."""
    prompt, pair = item_parts(assignment.item)
    gold = assignment.gold
    sides = pair[::-1] if swapped else pair
    if any((entrant, prompt) not in replies for entrant in sides):
        return []
    return [
        Candidate(
            assignment=assignment,
            position=position,
            entrant_id=entrant,
            reply_id=replies[entrant, prompt],
            gold_side="" if gold is None else "A" if entrant == gold.entrant_a_id else "B",
        )
        for position, entrant in enumerate(sides)
    ]


def _issue(campaign: Campaign, annotator: Annotator, block: Sequence[Assignment]) -> None:
    """Gold is made, and what waited is changed in one statement (bulk_update took half of a claim's time)."""
    now, queued, checks = timezone.now(), {}, []
    common = {
        "state": Assignment.State.ISSUED,
        "annotator": annotator,
        "block": uuid.uuid4(),
        "issued_at": now,
        "lease_until": now + timedelta(seconds=campaign.lease_s),
        "pay_rate": campaign.pay_rate,
        "currency": campaign.currency,
        "pay_per": campaign.pay_per,
    }
    for position, assignment in enumerate(block):
        if assignment.gold is None:
            queued[assignment.pk] = position
            continue
        for name, value in {**common, "block_position": position}.items():
            setattr(assignment, name, value)
        checks.append(assignment)
    Place.objects.bulk_create([assignment.place for assignment in checks])
    Assignment.objects.bulk_create(checks)
    positions = [When(pk=row, then=Value(position)) for row, position in queued.items()]
    rows = Assignment.objects.filter(pk__in=queued)
    rows.update(**common, block_position=Case(*positions, output_field=PositiveIntegerField()))
