"""Appraise's table of scores, without a header: two rows of one annotator on one segment are a judgment.

Its columns are annotator, system, segment, kind, source and target language, score, document, and three more. A vote is
the difference of the two scores. Rows of other kinds than TGT check the annotator and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.record_reading import Record, Records
from evalsite.exchange.vote_columns import A_BETTER, B_BETTER, TIE, Layout, Outcome
from evalsite.exchange.vote_formats.base import VoteFormat

COLUMNS = ("annotator", "system", "segment", "kind", "source", "target", "score", "document")
_KINDS = frozenset({"TGT", "BAD", "CHK", "REF", "BOTH", "TUT"})
_WAITING = 100_000  # Judgments of which only the first row was read.


class Appraise(VoteFormat):
    name = "appraise"
    title = "scores of Appraise, two rows a judgment"
    expands = True
    needed = COLUMNS

    def recognises(self, records: Records) -> bool:
        cells = records.header
        return len(cells) >= len(COLUMNS) and cells[3] in _KINDS and cells[2].isdigit() and "." not in cells[4]

    def check(self, records: Records) -> None:
        """Leave the check to `layout`."""

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        return Layout("appraise", "system_a", "system_b", "score", judge=_judge, annotator=("annotator",),
                      unjudged="their kind is not TGT: they check the annotator")  # fmt: skip

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        waiting: dict[tuple[str, ...], tuple[int, dict[str, str]]] = {}
        header = _cells(records.header)
        waiting[_key(header)] = (1, header)
        records.columns = dict.fromkeys(("system_a", "system_b", "prompt_id", "annotator", "score", "category", "kind"))
        records.repeated = frozenset()
        for record in stream:
            records.row = record.row + 1  # The header is a row, too.
            cells = _cells(records.fields)
            row, other = waiting.pop(_key(cells), (0, {}))
            if other:
                yield Record(records.row, record.line, _joined(other, cells, row))
                continue
            waiting[_key(cells)] = (records.row, cells)
            if len(waiting) > _WAITING:
                break
        for row, cells in waiting.values():
            records.row, records.line = row, None
            raise FormatError(
                f"the judgment of {quoted(cells['annotator'])} on segment {quoted(cells['segment'])} has one row",
                code="missing_row",
                column="segment",
                hint="It needs a row for each of two systems. Is the file complete?",
            )


def _cells(fields: list[str]) -> dict[str, str]:
    cells = dict(zip(COLUMNS, (field.strip() for field in fields), strict=False))
    if cells["kind"] not in _KINDS:
        raise FormatError(f"the label {quoted(cells['kind'])} is not known", code="unknown_label", column="kind",
                          hint=f"Use one of {', '.join(sorted(_KINDS))}.")  # fmt: skip
    try:
        valid = 0.0 <= float(cells["score"]) <= 100.0
    except ValueError:
        valid = False
    if not valid:
        raise FormatError(f"the label {quoted(cells['score'])} is not known", code="unknown_label", column="score",
                          hint="A score is a number from 0 to 100.")  # fmt: skip
    return cells


def _key(cells: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(cells[name] for name in COLUMNS if name not in {"system", "score"})


def _joined(one: Mapping[str, str], other: Mapping[str, str], row: int) -> dict[str, str]:
    return {
        **one,
        "system_a": one["system"],
        "system_b": other["system"],
        "score_b": other["score"],
        "prompt_id": f"{one['document']}/{one['segment']}",
        "category": f"{one['source']}-{one['target']}",
    }


def _judge(values: Mapping[str, str], layout: Layout) -> Outcome | None:
    if values["kind"] != "TGT":
        return None
    a, b = float(values["score"]), float(values["score_b"])
    return TIE if a == b else A_BETTER if a > b else B_BETTER
