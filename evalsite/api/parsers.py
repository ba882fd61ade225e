"""Parse request bodies that may be hostile. Deep nesting and huge integers are bad requests, not server errors.

A file of rows is the whole body. Its bytes are read here and parsed by core.row_files.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.request import Request, is_form_media_type

from evalsite.core.errors import InvalidInput, TooLarge, TouchstoneError
from evalsite.core.row_files import MOST_BYTES

ENDINGS = {"text/csv": "csv", "application/jsonl": "jsonl", "application/x-ndjson": "jsonl", "text/plain": "txt"}
# JSON that is no file, such as application/json, is the body of every other request.
ROW_ENDINGS = {**ENDINGS, "application/octet-stream": "json"}
# Vote files are recognised by their content: any of these types will do.
VOTE_ENDINGS = {
    **ENDINGS,
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/zip": "zip",
    "application/gzip": "gz",
    "application/octet-stream": "bin",
}
CHARSETS = {"", "utf-8", "utf8", "us-ascii"}


def _bounded(stream: IO[bytes], longest: int) -> bytes:
    """Return the whole body. Raises TooLarge before reading more than `longest` bytes."""
    body = stream.read(longest + 1)
    if len(body) > longest:
        raise TooLarge(f"The body is longer than {longest:,} bytes.", hint="Send less in one request.")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these pairs. Raises ValueError for a repeated name, since one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        raise ValueError(f"{counted.most_common(1)[0][0][:60]!r} stands twice in one object")
    return found


def _charset(request: HttpRequest) -> str:
    return (request.content_params or {}).get("charset", "").lower()


class StrictJSONParser(BaseParser):
    """Parse RFC 8259 and nothing more. A malformed body is a 400, another charset a 415."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        if _charset((parser_context or {})["request"]._request) not in CHARSETS:
            raise UnsupportedMediaType(media_type or "", "JSON in this charset is not read here.")
        try:
            text = _bounded(stream, settings.DATA_UPLOAD_MAX_MEMORY_SIZE).decode("utf-8")
            value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_each_once)
            # A lone surrogate is legal JSON that no database can store. Encoding it here fails with a clear error.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None
        except (ValueError, UnicodeError) as error:
            raise ParseError(f"The body is not valid JSON: {error}.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must be a JSON object.")
        return value


def json_sent(request: Request) -> Any:
    """Return the parsed body. Raises InvalidInput for a chunked one, of which the framework reads nothing."""
    if "Transfer-Encoding" in request.headers and not request.META.get("CONTENT_LENGTH"):
        raise _no_length("body")
    return request.data


def _no_length(what: str) -> InvalidInput:
    return InvalidInput(
        f"The request does not tell how long the {what} is.",
        hint="Send Content-Length, and not the body in chunks.",
        field="Content-Length",
    )


class FileParser(BaseParser):
    """Return the bytes of a file of rows. `file_sent` checks its type before it is read.

    For a request with a session the framework looks for a CSRF token first, and parses the body of a form for it.
    """

    media_type = "*/*"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        if is_form_media_type(media_type or ""):
            raise WrongContentType((parser_context or {})["view"].types)
        return _bounded(stream, MOST_BYTES)


class WrongContentType(TouchstoneError):
    code = "unsupported_media_type"
    status = 415

    def __init__(self, types: tuple[str, ...]) -> None:
        named = " or ".join(filter(None, (", ".join(types[:-1]), types[-1])))
        super().__init__(
            "A file of this content type is not read here.",
            hint=f"Send Content-Type: {named}, encoded as UTF-8.",
            field="Content-Type",
        )


@dataclass(frozen=True, slots=True)
class RequestFile:
    """A file that is the body of a request and has not been read yet (core.uploads.Incoming)."""

    name: str
    size: int
    request: Request

    def read(self) -> bytes:
        """Return the whole file. Raises InvalidInput if the connection broke off.

        A server passes on what has arrived until then, and half a file of rows looks like a whole one.
        """
        data: Any = self.request.data
        content = data if isinstance(data, bytes) else b""  # the framework asks no parser about an empty body
        if len(content) != self.size:
            raise InvalidInput("The file broke off on its way.", hint="Send it again.", field="file")
        return content


def file_sent(request: Request, endings: Mapping[str, str]) -> RequestFile:
    """The body as a file, by a name that tells its form.

    Raises WrongContentType for what is none of these types, InvalidInput where its length is not told: of a body that
    comes in chunks a WSGI server hands on nothing, and it would look like an empty file.
    """
    http_request = request._request
    ending = endings.get(http_request.content_type or "")
    if ending is None or _charset(http_request) not in CHARSETS:
        raise WrongContentType(tuple(endings))
    length = request.META.get("CONTENT_LENGTH") or ""
    if not re.fullmatch("[0-9]{1,15}", length):
        raise _no_length("file")
    return RequestFile(f"file.{ending}", int(length), request)
