"""The type of progress callbacks."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
