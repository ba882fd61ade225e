"""Encodings other than UTF-8, which a person names. None is guessed."""

from __future__ import annotations

import codecs
import io

from evalsite.core.encodings import ENCODINGS, codec_named
from evalsite.exchange.errors import FormatError, quoted

_PIECE = 1 << 14


class Transcoded(io.RawIOBase):
    """A stream of text in a named encoding, as UTF-8."""

    def __init__(self, inner: io.BufferedReader[io.RawIOBase], encoding: str) -> None:
        super().__init__()
        self._inner = inner
        self._name = encoding
        self._decoder = codecs.getincrementaldecoder(encoding_named(encoding))()
        self._waiting = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._waiting and not self._ended:
            self._waiting = self._next()
        chunk, self._waiting = self._waiting[: len(buffer)], self._waiting[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def _next(self) -> bytes:
        piece = self._inner.read1(_PIECE)
        self._ended = not piece
        try:
            return self._decoder.decode(piece, final=self._ended).encode("utf-8")
        except UnicodeError as error:
            raise FormatError(
                f"is not text in {self._name} ({error})",
                code="bad_encoding",
                hint="Give the encoding that the file was saved in, or save it in UTF-8.",
            ) from error


def encoding_named(name: str) -> str:
    """Return the codec of one of ENCODINGS, whatever its spelling. Raises FormatError for another one."""
    codec = codec_named(name)
    if codec is None:
        raise FormatError(
            f"cannot be read in the encoding {quoted(name)}",
            code="unknown_encoding",
            hint=f"Use one of {', '.join(ENCODINGS)}.",
        )
    return codec
