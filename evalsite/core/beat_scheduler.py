"""Scheduler for Celery beat: handles a clock that is set back, and absent workers."""

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
    """Celery's scheduler with two changes.

    Celery's own sends nothing after the clock is set back until the old time comes again. It also keeps sending to
    workers that are away.

    The age of a message is never compared, because the clocks of machines differ. Instead the scheduler checks in the
    broker whether a worker has taken the last message. It touches the file `<schedule>.sent` each time that a message
    is sent or is still in the queue.
    """

    schedule_filename: str

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Treat entries that were last sent in the future as sent now, then tick as usual."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # the heap holds the old times; Celery rebuilds a missing heap
        until_next: float = super().tick(*args, **kwargs)
        return until_next

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        """Send the message unless the previous one is still in the queue. One is enough."""
        result = None if self._is_queued(entry.task) else super().apply_async(entry, *args, **kwargs)
        Path(f"{self.schedule_filename}.sent").touch()
        return result

    def _is_queued(self, task: str | None) -> bool:
        """Return whether a message of this task is in the queue.

        A message that a worker has taken does not count: if that worker is killed, the next message is sent.
        """
        waiting = self._broker.lrange(f"{settings.REDIS_PREFIX}:{settings.QUEUE}", 0, -1)
        return any(json.loads(message)["headers"]["task"] == task for message in waiting)

    @cached_property
    def _broker(self) -> Any:
        options = {
            name: settings.CELERY_BROKER_TRANSPORT_OPTIONS[name]
            for name in ("socket_timeout", "socket_connect_timeout")
        }
        # One retry for a broker that was restarted. Beat itself tries again at its next tick.
        return Redis.from_url(settings.CELERY_BROKER_URL, retry=Retry(NoBackoff(), 1), **options)
