"""Keys of items: an item is a prompt with a set of entrants, whoever judges it."""

from collections.abc import Sequence
from functools import lru_cache

PARTS_KEPT = 1 << 17  # cached keys, 50 MB: each refit parses those of all judgments, three times


def item_of(prompt_id: int, entrant_ids: Sequence[int]) -> str:
    """Return the key of an item, independent of the order of its entrants."""
    return f"{prompt_id}:" + "-".join(str(number) for number in sorted(entrant_ids))


@lru_cache(PARTS_KEPT)
def item_parts(item: str) -> tuple[int, tuple[int, ...]]:
    """Return the prompt id and the entrant ids of an item's key."""
    prompt, entrants = item.split(":")
    return int(prompt), tuple(map(int, entrants.split("-")))
