"""Result tables of MTurk and Turkle: what was asked stands in `Input.` columns, what was answered in `Answer.` ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evalsite.exchange.errors import FormatError, listed
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import Layout
from evalsite.exchange.vote_formats.base import VoteFormat
from evalsite.exchange.vote_formats.columns import arena_layout, own_layout, spelled_columns

_PREFIXES = ("Input.", "Answer.")


class CrowdWork(VoteFormat):
    name = "crowd_work"
    title = "results of MTurk or Turkle"
    needed = ("Input.model_a", "Input.model_b", "Answer.winner")
    telling = ("HITId", "AssignmentId", "WorkerId")

    def recognises(self, records: Records) -> bool:
        return super().recognises(records) and any(name.startswith(_PREFIXES) for name in records.columns)

    def check(self, records: Records) -> None:
        """Leave the check to `layout`."""

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        short = {column.partition(".")[2]: column for column in records.columns if column.startswith(_PREFIXES)}
        try:
            a, b, outcome = spelled_columns(list(short))
        except FormatError as error:
            missing = next((name for name in self.needed if name not in records.columns), None)
            raise FormatError(
                error.message,
                code=error.code,
                column=missing if error.code == "missing_column" else None,
                hint="Name the columns, as with --a Input.LEFT --b Input.RIGHT --winner Answer.CHOICE. "
                f"The file has {listed(short.values(), most=30)}.",
            ) from error
        layout = own_layout(short[a], short[b], short[outcome]) if outcome == "outcome" else arena_layout(
            short[a], short[b], short[outcome]
        )  # fmt: skip
        return crowd_columns(layout)


def crowd_columns(layout: Layout) -> Layout:
    """Return the layout with the columns of people, items and assignments that such a table has."""
    prompts = ("Input.prompt_id", "Input.question_id", "prompt_id", "question_id", "HITId")
    return replace(layout, prompt=prompts, annotator=("WorkerId", "Turkle.Username"), vote_id=("AssignmentId",),
                   timestamp=("SubmitTime", "AcceptTime"), category=("Input.category",))  # fmt: skip
