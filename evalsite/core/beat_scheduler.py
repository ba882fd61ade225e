"""Beat's scheduler: for a clock that may be set back, and workers that may be away."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from celery.beat import PersistentScheduler, ScheduleEntry
from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry


class SteadyScheduler(PersistentScheduler):
    """Celery's own, which after the clock was set back sends nothing until it shows the old time again, and which sends
    on and on to workers that are away.

    It never asks how old a message is, since clocks of machines differ: it asks the broker whether the last one was
    taken. Each time that one has gone out, or waits, it touches the file `<schedule>.sent`.
    """

    schedule_filename: str

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """What was sent in the future, by the clock as it is now, counts as sent now; then as ever."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # it holds the old times, too, and is made anew where it lacks
        until_next: float = super().tick(*args, **kwargs)
        return until_next

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        """Send it, unless the last one still waits: one is enough, however long nobody takes it."""
        result = None if self._waits(entry.task) else super().apply_async(entry, *args, **kwargs)
        Path(f"{self.schedule_filename}.sent").touch()
        return result

    def _waits(self, task: str | None) -> bool:
        """Whether one is in the queue. What a worker has taken is not: if that one is killed, the next goes out."""
        waiting = self._broker.lrange(f"{settings.REDIS_PREFIX}:{settings.QUEUE}", 0, -1)
        return any(json.loads(message)["headers"]["task"] == task for message in waiting)

    @cached_property
    def _broker(self) -> Any:
        options = {
            name: settings.CELERY_BROKER_TRANSPORT_OPTIONS[name]
            for name in ("socket_timeout", "socket_connect_timeout")
        }
        # Once more, for a broker that was restarted; beat itself tries again at its next tick.
        return Redis.from_url(settings.CELERY_BROKER_URL, retry=Retry(NoBackoff(), 1), **options)
