"""The numbers of a live report, one for each row of a file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

COLUMNS = ("setting", "table", "chatbot", "other", "measure", "value")


def report_rows(content: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, str, Any]]:
    """Return the numbers of a report, one for each row of a file (`COLUMNS`)."""
    for name, sample in content.get("samples", {}).items():
        yield from _leaves(name, "samples", "", "", sample)
    for name, found in content.get("settings", {}).items():
        yield from _leaves(name, "sizes", "", "", {"turns": found["turns"], **(found["ties"] or {})})
        yield from _by_chatbot(name, "win_rates", found["win_rates"])
        yield from _by_chatbot(name, "win_rates_wald", found["wald"])
        for test in found["tests"]:
            yield from _test_rows(name, "tests", test["chatbots"], test)
        if found["clustered"]:
            yield from _clustered_rows(name, found["clustered"])
    yield from _by_chatbot("", "failures", content.get("failures", {}))
    for number, sample in enumerate(content.get("third_parties", []), start=1):
        yield from _leaves("", f"third_parties {number}", "", "", sample)
    for one in content.get("modes", []):
        test = {name: one[name] for name in ("test", "statistic", "df", "p", "one_board")}
        yield from _leaves("", f"modes: {one['name']}", "", "", test)
        yield from _by_chatbot("", f"modes: {one['name']}", {name: {"shift": x} for name, x in one["shifts"].items()})
    for one in content.get("labels", []):
        yield from _label_rows(one)
    yield from _by_chatbot("", "abilities", (content.get("abilities") or {}).get("chatbots", {}))


_Row = tuple[str, str, str, str, str, Any]


def _label_rows(found: Mapping[str, Any]) -> Iterator[_Row]:
    """Return the numbers of a question: a row of each label, or of the mean, and of each end of its interval."""
    for row in found["chatbots"]:
        for label, value in zip(found["labels"] or ["mean"], row["values"], strict=True):
            yield from _leaves("", f"labels: {found['key']}", row["chatbot"], "", {label: value})
        yield from _leaves("", f"labels: {found['key']}", row["chatbot"], "", {"n": row["n"]})


def _clustered_rows(name: str, clustered: Mapping[str, Any]) -> Iterator[_Row]:
    """Return the numbers of one setting with conversations as units."""
    yield from _by_chatbot(name, "win_rates_clustered", clustered["win_rates"])
    yield from _leaves(name, "omnibus_clustered", "", "", clustered["omnibus"])
    for pair in clustered["pairs"]:
        yield from _test_rows(name, "pairs_clustered", (pair["a"], pair["b"]), pair)
    if clustered["positions"]:
        yield from _by_chatbot(name, "positions", clustered["positions"]["shares"])
    for one in clustered["reselection"]:
        yield from _leaves(name, "reselection", one["chatbot"], "", one)
    for one in clustered["ties"]:
        yield from _leaves(name, "tie_runs", one["kind"], "", one)


def _by_chatbot(setting: str, table: str, found: Mapping[str, Any]) -> Iterator[_Row]:
    for chatbot, values in found.items():
        yield from _leaves(setting, table, chatbot, "", values)


def _test_rows(setting: str, table: str, chatbots: Sequence[str], values: Mapping[str, Any]) -> Iterator[_Row]:
    """Return the numbers of a test. A test of all chatbots names none; several tests of a pair differ by `table`."""
    first, second = chatbots if len(chatbots) == 2 else ("", "")
    named = {key: value for key, value in values.items() if key not in ("chatbots", "a", "b", "test")}
    yield from _leaves(setting, f"{table}: {values['test']}", first, second, named)


def _leaves(setting: str, table: str, chatbot: str, other: str, values: Mapping[str, Any]) -> Iterator[_Row]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            nested = {f"{key}_{inner}": one for inner, one in value.items()}
            yield from _leaves(setting, table, chatbot, other, nested)
        elif isinstance(value, list):
            yield setting, table, chatbot, other, key, " ".join(str(one) for one in value)
        elif key not in ("chatbot", "kind"):
            yield setting, table, chatbot, other, key, "" if value is None else value
