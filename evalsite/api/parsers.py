"""Read JSON that may be hostile: deep nesting and huge integers are bad requests, not faults of the server."""

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from evalsite.core.errors import TooLarge


def _bounded(stream: IO[bytes]) -> bytes:
    """The whole body. What is longer than any request of ours is not read to its end."""
    longest = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = stream.read(longest + 1)
    if len(body) > longest:
        raise TooLarge(f"The body is longer than {longest:,} bytes.", hint="Send less in one request.")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class StrictJSONParser(BaseParser):
    """RFC 8259 and no more. Every way in which a body can be malformed is a 400 that says so."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            text = _bounded(stream).decode("utf-8")
            value = json.loads(text, parse_constant=_refuse_constant)
            # A lone surrogate is legal JSON that no database can store; its encoding fails here, where it can be said.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except (ValueError, UnicodeError) as error:
            raise ParseError(f"The body is not valid JSON: {error}.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must be a JSON object.")
        return value
