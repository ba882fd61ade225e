"""Cache of the embedded form: the memory of its one web process, with counters like the production cache."""

from typing import Protocol

from django.core.cache.backends.locmem import LocMemCache


class Counting(Protocol):
    """Cache interface for throttles."""

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        """Add `by` to the counter of this key and return it. Atomic. The counter expires after `timeout` seconds."""


class Memory(LocMemCache):
    """Django's in-memory cache, shared by the threads of a process, with counters."""

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        """Implement Counting.count."""
        self.add(key, 0, timeout=timeout)
        try:
            return int(self.incr(key, by))
        except ValueError:  # evicted in between
            return by
