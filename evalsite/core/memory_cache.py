"""The embedded form's cache: the memory of its one web process. It also counts, as the production form's does."""

from typing import Protocol

from django.core.cache.backends.locmem import LocMemCache


class Counting(Protocol):
    """What throttles need of a cache."""

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        """Add `by` to the count of this key and return it; forgotten after `timeout` seconds. Atomic."""


class Memory(LocMemCache):
    """Django's own, shared by the threads of a process, which also counts."""

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        """As Counting says."""
        self.add(key, 0, timeout=timeout)
        try:
            return int(self.incr(key, by))
        except ValueError:  # evicted in between
            return by
