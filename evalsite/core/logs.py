"""Log lines as JSON objects, with the request or the job that they belong to."""

import json
import logging
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

REQUEST_ID = "HTTP_X_REQUEST_ID"  # in the META of a request
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_place: ContextVar[Mapping[str, Any]] = ContextVar("place", default=MappingProxyType({}))


@contextmanager
def log_place(**names: Any) -> Iterator[None]:
    """Add these names, such as `request` or `job`, to every line that is logged inside."""
    token = _place.set({**_place.get(), **names})
    try:
        yield
    finally:
        _place.reset(token)


def request_id(given: str) -> str:
    """Return the id that a proxy gave a request, if it looks like one, or a new id."""
    return given if _GIVEN.fullmatch(given) else uuid.uuid4().hex


def _request_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the id of the request that Django logs a line of, if it is one."""
    meta = getattr(getattr(record, "request", None), "META", {})
    return {"request": meta[REQUEST_ID]} if REQUEST_ID in meta else {}


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what `log_place` added, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_request_of(record),
            **_place.get(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
