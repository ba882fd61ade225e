"""Reports of selections and sizes of studies as text tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalsite.boards.selection_reports import ConversationReport, PositionShares, ReportOptions, SettingReport
from evalsite.exchange.selection_reports import SelectionReport
from evalsite.exchange.text_layout import aligned, counted, short_name
from irt_engine.selections import (
    ClusteredAnalysis,
    ClusteredPair,
    ClusteredTest,
    PairTest,
    Repetition,
    SelectionAnalysis,
    TurnSize,
)
from irt_engine.significance import Significance

_INTERVALS = {"wilson": "95 % interval (Wilson)", "wald": "95 % interval (Wald)"}


def report_as_table(report: SelectionReport) -> str:
    """Return the report in lines: for each setting win rates, tests, and what needs conversations."""
    return "\n\n".join("\n".join(_setting(setting, report.options)) for setting in report.settings)


def size_as_table(size: TurnSize) -> str:
    """Return the turns, and the assumptions one by one."""
    rows = [(name.replace("_", " "), _assumption(value)) for name, value in size.assumptions.items()]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}".rstrip() for name, value in rows]
    effect = size.assumptions.get("pilot_design_effect")
    note = "Turns count as independent. Multiply by the design effect if turns of one conversation are alike."
    if effect is not None:
        note = f"Turns count as independent. With the pilot's design effect: {_inflated(size.turns, effect):,} turns."
    return "\n".join([f"{size.setting}: {counted(size.turns, 'turn')}", "", *lines, "", note])


def _inflated(turns: int, effect: float) -> int:
    return max(turns, round(turns * effect))


def _assumption(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{short_name(name)} {share:.1%}" for name, share in value.items())
    if isinstance(value, list):
        return ", ".join(short_name(name) for name in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _setting(report: SettingReport, options: ReportOptions) -> Iterator[str]:
    found = report.analysis
    kind = "select one best" if report.one_best else "select all appropriate"
    yield f"{short_name(report.name)}: {counted(found.turns, 'turn')}, {kind}"
    yield ""
    yield from _rates(found, "chatbot", options)
    yield ""
    yield from _tests(found)
    if report.conversations is not None:
        yield ""
        yield from _conversations(report.conversations, options)


def _rates(found: SelectionAnalysis, what: str, options: ReportOptions) -> list[str]:
    heads = (what, "selected", "share", _INTERVALS[options.interval])
    cells = [
        [short_name(rate.chatbot), f"{rate.selected:,}", f"{rate.rate:.1%}", _interval(rate.lower, rate.upper)]
        for rate in found.win_rates
    ]
    return aligned(heads, "<>>>", cells)


def _tests(found: SelectionAnalysis) -> Iterator[str]:
    name = "Against the baseline" if not found.pairs else "Equal win rates"
    yield f"{name}: {_test(found.omnibus)}"
    if len(found.pairs) == 1:
        yield f"Tie-win {found.pairs[0].tie_win:.1%}, tie-loss {found.pairs[0].tie_loss:.1%}"
    if found.pairs:
        yield ""
        yield from _pair_lines(found.pairs)


def _pair_lines(pairs: Sequence[PairTest]) -> list[str]:
    heads = ("A", "B", "only A", "only B", "both", "neither", pairs[0].test.method, "p", "p (Holm)")
    cells = [
        [
            short_name(pair.a),
            short_name(pair.b),
            *(f"{turns:,}" for turns in (pair.only_a, pair.only_b, pair.both, pair.neither)),
            _statistic(pair.test.statistic),
            _p(pair.test.p),
            _p(pair.p_holm),
        ]
        for pair in pairs
    ]
    return aligned(heads, "<<>>>>>>>", cells)


def _test(test: Significance) -> str:
    df = "" if test.df is None else f", {test.df} df"
    return f"{test.method} {_statistic(test.statistic)}{df}, p {_p(test.p)}"


def _conversations(report: ConversationReport, options: ReportOptions) -> Iterator[str]:
    clustered = report.clustered
    yield f"With conversations as units ({counted(clustered.conversations, 'conversation')})"
    yield ""
    yield from _clustered_rates(clustered)
    yield ""
    name = "Against the baseline" if not clustered.pairs else "Equal win rates"
    yield f"{name}: {_clustered_test(clustered.omnibus)}"
    if clustered.pairs:
        yield ""
        yield from _clustered_pairs(clustered)
    if report.positions is not None:
        yield ""
        yield from _positions(report.positions, options)
    yield ""
    yield from _repetitions([*report.reselection, *report.ties])


def _clustered_rates(found: ClusteredAnalysis) -> list[str]:
    cells = [
        [
            short_name(rate.chatbot),
            f"{rate.rate:.1%}",
            _interval(rate.lower, rate.upper),
            _optional(rate.design_effect),
        ]
        for rate in found.win_rates
    ]
    return aligned(("chatbot", "share", "95 % interval", "design effect"), "<>>>", cells)


def _clustered_pairs(found: ClusteredAnalysis) -> list[str]:
    heads = ("A", "B", "A - B", "95 % interval", "t", "p", "p (Holm)", "design effect")
    cells = [
        [
            short_name(pair.a),
            short_name(pair.b),
            f"{100.0 * pair.difference:+.1f}",
            _bounds(pair),
            _optional(pair.test.statistic),
            _p(pair.test.p),
            _p(pair.p_holm),
            _optional(pair.test.design_effect),
        ]
        for pair in found.pairs
    ]
    return aligned(heads, "<<>>>>>>", cells)


def _bounds(pair: ClusteredPair) -> str:
    if pair.lower is None or pair.upper is None:
        return "-"
    return f"{100.0 * pair.lower:+.1f} to {100.0 * pair.upper:+6.1f}"


def _clustered_test(test: ClusteredTest) -> str:
    if test.statistic is None:
        return f"{test.test}: not defined by these conversations"
    df = " and ".join(str(number) for number in test.df)
    return f"{test.test} {test.statistic:.2f}, {df} df, p {_p(test.p)}, design effect {_optional(test.design_effect)}"


def _positions(positions: PositionShares, options: ReportOptions) -> Iterator[str]:
    yield "Selection by display position (anchoring)"
    yield ""
    yield from _rates(positions.plain, "position", options)
    yield ""
    yield f"Equal shares: {_test(positions.plain.omnibus)}"
    yield f"With conversations as units: {_clustered_test(positions.clustered.omnibus)}"


def _repetitions(found: Sequence[Repetition]) -> Iterator[str]:
    yield "Consecutive turns (cascade): selected again, and how often in a random order of the turns"
    yield ""
    heads = ("chatbot", "after selected", "after not selected", "again", "random order", "z", "p")
    cells = [
        [
            short_name(one.name),
            _share(one.again, one.after),
            _share(one.anew, one.otherwise),
            f"{one.again:,}",
            f"{one.expected:,.1f}",
            _optional(one.z),
            _p(one.p),
        ]
        for one in found
    ]
    yield from aligned(heads, "<>>>>>>", cells)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%} of {whole:,}" if whole else "-"


def _interval(lower: float, upper: float) -> str:
    return f"{lower:.1%} to {upper:6.1%}"


def _statistic(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.2f}"


def _optional(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
