"""MT-bench: human judgments of both turns, and pairs that a model judged in both orders (`gpt-4_pair`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evalsite.exchange.record_reading import Nested, Record, Records
from evalsite.exchange.vote_columns import LABELS, Layout, Outcome, outcome_cell, text_cell
from evalsite.exchange.vote_formats.base import VoteFormat, text_of
from evalsite.exchange.vote_formats.columns import arena_layout


class HumanJudgments(VoteFormat):
    name = "mt_bench_human"
    title = "human judgments of MT-bench"
    needed = ("model_a", "model_b", "winner", "question_id", "judge", "turn")
    least = len(needed)

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)
        return arena_layout(found["model_a"], found["model_b"], found["winner"])


class OrderedPairs(VoteFormat):
    """Each row holds two votes: game 1 showed model 1 first, game 2 showed model 2 first. Winners are by name."""

    name = "mt_bench_pair"
    title = "pairs of MT-bench, judged in both orders"
    expands = True
    needed = ("model_1", "model_2", "g1_winner", "g2_winner")
    telling = ("g1_winner", "g2_winner")

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)
        games = (found["g1_winner"], found["g2_winner"])
        return Layout("pair", found["model_1"], found["model_2"], games[0], LABELS, synonyms=True, judge=_judge,
                      used=games, unjudged="the winner is 'error': the judge gave no verdict")  # fmt: skip

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        for record in stream:
            found = self.columns(records.columns)
            values = {**record.values, "judge": _judge_name(record.values.get("judge", ""))}
            for game, first in (("g1_winner", "1"), ("g2_winner", "0")):
                own = f"row {record.row}, game {game[1]}" if game == "g2_winner" else ""
                yield record._replace(values={**values, _GAME: found[game], "a_first": first, "vote_id": own})


_GAME = "(game)"  # The column of this vote's winner.


def _judge(values: Mapping[str, str], layout: Layout) -> Outcome | None:
    column = values[_GAME]
    if text_cell(values, column) == "error":
        return None
    one = Layout("game", layout.system_a, layout.system_b, column, LABELS, synonyms=True)
    return outcome_cell(values, one)


def _judge_name(cell: str) -> str:
    if isinstance(cell, Nested) and isinstance(cell.value, list):
        return "/".join(filter(None, map(text_of, cell.value)))
    return cell
