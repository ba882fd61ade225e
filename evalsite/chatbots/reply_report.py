"""The report on a reply file: the result for each row."""

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """A row of a reply file. `fate` is "add" or "refused"; `problem` says why."""

    line: int
    key: str
    sample: int
    text: str
    fate: str
    problem: str


@dataclass(frozen=True, slots=True)
class ReplyReport:
    """Contents of a reply file. `missing` lists prompts of the set without a first reply; `passed_over` lists ignored
    columns."""

    rows: tuple[ReplyRow, ...]
    prompts: int
    missing: tuple[str, ...]
    passed_over: tuple[str, ...]

    def count(self, fate: str) -> int:
        return Counter(row.fate for row in self.rows)[fate]

    @property
    def refused(self) -> list[ReplyRow]:
        return [row for row in self.rows if row.fate == "refused"]
