"""The names of items: what can be asked about, whoever is asked."""

from collections.abc import Sequence


def item_of(prompt_id: int, entrant_ids: Sequence[int]) -> str:
    """The name of what is shown, whatever the order: a prompt and the entrants that answer it."""
    return f"{prompt_id}:" + "-".join(str(number) for number in sorted(entrant_ids))


def item_parts(item: str) -> tuple[int, tuple[int, ...]]:
    """Prompt id and entrant ids of an item's name."""
    prompt, entrants = item.split(":")
    return int(prompt), tuple(int(number) for number in entrants.split("-"))
