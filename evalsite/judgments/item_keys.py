"""The names of items: what can be asked about, whoever is asked."""

from collections.abc import Sequence
from functools import lru_cache

PARTS_KEPT = 1 << 17  # names, 50 MB of them: each refit takes those of all judgments apart, three times


def item_of(prompt_id: int, entrant_ids: Sequence[int]) -> str:
    """The name of what is shown, whatever the order: a prompt and the entrants that answer it."""
    return f"{prompt_id}:" + "-".join(str(number) for number in sorted(entrant_ids))


@lru_cache(PARTS_KEPT)
def item_parts(item: str) -> tuple[int, tuple[int, ...]]:
    """Prompt id and entrant ids of an item's name."""
    prompt, entrants = item.split(":")
    return int(prompt), tuple(map(int, entrants.split("-")))
