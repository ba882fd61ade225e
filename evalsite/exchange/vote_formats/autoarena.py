"""AutoArena's table of head-to-heads: winner A, B or - (a tie), with the prompt's text."""

from __future__ import annotations

from collections.abc import Mapping

from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import LABELS, TIE, Layout, column_like
from evalsite.exchange.vote_formats.base import VoteFormat


class AutoArena(VoteFormat):
    name = "autoarena"
    title = "head-to-heads of AutoArena"
    needed = ("prompt", "model_a", "model_b", "judge", "winner")
    telling = ("prompt", "model_a", "model_b", "response_a", "response_b", "judge")
    least = len(telling)

    def recognises(self, records: Records) -> bool:
        named = any(column_like(records.columns, name) for name in ("prompt_id", "question_id", "winner_tie"))
        return super().recognises(records) and not named

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)
        return Layout("autoarena", found["model_a"], found["model_b"], found["winner"], {**LABELS, "-": TIE},
                      synonyms=True, prompt_text=("prompt",))  # fmt: skip
