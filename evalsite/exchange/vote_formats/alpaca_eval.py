"""AlpacaEval annotations: a preference from 1 (output 1) to 2 (output 2); 1.5 and 0 are ties."""

from __future__ import annotations

import math
from collections.abc import Mapping

from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import A_BETTER, B_BETTER, TIE, Layout, Outcome, text_cell
from evalsite.exchange.vote_formats.base import VoteFormat


class AlpacaEval(VoteFormat):
    name = "alpaca_eval"
    title = "annotations of AlpacaEval"
    needed = ("generator_1", "generator_2", "preference")
    least = 2

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)
        return Layout("alpaca", found["generator_1"], found["generator_2"], found["preference"], judge=_judge,
                      prompt_text=("instruction",), annotator=("annotator", "annotator_id"), category=("dataset",),
                      unjudged="the preference is empty or NaN")  # fmt: skip


def _judge(values: Mapping[str, str], layout: Layout) -> Outcome | None:
    label = text_cell(values, layout.outcome)
    if not label or label.casefold() in {"nan", "null", "none"}:
        return None
    try:
        preference = float(label)
    except ValueError:
        preference = math.inf
    if preference == 0.0:  # How early versions wrote a tie.
        return TIE
    if not 1.0 <= preference <= 2.0:
        raise FormatError(
            f"the label {quoted(label)} is not known",
            code="unknown_label",
            column=layout.outcome,
            hint="Use 1 (output 1 is better) to 2 (output 2 is better); 1.5 is a tie.",
        )
    if preference == 1.5:
        return TIE
    return A_BETTER if preference < 1.5 else B_BETTER
