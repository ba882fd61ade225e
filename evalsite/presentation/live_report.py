"""The live report as text tables, for the page of a board and of the console, and as rows of a file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.boards.analysis_plans import planned_tests
from evalsite.boards.live_reports import LiveReportContent
from evalsite.presentation.formatting import fixed, signed, whole

COLUMNS = ("setting", "table", "chatbot", "other", "measure", "value")
_DASH = "–"


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of a report: caption, heads, and rows of text. The first column names the row."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SettingTables:
    """The tables of one setting. lines: short statements between the tables."""

    name: str
    lines: tuple[str, ...]
    tables: tuple[TextTable, ...]


def live_report_context(view: LiveReportContent) -> dict[str, Any]:
    """Return the context of _live_report.html."""
    content = view.content or {}
    settings = content.get("settings", {})
    planned = planned_tests(view.plan)
    return {
        "computed_at": view.computed_at,
        "samples": _samples(content) if content.get("samples") else None,
        "settings": [_setting(name, found, content, planned) for name, found in settings.items()],
        "abilities": _abilities(content.get("abilities")),
        "failures": _failures(content.get("failures", {})),
        "third_parties": _third_parties(content.get("third_parties", [])),
        "modes": _modes(content.get("modes", [])),
        "arms": _arms(view),
        "plan": _plan(view) if view.plan and view.plan.content else None,
    }


def cleaning_context(view: LiveReportContent) -> dict[str, Any]:
    """Return the cleaning proposals and their preview, for the console."""
    cleaning = view.cleaning or {"proposals": [], "preview": {}}
    return {
        "proposals": [
            {**one, "reasons": [_cleaning_reason(reason) for reason in one["reasons"]]} for one in cleaning["proposals"]
        ],
        "preview": _preview(cleaning["preview"]) if cleaning["preview"] else None,
    }


def _samples(content: Mapping[str, Any]) -> TextTable:
    heads = (
        _("Setting"),
        _("Dialogues"),
        _("Turns"),
        _("Mean turns"),
        _("Dialogues after cleaning"),
        _("Turns after cleaning"),
        _("Mean turns after cleaning"),
        _("Dialogues removed"),
        _("Turns removed"),
    )
    rows = [
        (
            name,
            *_size(found["before"]),
            *_size(found["after"]),
            _percent(found["removed"]["dialogues"]),
            _percent(found["removed"]["turns"]),
        )
        for name, found in content["samples"].items()
    ]
    return TextTable(_("Dialogues and turns before and after cleaning"), heads, tuple(rows))


def _size(found: Mapping[str, Any]) -> tuple[str, str, str]:
    mean = found["mean_turns"]
    return whole(found["dialogues"]), whole(found["turns"]), _DASH if mean is None else fixed(mean, 1)


def _setting(name: str, found: Mapping[str, Any], content: Mapping[str, Any], planned: frozenset[str]) -> SettingTables:
    clustered = found["clustered"]
    tables = [_win_rates(found), _tests(found, planned)]
    if clustered:
        tables.append(_clustered_tests(clustered))
        if clustered["positions"]:
            tables.append(_positions(clustered["positions"]))
        tables.append(_repetitions(clustered))
    return SettingTables(name, tuple(_lines(name, found, content)), tuple(tables))


def _lines(name: str, found: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[str]:
    ties = found["ties"]
    if ties and not found["one_best"]:
        yield _("Tie-win (both selected): %(win)s. Tie-loss (none selected): %(loss)s.") % {
            "win": _percent(ties["tie_win"]),
            "loss": _percent(ties["tie_loss"]),
        }
    if rating := content.get("ratings", {}).get(name):
        yield _("Mean rating at the end: %(mean)s from %(n)s conversations.") % {
            "mean": fixed(rating["mean"]),
            "n": whole(rating["conversations"]),
        }
    if written := content.get("written", {}).get(name):
        yield _("Annotators wrote a reply themselves in %(n)s of %(turns)s turns.") % {
            "n": whole(written["written"]),
            "turns": whole(written["turns"]),
        }


def _win_rates(found: Mapping[str, Any]) -> TextTable:
    clustered = (found["clustered"] or {}).get("win_rates", {})
    heads = (
        _("Chatbot"),
        _("Selected"),
        _("Win rate"),
        _("95 % interval (Wilson)"),
        _("95 % interval (Wald)"),
        _("95 % interval by conversation"),
        _("Design effect"),
    )
    rows = []
    for name, rate in found["win_rates"].items():
        own = clustered.get(name)
        rows.append(
            (
                name,
                whole(rate["selected"]),
                _percent(rate["rate"]),
                _range(rate),
                _range(found["wald"][name]),
                _range(own) if own else _DASH,
                _number(own["design_effect"]) if own else _DASH,
            )
        )
    return TextTable(_("Win rates"), heads, tuple(rows))


def _tests(found: Mapping[str, Any], planned: frozenset[str]) -> TextTable:
    heads = (_("Chatbots"), _("Test"), _("Statistic"), _("p"), _("p (Holm)"), _("Status"))
    rows = [
        (
            " · ".join(test["chatbots"]),
            test["test"],
            _number(test["statistic"]),
            _p(test["p"]),
            _p(test["p_holm"]),
            _("planned") if test["test"] in planned else _("exploratory"),
        )
        for test in found["tests"]
    ]
    return TextTable(_("Tests, with turns taken as independent"), heads, tuple(rows))


def _clustered_tests(clustered: Mapping[str, Any]) -> TextTable:
    heads = (_("Chatbots"), _("Test"), _("Difference"), _("Statistic"), _("p"), _("p (Holm)"), _("Design effect"))
    whole_test = clustered["omnibus"]
    rows = [
        (
            f"{pair['a']} · {pair['b']}",
            pair["test"],
            _points(pair["difference"]),
            _number(pair["statistic"]),
            _p(pair["p"]),
            _p(pair["p_holm"]),
            _number(pair["design_effect"]),
        )
        for pair in clustered["pairs"]
    ]
    if len(rows) != 1:
        everybody = (_("all"), whole_test["test"], _DASH, _number(whole_test["statistic"]), _p(whole_test["p"]), _DASH)
        rows.insert(0, (*everybody, _number(whole_test["design_effect"])))
    caption = _("Tests with conversations as units (%(n)s)") % {"n": whole(clustered["conversations"])}
    return TextTable(caption, heads, tuple(rows))


def _positions(positions: Mapping[str, Any]) -> TextTable:
    test, clustered = positions["omnibus"], positions["clustered"]
    caption = _("Selection by display position (anchoring): %(test)s, p %(p)s; by conversation p %(clustered)s") % {
        "test": test["test"],
        "p": _p(test["p"]),
        "clustered": _p(clustered["p"]),
    }
    rows = [
        (name, whole(rate["selected"]), _percent(rate["rate"]), _range(rate))
        for name, rate in positions["shares"].items()
    ]
    return TextTable(caption, (_("Position"), _("Selected"), _("Share"), _("95 % interval (Wilson)")), tuple(rows))


def _repetitions(clustered: Mapping[str, Any]) -> TextTable:
    """Return how often a selection, or a tie, is repeated in the next turn."""
    heads = (
        _("Chatbot or tie"),
        _("Again after it"),
        _("Otherwise"),
        _("Again"),
        _("In a random order"),
        _("z"),
        _("p"),
    )
    rows = [
        (
            one.get("chatbot", one.get("kind", "")),
            _part(one["again"], one["after"]),
            _part(one["anew"], one["otherwise"]),
            whole(one["again"]),
            fixed(one["expected"], 1),
            _number(one["z"]),
            _p(one["p"]),
        )
        for one in [*clustered["reselection"], *clustered["ties"]]
    ]
    return TextTable(_("Consecutive turns: selected again (cascade), and runs of ties"), heads, tuple(rows))


def _abilities(found: Mapping[str, Any] | None) -> TextTable | None:
    if not found:
        return None
    rows = [
        (name, signed(one["ability"]), fixed(one["se"]), f"{signed(one['lower'])} – {signed(one['upper'])}")
        for name, one in sorted(found["chatbots"].items(), key=lambda item: -item[1]["ability"])
    ]
    caption = _("Abilities from the selections (logits; each turn weighted once, %(n)s conversations as units)") % {
        "n": whole(found["conversations"])
    }
    return TextTable(caption, (_("Chatbot"), _("Ability"), _("SE"), _("95 % interval")), tuple(rows))


def _failures(found: Mapping[str, Any]) -> TextTable | None:
    if not found:
        return None
    rows = [
        (name, whole(one["replies"]), whole(one["failed"]), _percent(one["rate"]), _range(one))
        for name, one in found.items()
    ]
    heads = (_("Chatbot"), _("Replies"), _("Failed"), _("Failure rate"), _("95 % interval (Wilson)"))
    return TextTable(_("Failed replies, which count for nobody"), heads, tuple(rows))


def _third_parties(found: Sequence[Mapping[str, Any]]) -> TextTable | None:
    """Return the agreement of third parties with the live choices, a row for each coefficient of each sample."""
    if not found:
        return None
    annotators = {
        "with_live": _("live choices and third parties"),
        "among_themselves": _("third parties among themselves"),
    }
    names = {"krippendorff": _("Krippendorff's alpha (nominal)"), "fleiss": _("Fleiss' kappa")}
    rows = [
        (
            sample["made_at"][:10],
            annotators[who],
            names[name],
            _number(sample[who][name]["value"]),
            _number(sample[who][name]["se"]),
            whole(sample["turns"]),
            whole(sample["annotators"]),
            _part(sample["same"], sample["compared"]),
        )
        for sample in found
        for who in annotators
        for name in names
    ]
    heads = (
        _("Sample of"),
        _("Annotators"),
        _("Coefficient"),
        _("Value"),
        _("SE"),
        _("Turns"),
        _("Third parties"),
        _("Same as the live choice"),
    )
    return TextTable(_("Agreement of third parties: each reply selected or not"), heads, tuple(rows))


def _modes(found: Sequence[Mapping[str, Any]]) -> TextTable | None:
    """Return the tests that the mode makes no difference; None without a static campaign to compare with."""
    if not found:
        return None
    rows = [
        (
            one["name"],
            _("one board") if one["one_board"] else _("two boards"),
            one["test"],
            _number(one["statistic"]),
            ", ".join(whole(df) for df in one["df"]),
            _p(one["p"]),
            "; ".join(f"{name} {signed(shift)}" for name, shift in one["shifts"].items()),
        )
        for one in found
    ]
    heads = (
        _("Static campaign"),
        _("Result"),
        _("Test"),
        _("Statistic"),
        _("Degrees of freedom"),
        _("p"),
        _("Live minus static ability (logits)"),
    )
    return TextTable(_("Static and live judgments of the same chatbots"), heads, tuple(rows))


def _arms(view: LiveReportContent) -> TextTable | None:
    """Return the win rates of all arms of the study side by side; None without other arms."""
    if not view.arms:
        return None
    own = (view.campaign.name, view.campaign.live.repetition, view.content or {})
    others = [(arm.campaign.name, arm.campaign.live.repetition, arm.content) for arm in view.arms]
    rows = [
        (arm, whole(repetition), name, whole(found["turns"]), chatbot, _percent(rate["rate"]), _range(rate))
        for arm, repetition, content in [own, *others]
        for name, found in content.get("settings", {}).items()
        for chatbot, rate in found["win_rates"].items()
    ]
    heads = (
        _("Campaign"),
        _("Repetition"),
        _("Setting"),
        _("Turns"),
        _("Chatbot"),
        _("Win rate"),
        _("95 % interval (Wilson)"),
    )
    return TextTable(_("All arms of the study side by side"), heads, tuple(rows))


def _plan(view: LiveReportContent) -> dict[str, Any]:
    plan = view.plan
    assert plan is not None  # noqa: S101  the caller has looked
    assert plan.content is not None  # noqa: S101
    content = plan.content
    return {
        "frozen_at": plan.frozen_at,
        "sha256": plan.sha256,
        "lines": [
            _("Setting: %(setting)s") % {"setting": content["setting"]},
            _("Tests: %(tests)s, with correction by %(adjustment)s")
            % {"tests": ", ".join(content["tests"]), "adjustment": content["adjustment"]},
            _("Level %(alpha)s, power %(power)s, smallest difference %(difference)s")
            % {name: fixed(content[name], 3) for name in ("alpha", "power", "difference")},
            _("Sample size: %(turns)s turns") % {"turns": whole(content["turns"])}
            if content["turns"]
            else _("No sample size was planned."),
        ],
    }


def _preview(found: Mapping[str, Any]) -> TextTable:
    rows = []
    for name, both in found.items():
        now, then = both["now"], both["then"]
        for chatbot, rate in now["win_rates"].items():
            after = then["win_rates"].get(chatbot)
            rows.append(
                (
                    f"{name}: {chatbot}",
                    whole(now["dialogues"]),
                    whole(then["dialogues"]),
                    _percent(rate),
                    _DASH if after is None else _percent(after),
                )
            )
    heads = (
        _("Chatbot"),
        _("Dialogues now"),
        _("Dialogues then"),
        _("Win rate now"),
        _("Win rate then"),
    )
    return TextTable(_("If all proposals are accepted"), heads, tuple(rows))


def _cleaning_reason(reason: str) -> str:
    return {
        "fixed_pattern": _("the same positions selected in every turn"),
        "short_messages": _("fewer than two words in a message on average"),
        "names_maker": _("a reply names its maker"),
    }.get(reason, reason)


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
    yield from _by_chatbot("", "abilities", (content.get("abilities") or {}).get("chatbots", {}))


_Row = tuple[str, str, str, str, str, Any]


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


def _percent(value: float) -> str:
    return _("%(percent)s %%") % {"percent": fixed(100.0 * value, 1)}


def _points(value: float) -> str:
    return f"{'+' if value > 0 else ''}{fixed(100.0 * value, 1)}"


def _range(found: Mapping[str, Any]) -> str:
    if found["lower"] is None or found["upper"] is None:
        return _DASH
    return f"{fixed(100.0 * found['lower'], 1)} – {_percent(found['upper'])}"


def _part(part: int, all_of: int) -> str:
    return f"{_percent(part / all_of)} ({whole(all_of)})" if all_of else _DASH


def _number(value: float | None) -> str:
    return _DASH if value is None else fixed(value)


def _p(value: float | None) -> str:
    if value is None:
        return _DASH
    return f"< {fixed(0.001, 3)}" if value < 0.001 else fixed(value, 3)
