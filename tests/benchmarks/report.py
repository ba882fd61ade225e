"""A benchmark's result: checks with their targets, as a plain table, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One measured number beside its target. `passed` None: it could not be measured, and `measured` says why."""

    name: str
    measured: str
    target: str
    passed: bool | None

    @property
    def verdict(self) -> str:
        """PASS, FAIL or SKIP."""
        return "SKIP" if self.passed is None else "PASS" if self.passed else "FAIL"


def say(line: str = "") -> None:
    """A line of the report, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be, the first to the left, the others to the right."""
    lines = [list(head), *(list(row) for row in rows)]
    width = [max(len(line[k]) for line in lines) for k in range(len(head))]
    texts = [
        "  ".join([line[0].ljust(width[0]), *(cell.rjust(w) for cell, w in zip(line[1:], width[1:], strict=True))])
        for line in lines
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def conclude(title: str, checks: Sequence[Check]) -> int:
    """Print the checks; 1 if one failed, else 0. No check at all is a failure: nothing was shown."""
    say(f"\n{title}")
    say(table(("check", "measured", "target", ""), [(c.name, c.measured, c.target, c.verdict) for c in checks]))
    return int(not checks or any(c.passed is False for c in checks))
