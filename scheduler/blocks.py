"""Blocks: what one annotator is given at a time, composed of the asks that wait, when it is claimed.

Plain values in and out and nothing but the standard library, so that a process that serves pages can use it.
Everything random comes from a seed of (campaign, annotator, block): the same claim gives the same block again, and two
annotators get the same items in another order, with other sides.
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
    """An ask that may be handed out: `key` is the caller's name for it; chatbots a and b answer a prompt."""

    key: int
    a: int
    b: int
    prompt: int

    @property
    def item(self) -> tuple[int, int, int]:
        """What is shown, whichever side either stands on."""
        return min(self.a, self.b), max(self.a, self.b), self.prompt


@dataclass(frozen=True, slots=True)
class BlockItem:
    """One place of a block. `swapped`: b is shown first. `gold`: it checks the annotator and ranks nobody."""

    key: int
    swapped: bool
    gold: bool


@dataclass(frozen=True, slots=True)
class AnnotatorHistory:
    """For whom a block is: the items seen before in this campaign, chatbots of their own, and how many were given."""

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
) -> tuple[BlockItem, ...]:
    """Up to `size` seats for a reader's block number `block`, in the order in which they are shown.

    `waiting` comes best first, and the best that fit are taken: never a prompt twice, an item that the reader has seen
    or a chatbot of theirs. A pair takes at most a third of the seats while others wait: who reads the same two all the
    time learns to tell them by their style. `gold` is drawn anew for each reader and spread over blocks (`gold_due`);
    where no ask would fit there is none, and one seat is gold's alone when it is due. Raises InvalidRequest on a
    negative size and unless 0 <= gold_share < 1.
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
    return tuple(seats)


def gold_due(campaign: str, reader: AnnotatorHistory, size: int, share: float) -> int:
    """How many of the reader's next `size` assignments are gold.

    Of the first n there are floor(share n + u), with a phase u of the reader's own: systematic sampling, so that any
    number of assignments in a row has its share to within one, and the expected share is exact for each of them.
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
