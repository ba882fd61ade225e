"""A progress bar for work that a person waits for: one line on a terminal, a few plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

_PATIENCE = 1.0  # seconds before anything is shown: short work needs no bar
_REDRAW = 0.1  # seconds between two pictures on a terminal
_REPORT = 10.0  # seconds between two lines in a log
_WIDTH = 30


class TextStream(Protocol):
    """Where the bar is drawn, as Django wraps standard error: a style (ours is none) and a line's ending."""

    def write(self, text: str, style: Callable[[str], str], ending: str, /) -> object: ...
    def isatty(self) -> bool: ...
    def flush(self) -> None: ...


class Bar:
    """Call it with (done, total) as often as you like; `close` clears the line. Short work shows nothing."""

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
        """Leave the terminal's line as it was found."""
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
