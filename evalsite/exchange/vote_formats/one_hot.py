"""LMSYS (Kaggle): a column of 0 and 1 for each outcome. Prompts and replies are texts with a JSON array in them."""

from __future__ import annotations

from collections.abc import Mapping

from evalsite.exchange.errors import FormatError
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import A_BETTER, B_BETTER, BOTH_BAD, TIE, Layout, Outcome, column_like, text_cell
from evalsite.exchange.vote_formats.base import VoteFormat, truth


class OneHot(VoteFormat):
    name = "one_hot"
    title = "LMSYS votes (Kaggle) with one column for each outcome"
    needed = ("model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie")
    telling = ("winner_model_a", "winner_model_b", "winner_tie")
    least = 2

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)
        kinds: list[tuple[str, Outcome]] = [
            (found["winner_model_a"], A_BETTER),
            (found["winner_model_b"], B_BETTER),
            (found["winner_tie"], TIE),
        ]
        bad = column_like(records.columns, "winner_tie_bothbad") or column_like(records.columns, "winner_both_bad")
        kinds += [(bad, BOTH_BAD)] if bad else []

        def judge(values: Mapping[str, str], layout: Layout) -> Outcome:
            chosen = [outcome for column, outcome in kinds if truth(text_cell(values, column), column)]
            if len(chosen) != 1:
                raise _not_one(len(chosen), [column for column, _ in kinds])
            return chosen[0]

        columns = tuple(column for column, _ in kinds)
        return Layout("one_hot", found["model_a"], found["model_b"], columns[0], judge=judge, used=columns,
                      vote_id=("id", "vote_id"), prompt_text=("prompt",))  # fmt: skip


def _not_one(count: int, columns: list[str]) -> FormatError:
    return FormatError(
        f"{count} of the columns {', '.join(columns)} hold 1",
        code="unknown_label",
        column=columns[0],
        hint="Exactly one of them must be 1, the others 0.",
    )
