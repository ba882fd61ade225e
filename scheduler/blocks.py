"""Blocks: the items that one annotator is given at a time, composed from the queue when the block is claimed.

Inputs and outputs are plain values, and the standard library is all it needs, so that a web process can use it. All
random choices come from a seed of (campaign, annotator, block): the same claim gives the same block again. Two
annotators get the same items in different orders and with different sides.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scheduler.errors import InvalidRequest

SIZE = 10


class QueuedItem(NamedTuple):
    """An item of the queue that may be handed out.

    Parameters
    ----------
    key : int
        The caller's name for it.
    a, b, prompt : int
        Two chatbots and a prompt. The chatbots are the same where one reply is judged alone.
    """

    key: int
    a: int
    b: int
    prompt: int

    @property
    def item(self) -> tuple[int, int, int]:
        """Return the item, with the chatbots in index order."""
        return min(self.a, self.b), max(self.a, self.b), self.prompt


@dataclass(frozen=True, slots=True)
class BlockItem:
    """One item of a block.

    Parameters
    ----------
    key : int
        The caller's name for it.
    swapped : bool
        Whether chatbot b is shown first.
    gold : bool
        Whether it checks the annotator. Gold ranks no chatbot.
    """

    key: int
    swapped: bool
    gold: bool


@dataclass(frozen=True, slots=True)
class AnnotatorHistory:
    """The annotator whom a block is for, and what they have had in this campaign.

    Parameters
    ----------
    annotator : str
        Stable name, for seeds.
    seen : collection of (int, int, int)
        Items that the annotator has seen.
    own : collection of int
        Chatbots of the annotator's own, which they must not judge.
    given : int
        Number of assignments so far.
    """

    annotator: str
    seen: Collection[tuple[int, int, int]] = ()
    own: Collection[int] = ()
    given: int = 0


def compose_block(
    waiting: Sequence[QueuedItem],
    reader: AnnotatorHistory,
    *,
    campaign: str,
    block: int,
    size: int = SIZE,
    gold: Sequence[QueuedItem] = (),
    gold_share: float = 0.0,
    in_order: bool = False,
) -> tuple[BlockItem, ...]:
    """Compose a block of up to `size` items, in the order in which they are shown.

    The best items that fit are taken. A block never has a prompt twice, an item that the annotator has seen, or a
    chatbot of theirs. A pair takes at most a third of a block while other pairs are waiting, because an annotator who
    reads the same two chatbots all the time learns to tell them by their style.

    Parameters
    ----------
    waiting : sequence of QueuedItem
        The queue, best first.
    reader : AnnotatorHistory
        The annotator.
    campaign : str
        Stable name of the campaign, for seeds.
    block : int
        Number of the annotator's block.
    size : int
        Items of a block, 0 or more.
    gold : sequence of QueuedItem
        Gold items, drawn anew for each annotator.
    gold_share : float
        Share of assignments that are gold, from 0 to below 1; see `gold_due`. A block has no gold where no other item
        fits. A block of one item is gold alone when gold is due.
    in_order : bool
        Whether the items keep the order of the queue, as consecutive turns of a conversation must. Gold stands between
        them at random.

    Returns
    -------
    tuple of BlockItem
        The block; shorter where fewer items fit.

    Raises
    ------
    InvalidRequest
        For a negative size, or another share.
    """
    if size < 0 or not (math.isfinite(gold_share) and 0.0 <= gold_share < 1.0):
        raise InvalidRequest(
            f"a block of {size} with a share {gold_share} of gold",
            code="bad_block",
            hint="the size is 0 or more, the share of gold from 0 to below 1",
        )
    rng = random.Random(f"{campaign}:{reader.annotator}:{block}")  # noqa: S311  an order to mix, not a secret to keep
    checks, asks = _parts(waiting, gold, reader, rng, lambda seats: gold_due(campaign, reader, seats, gold_share), size)
    seats = [
        BlockItem(ask.key, rng.random() < 0.5, gold) for gold, part in ((False, asks), (True, checks)) for ask in part
    ]
    rng.shuffle(seats)
    if in_order:
        place = {ask.key: number for number, ask in enumerate(waiting)}
        ordered = iter(sorted((seat for seat in seats if not seat.gold), key=lambda seat: place[seat.key]))
        seats = [seat if seat.gold else next(ordered) for seat in seats]
    return tuple(seats)


def gold_due(campaign: str, reader: AnnotatorHistory, size: int, share: float) -> int:
    """Return the number of gold items among an annotator's next assignments.

    Of the first n assignments floor(share n + u) are gold, with a phase u per annotator (systematic sampling). Any run
    of assignments has its share to within one item, and the expected share of each assignment is exact.

    Parameters
    ----------
    campaign : str
        ID of the campaign.
    reader : AnnotatorHistory
        The annotator's assignments.
    size : int
        Number of next assignments.
    share : float
        Share of gold items.

    Returns
    -------
    int
        Number of gold items.
    """
    phase = random.Random(f"{campaign}:{reader.annotator}").random()  # noqa: S311  as above
    return math.floor(share * (reader.given + size) + phase) - math.floor(share * reader.given + phase)


def _parts(
    waiting: Sequence[QueuedItem],
    gold: Sequence[QueuedItem],
    reader: AnnotatorHistory,
    rng: random.Random,
    due: Callable[[int], int],
    size: int,
) -> tuple[list[QueuedItem], list[QueuedItem]]:
    """Gold and asks of a block. Where few asks are left it is shorter, and its gold what is due of the shorter one.

    Gold is alone in a block of one, or who asks for one at a time would never see any; an ask waits all the same, so
    that gold is not what is given when all has been asked.
    """
    mixed = list(gold)
    rng.shuffle(mixed)
    wanted = due(size)
    checks = _fitting(mixed, reader, wanted, most_of_pair=wanted, prompts=set())
    if size == 1 and checks:
        return (checks, []) if _asks(waiting, reader, 1, set()) else ([], [])
    for count in range(len(checks), 0, -1):
        asks = _asks(waiting, reader, size - count, {check.prompt for check in checks[:count]})
        if asks and count <= due(count + len(asks)):
            return checks[:count], asks
    return [], _asks(waiting, reader, size, set())


def _asks(waiting: Sequence[QueuedItem], reader: AnnotatorHistory, count: int, prompts: set[int]) -> list[QueuedItem]:
    """The best that fit, with few of each pair; more of a pair only if the seats would stay empty."""
    return _fitting(waiting, reader, count, most_of_pair=max(1, math.ceil(count / 3)), prompts=prompts)


def _fitting(
    waiting: Sequence[QueuedItem], reader: AnnotatorHistory, count: int, *, most_of_pair: int, prompts: set[int]
) -> list[QueuedItem]:
    seen, own = set(reader.seen), set(reader.own)
    readable = [ask for ask in waiting if ask.item not in seen and not own & {ask.a, ask.b}]
    taken: list[QueuedItem] = []
    used, of_pair = set(prompts), Counter[tuple[int, int]]()
    for most in (most_of_pair, count):
        for ask in readable:
            if len(taken) < count and ask.prompt not in used and of_pair[ask.item[:2]] < most:
                taken.append(ask)
                used.add(ask.prompt)
                of_pair[ask.item[:2]] += 1
    return taken
