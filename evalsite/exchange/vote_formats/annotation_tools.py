"""Exports of annotation tools whose labels are nested in JSON: Label Studio (pairwise) and Potato."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.record_reading import Nested, Record, Records
from evalsite.exchange.vote_columns import LABELS, Layout
from evalsite.exchange.vote_formats.base import VoteFormat, text_of
from evalsite.exchange.vote_formats.columns import spelled_columns

_CHATBOTS = "Store the names of the chatbots with each item, as model_a and model_b."


class LabelStudio(VoteFormat):
    """A task has `data` (with the chatbots' names) and `annotations`; each annotation is a vote."""

    name = "label_studio"
    title = "pairwise annotations of Label Studio"
    expands = True
    needed = ("data", "annotations")

    def recognises(self, records: Records) -> bool:
        names = set(records.columns)
        return {"data", "annotations"} <= names or ({"data", "id"} <= names and "annotations" not in names)

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        self.columns(records.columns)
        return Layout("label_studio", "model_a", "model_b", "result", LABELS, synonyms=True,
                      prompt=("prompt_id",), prompt_text=("prompt",), annotator=("completed_by",),
                      vote_id=("annotation",), timestamp=("created_at",))  # fmt: skip

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        for record in stream:
            self.columns(record.values)
            task = _object(record.values, "data")
            names = _named_pair(task, "data")
            for number, one in enumerate(_annotations(record.values), start=1):
                own = {"annotation": f"row {record.row}, annotation {number}"} if number > 1 else {}
                found = {name: text for name, text in _annotation(one).items() if text or name == "result"}
                yield record._replace(values={**record.values, **names, **own, **found})


def _annotations(values: Mapping[str, str]) -> list[dict[str, Any]]:
    cell = values["annotations"]
    found = cell.value if isinstance(cell, Nested) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise FormatError(
            "is not a list of annotations",
            code="bad_value",
            column="annotations",
            hint="Export the tasks as JSON again.",
        )
    return [one for one in found if not one.get("was_cancelled")]


def _annotation(one: Mapping[str, Any]) -> dict[str, str]:
    person = one.get("completed_by")
    person = person.get("email") or person.get("id") if isinstance(person, dict) else person
    return {
        "completed_by": text_of(person),
        "annotation": text_of(one.get("id")),
        "created_at": text_of(one.get("created_at")),
        "result": _selected(one.get("result")),
    }


def _selected(results: object) -> str:
    """Return the side that was selected, or the only choice; "" (an error later) without one."""
    found = []
    for result in results if isinstance(results, list) else []:
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(value, dict) and result.get("type") in {"pairwise", "choices"}:
            choices = value.get("choices")
            found.append(value.get("selected") or (choices[0] if isinstance(choices, list) and choices else ""))
    if len(found) > 1:
        raise FormatError(
            f"holds several answers: {listed(map(text_of, found))}",
            code="several_criteria",
            column="result",
            hint="Export one question, or convert the file to the columns model_a, model_b, winner.",
        )
    return text_of(found[0]) if found else ""


class Potato(VoteFormat):
    """A record has `label_annotations`. The chatbots' names stand beside it, or in the item that was shown."""

    name = "potato"
    title = "pairwise annotations of Potato"
    expands = True
    needed = ("instance_id", "label_annotations")
    telling = ("instance_id", "user_id", "label_annotations")
    least = 2

    def layout(self, records: Records, first: Mapping[str, str]) -> Layout:
        self.columns(records.columns)
        return Layout("potato", "model_a", "model_b", "label_annotations", LABELS, synonyms=True,
                      prompt=("prompt_id", "instance_id"), annotator=("user_id",))  # fmt: skip

    def rows(self, records: Records, stream: Iterable[Record]) -> Iterator[Record]:
        for record in stream:
            names = _named_pair(_potato_item(record.values), "model_a")
            label = _potato_label(record.values.get("label_annotations", ""))
            yield record._replace(values={**record.values, **names, "label_annotations": label})


def _potato_item(values: Mapping[str, str]) -> dict[str, Any]:
    nested = [_object(values, name) for name in ("instance", "item", "metadata", "data") if name in values]
    return {key: item for one in (*nested, values) for key, item in one.items()}


def _potato_label(cell: str) -> str:
    """Return the only label of the only question."""
    schemes = cell.value if isinstance(cell, Nested) else None
    if not isinstance(schemes, dict) or not schemes:
        return ""
    if len(schemes) > 1:
        raise FormatError(
            f"holds several questions: {listed(schemes)}",
            code="several_criteria",
            column="label_annotations",
            hint="Keep the question that the ranking is about.",
        )
    labels = next(iter(schemes.values()))
    if not isinstance(labels, dict):
        return text_of(labels)
    chosen = [text_of(key) for key, value in labels.items() if text_of(value).casefold() not in {"", "false", "0"}]
    if len(chosen) > 1:
        raise FormatError(
            f"holds several labels: {listed(chosen)}",
            code="unknown_label",
            column="label_annotations",
            hint="Keep one label in the row.",
        )
    return chosen[0] if chosen else ""


def _object(values: Mapping[str, str], column: str) -> dict[str, Any]:
    cell = values.get(column)
    found = cell.value if isinstance(cell, Nested) else None
    if not isinstance(found, dict):
        raise FormatError(
            "is not an object", code="bad_value", column=column, hint="Export the annotations as JSON again."
        )
    return found


def _named_pair(item: Mapping[str, Any], column: str) -> dict[str, str]:
    """Return the names of the two chatbots, and the prompt, of the item that was shown."""
    try:
        a, b, _ = spelled_columns([*(key for key in item if key not in _NO_OUTCOME), "outcome"])
    except FormatError as error:
        code = "ambiguous_layout" if error.code == "ambiguous_layout" else "missing_column"
        raise FormatError(
            f"does not say which chatbots were compared (it has {listed(map(quoted, item), show=str)})",
            code=code, column=column, hint=_CHATBOTS,
        ) from error  # fmt: skip
    prompt = next((text_of(item[name]) for name in ("prompt_id", "question_id") if item.get(name) is not None), "")
    text = next((text_of(item[name]) for name in ("prompt", "question", "text") if item.get(name)), "")
    return {"model_a": text_of(item[a]), "model_b": text_of(item[b]), "prompt_id": prompt, "prompt": text}


_NO_OUTCOME = frozenset({"outcome", "winner", "vote", "choice", "verdict", "preference", "preferred"})
