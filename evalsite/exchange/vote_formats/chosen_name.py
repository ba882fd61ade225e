"""Formats that name the chatbot that was chosen: ComparIA, and the results of ACUTE-Eval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.record_reading import Nested, Record, Records
from evalsite.exchange.vote_columns import A_BETTER, B_BETTER, TIE, Layout, Outcome, column_like, text_cell
from evalsite.exchange.vote_formats.base import VoteFormat, text_of, truth


class Comparia(VoteFormat):
    name = "comparia"
    title = "votes of ComparIA"
    needed = ("model_a_name", "model_b_name", "chosen_model_name", "both_equal")
    least = 2

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        found = self.columns(records.columns)

        def judge(values: Mapping[str, str], layout: Layout) -> Outcome:
            equal = truth(text_cell(values, found["both_equal"]), found["both_equal"])
            chosen = text_cell(values, layout.outcome)
            if equal and chosen:
                raise FormatError(
                    f"both replies are equal, but {quoted(chosen)} is chosen",
                    code="unknown_label",
                    column=layout.outcome,
                    hint="Keep one of the two.",
                )
            return TIE if equal else chosen_outcome(chosen, values, layout)

        return Layout("comparia", found["model_a_name"], found["model_b_name"], found["chosen_model_name"],
                      judge=judge, used=(found["both_equal"],), prompt=("prompt_id", "conversation_pair_id"),
                      annotator=("session_hash",), vote_id=("id", "vote_id"))  # fmt: skip


class AcuteEval(VoteFormat):
    """Rows of the analysis (CSV), or the task's data (JSON): `pairing_dict` with `speakerChoice`."""

    name = "acute_eval"
    title = "results of ACUTE-Eval"
    expands = True
    needed = ("eval_choice_0", "eval_choice_1", "winner")
    telling = ("eval_choice_0", "eval_choice_1", "pairing_dict", "speakers_to_eval", "speakerChoice")

    def check(self, records: Records) -> None:
        """Leave the check to `layout`."""

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        names = dict.fromkeys(first)  # Of the first row as `rows` made it.
        if "speakers_to_eval" in records.columns and column_like(names, "speakerChoice") is None:
            raise FormatError(
                "there is no column speakerChoice: these are pairings, which say what to compare and not who won",
                code="missing_column",
                column="speakerChoice",
                hint="Give the results of ACUTE-Eval, or add the name of the chosen speaker to each row.",
            )
        found = self.columns(names)
        return Layout("acute", found["eval_choice_0"], found["eval_choice_1"], found["winner"], judge=chosen_judge,
                      prompt=("prompt_id", "pairing_id", "pair_id"), annotator=("worker", "worker_id", "annotator_id"),
                      timestamp=("task_start",))  # fmt: skip

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        for record in stream:
            yield record._replace(values={**record.values, **_speakers(record.values)})


def _speakers(values: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of the analysis for a row of the task's data."""
    pairing = _nested(values, "pairing_dict")
    speakers = pairing.get("speakers_to_eval") if isinstance(pairing, dict) else _nested(values, "speakers_to_eval")
    if not isinstance(speakers, list):
        return {}
    if len(speakers) != 2:
        raise FormatError(
            "does not name two speakers", code="bad_value", column="speakers_to_eval", hint="Give the names of both."
        )
    specs = _nested(values, "task_specs")
    made = {"eval_choice_0": text_of(speakers[0]), "eval_choice_1": text_of(speakers[1])}
    choice = next((values[name] for name in ("speakerChoice", "winner") if name in values), None)
    made |= {} if choice is None else {"winner": choice}
    if isinstance(specs, dict) and "is_onboarding" in specs:
        made["is_onboarding"] = text_of(specs["is_onboarding"])
    return made


def _nested(values: Mapping[str, str], column: str) -> object:
    cell = values.get(column)
    return cell.value if isinstance(cell, Nested) else None


def chosen_judge(values: Mapping[str, str], layout: Layout) -> Outcome:
    return chosen_outcome(text_cell(values, layout.outcome), values, layout)


def chosen_outcome(chosen: str, values: Mapping[str, str], layout: Layout) -> Outcome:
    """Return the outcome if the name of the better chatbot is given. Raises FormatError for another name."""
    a, b = text_cell(values, layout.system_a), text_cell(values, layout.system_b)
    if chosen and chosen in {a, b}:
        return A_BETTER if chosen == a else B_BETTER
    raise FormatError(
        f"{quoted(chosen)} is neither {quoted(a)} nor {quoted(b)}" if chosen else "the label is missing",
        code="unknown_label",
        column=layout.outcome,
        hint="Write the name of the chatbot that won.",
    )
