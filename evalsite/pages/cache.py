"""Parts of pages that are made once per snapshot, not per reader."""

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache
from django.utils.translation import get_language

KEPT_S = 600  # short enough that a new release of the templates is seen soon

Made = TypeVar("Made")


def kept(name: str, make: Callable[[], Made]) -> Made:
    """What was made under this name before, in this language; or what is made now.

    `name` tells everything that the result depends on.
    """
    key = f"page:{name}:{get_language()}"
    found: Made | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, KEPT_S)
    return found
