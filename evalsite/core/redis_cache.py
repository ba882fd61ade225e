"""Cache of the production form: Redis, or the memory of each process while Redis is away.

Judging continues without Redis. Meanwhile throttles count in each process separately, and pages are rendered more
often.
"""

import logging
import math
import time
from typing import Any, ClassVar

from django.core.cache.backends.redis import RedisCache
from django.utils.functional import cached_property
from redis.exceptions import RedisError

from evalsite.core.memory_cache import Memory

log = logging.getLogger(__name__)

PAUSE_S = 2.0  # pause after a failed request, since each one can last until its timeout


class Redis(RedisCache):
    """Django's Redis cache with a counter in one round trip; `add` and `incr` take three."""

    @cached_property
    def _counter(self) -> Any:
        """Return a shared client: Django creates one for each call, which takes half as long as the call."""
        return self._cache.get_client(write=True)

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        """Implement Counting.count."""
        made = self.make_and_validate_key(key)
        pipeline = self._counter.pipeline(transaction=False)
        pipeline.incrby(made, by)
        pipeline.expire(made, math.ceil(timeout))
        return int(pipeline.execute()[0])


class RedisOrMemory(Redis):
    """Cache for throttles and pages (count, add, get, set, delete) that also works without Redis."""

    ask_again_at: ClassVar[float] = 0.0  # shared by all threads: an instance belongs to one thread

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        here = {name: value for name, value in params.items() if name != "OPTIONS"}
        self._here = Memory("without-redis", {**here, "OPTIONS": {"MAX_ENTRIES": 100_000}})

    def add(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("add", *args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("get", *args, **kwargs)

    def set(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("set", *args, **kwargs)

    def count(self, key: str, timeout: float, by: int = 1) -> int:
        return int(self._ask("count", key, timeout, by))

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask("delete", *args, **kwargs)

    def _ask(self, what: str, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= RedisOrMemory.ask_again_at:
            try:
                return getattr(super(), what)(*args, **kwargs)
            except RedisError as error:
                RedisOrMemory.ask_again_at = time.monotonic() + PAUSE_S
                log.warning("Redis does not answer, each process counts by itself: %s", error)
        return getattr(self._here, what)(*args, **kwargs)
