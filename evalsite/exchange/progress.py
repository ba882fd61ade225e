"""A progress bar: one line on a terminal, a few plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

_PATIENCE = 1.0  # Seconds before the bar appears, because short work needs none.
_REDRAW = 0.1  # Seconds between updates on a terminal.
_REPORT = 10.0  # Seconds between lines in a log.
_WIDTH = 30


class TextStream(Protocol):
    """The output stream, as Django wraps standard error with a style (unused here) and a line ending."""

    def write(self, text: str, style: Callable[[str], str], ending: str, /) -> object: ...
    def isatty(self) -> bool: ...
    def flush(self) -> None: ...


class Bar:
    """A progress bar. Call it with (done, total) at any rate; `close` clears the line.

    Short work displays nothing.
    """

    def __init__(self, stream: TextStream, label: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._label = label
        self._clock = clock
        self._terminal = stream.isatty()
        self._next = clock() + _PATIENCE
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if now < self._next or total <= 0:
            return
        self._next = now + (_REDRAW if self._terminal else _REPORT)
        share = min(max(done / total, 0.0), 1.0)
        if self._terminal:
            filled = round(share * _WIDTH)
            picture = "#" * filled + "." * (_WIDTH - filled)
            self._write(f"\r{self._label} [{picture}] {share:4.0%}")
            self._drawn = True
        else:
            self._write(f"{self._label} {share:.0%}\n")

    def close(self) -> None:
        """Restore the line of the terminal."""
        if self._drawn:
            self._write("\r" + " " * (len(self._label) + _WIDTH + 8) + "\r")
            self._drawn = False

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, text: str) -> None:
        self._stream.write(text, str, "")
        self._stream.flush()
