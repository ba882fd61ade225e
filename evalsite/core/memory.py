"""The embedded form's cache: the memory of its one web process. It also counts, as the production form's does."""

from typing import Protocol

from django.core.cache.backends.locmem import LocMemCache


class Counting(Protocol):
    """What throttles need of a cache."""

    def count(self, key: str, timeout: float) -> int:
        """One more of this key, of which there are so many now; forgotten after `timeout` seconds. Atomic."""


class Memory(LocMemCache):
    """Django's own, shared by the threads of a process, which also counts."""

    def count(self, key: str, timeout: float) -> int:
        """As Counting says."""
        self.add(key, 0, timeout=timeout)
        try:
            return int(self.incr(key))
        except ValueError:  # evicted in between
            return 1
