"""Beat's scheduler for a clock that may be set back."""

from typing import Any

from celery.beat import PersistentScheduler


class SteadyScheduler(PersistentScheduler):
    """Celery's own, which after the clock was set back sends nothing until it shows the old time again."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """What was sent in the future, by the clock as it is now, counts as sent now; then as ever."""
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # it holds the old times, too, and is made anew where it lacks
        until_next: float = super().tick(*args, **kwargs)
        return until_next
