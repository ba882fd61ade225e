"""A cache of page parts that are made once per snapshot, not per reader."""

from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache
from django.utils.translation import get_language

from evalsite.core.release import release

KEPT_S = 600

Made = TypeVar("Made")


def cached_part(name: str, make: Callable[[], Made], *, for_s: int = KEPT_S) -> Made:
    """Return the cached value of this release and language, or make it now.

    name: everything that the result depends on. A dependency may be missing if `for_s` limits the age in seconds.
    """
    key = f"page:{release()}:{name}:{get_language()}"
    found: Made | None = cache.get(key)
    if found is None:
        found = make()
        cache.set(key, found, for_s)
    return found
