"""Errors that a person reads: what happened, where, and what to do now.

Services raise these; the API turns them into one JSON shape and pages into one designed state. What they say goes
through gettext where they are raised: pages ask in the language of their reader, all else asks in English.
"""


class TouchstoneError(Exception):
    """Base of every error that is the caller's to mend.

    `code` is stable and machine-readable, `hint` says what to do now, `field` names the input at fault,
    `status` is the HTTP status that a door answers with, `retry_after_s` after how many seconds to try again, if ever.
    """

    code = "error"
    status = 400
    retry_after_s: float | None = None

    def __init__(self, message: str, *, hint: str = "", field: str = "", code: str = "") -> None:
        super().__init__(message)
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
    """Also the answer for what exists but is not the caller's to see: no hint about what exists."""

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
    """Nobody's mistake: something that the service stands on does not answer now. Nothing was written."""

    code = "unavailable"
    status = 503
    retry_after_s = 2.0


class Conflict(TouchstoneError):
    code = "conflict"
    status = 409


class TooLarge(TouchstoneError):
    code = "too_large"
    status = 413
