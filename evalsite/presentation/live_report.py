"""The live report as text tables, for the page of a board and of the console."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.boards.analysis_plans import planned_tests
from evalsite.boards.live_reports import LiveReportContent
from evalsite.presentation.formatting import fixed, signed, whole
from evalsite.presentation.label_report import label_table
from evalsite.presentation.live_comparisons import modes_table, third_parties_table
from evalsite.presentation.report_text import DASH, TextTable, interval, number, p_value, part_of, percent, points


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
        "labels": [label_table(one) for one in content.get("labels", []) if one["chatbots"]],
        "third_parties": third_parties_table(content.get("third_parties", [])),
        "modes": modes_table(content.get("modes", [])),
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
            percent(found["removed"]["dialogues"]),
            percent(found["removed"]["turns"]),
        )
        for name, found in content["samples"].items()
    ]
    return TextTable(_("Dialogues and turns before and after cleaning"), heads, tuple(rows))


def _size(found: Mapping[str, Any]) -> tuple[str, str, str]:
    mean = found["mean_turns"]
    return whole(found["dialogues"]), whole(found["turns"]), DASH if mean is None else fixed(mean, 1)


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
            "win": percent(ties["tie_win"]),
            "loss": percent(ties["tie_loss"]),
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
                percent(rate["rate"]),
                interval(rate),
                interval(found["wald"][name]),
                interval(own) if own else DASH,
                number(own["design_effect"]) if own else DASH,
            )
        )
    return TextTable(_("Win rates"), heads, tuple(rows))


def _tests(found: Mapping[str, Any], planned: frozenset[str]) -> TextTable:
    heads = (_("Chatbots"), _("Test"), _("Statistic"), _("p"), _("p (Holm)"), _("Status"))
    rows = [
        (
            " · ".join(test["chatbots"]),
            test["test"],
            number(test["statistic"]),
            p_value(test["p"]),
            p_value(test["p_holm"]),
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
            points(pair["difference"]),
            number(pair["statistic"]),
            p_value(pair["p"]),
            p_value(pair["p_holm"]),
            number(pair["design_effect"]),
        )
        for pair in clustered["pairs"]
    ]
    if len(rows) != 1:
        everybody = (
            _("all"),
            whole_test["test"],
            DASH,
            number(whole_test["statistic"]),
            p_value(whole_test["p"]),
            DASH,
        )
        rows.insert(0, (*everybody, number(whole_test["design_effect"])))
    caption = _("Tests with conversations as units (%(n)s)") % {"n": whole(clustered["conversations"])}
    return TextTable(caption, heads, tuple(rows))


def _positions(positions: Mapping[str, Any]) -> TextTable:
    test, clustered = positions["omnibus"], positions["clustered"]
    caption = _("Selection by display position (anchoring): %(test)s, p %(p)s; by conversation p %(clustered)s") % {
        "test": test["test"],
        "p": p_value(test["p"]),
        "clustered": p_value(clustered["p"]),
    }
    rows = [
        (name, whole(rate["selected"]), percent(rate["rate"]), interval(rate))
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
            part_of(one["again"], one["after"]),
            part_of(one["anew"], one["otherwise"]),
            whole(one["again"]),
            fixed(one["expected"], 1),
            number(one["z"]),
            p_value(one["p"]),
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
        (name, whole(one["replies"]), whole(one["failed"]), percent(one["rate"]), interval(one))
        for name, one in found.items()
    ]
    heads = (_("Chatbot"), _("Replies"), _("Failed"), _("Failure rate"), _("95 % interval (Wilson)"))
    return TextTable(_("Failed replies, which count for nobody"), heads, tuple(rows))


def _arms(view: LiveReportContent) -> TextTable | None:
    """Return the win rates of all arms of the study side by side; None without other arms."""
    if not view.arms:
        return None
    own = (view.campaign.name, view.campaign.live.repetition, view.content or {})
    others = [(arm.campaign.name, arm.campaign.live.repetition, arm.content) for arm in view.arms]
    rows = [
        (arm, whole(repetition), name, whole(found["turns"]), chatbot, percent(rate["rate"]), interval(rate))
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
                    percent(rate),
                    DASH if after is None else percent(after),
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
