"""What can go wrong in the scheduler; the same shape as the engine's errors."""

from __future__ import annotations


class SchedulerError(Exception):
    """Base of all errors that the scheduler raises on purpose: a code for programs, a hint for people."""

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})"


class InvalidState(SchedulerError):
    """A campaign state whose parts contradict each other."""


class InvalidRequest(SchedulerError):
    """An unknown policy, a negative count, a target that is no number."""
