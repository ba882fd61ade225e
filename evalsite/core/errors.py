"""Errors for people: each one names the problem, its place and the next step.

Services raise these errors. The API turns them into one JSON shape, and pages into one error page. Texts are translated
where the error is raised: into the reader's language on pages, into English elsewhere.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.reasons import Reason


class TouchstoneError(Exception):
    """Base class of errors that the caller can fix.

    - `code` is stable and machine-readable.
    - `hint` says what to do next.
    - `field` names the invalid input.
    - `status` is the HTTP status of the response.
    - `retry_after_s` is the number of seconds before another attempt, or None.
    - `reason` says the same by code, for errors of the worker that a page shows in its reader's language.
    """

    code = "error"
    status = 400
    retry_after_s: float | None = None

    def __init__(
        self, message: str, *, hint: str = "", field: str = "", code: str = "", reason: "Reason | None" = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint
        self.field = field
        self.code = code or self.code


class InvalidInput(TouchstoneError):
    code = "invalid"


class NotAllowed(TouchstoneError):
    code = "not_allowed"
    status = 403


class NotFound(TouchstoneError):
    """The object does not exist, or the caller may not see it. Both look alike, so that existence is not revealed."""

    code = "not_found"
    status = 404


class TooMany(TouchstoneError):
    code = "too_many"
    status = 429
    retry_after_s: float

    def __init__(self, message: str, *, hint: str = "", retry_after_s: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after_s = retry_after_s


class Unavailable(TouchstoneError):
    """A service that this one depends on does not answer now. Nothing was written."""

    code = "unavailable"
    status = 503
    retry_after_s = 2.0


class Conflict(TouchstoneError):
    code = "conflict"
    status = 409


class TooLarge(TouchstoneError):
    code = "too_large"
    status = 413
