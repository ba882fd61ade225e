"""Statistics of selections as dictionaries, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalsite.boards.selection_reports import ConversationReport, PositionShares, SettingReport
from irt_engine.selections import (
    ClusteredAnalysis,
    ClusteredPair,
    ClusteredTest,
    PairTest,
    Repetition,
    WinRate,
)


def setting_as_dict(report: SettingReport) -> dict[str, Any]:
    """Return the report of one setting, as `manage.py selection_report --json` prints it."""
    found = report.analysis
    omnibus = found.omnibus
    return {
        "turns": found.turns,
        "win_rates": _rates(found.win_rates),
        "omnibus": {"test": omnibus.method, "statistic": omnibus.statistic, "df": omnibus.df, "p": omnibus.p},
        "pairs": [_pair(pair) for pair in found.pairs],
        "clustered": None if report.conversations is None else _conversations(report.conversations),
    }


def _rates(rates: Sequence[WinRate]) -> dict[str, Any]:
    return {
        rate.chatbot: {"selected": rate.selected, "rate": rate.rate, "lower": rate.lower, "upper": rate.upper}
        for rate in rates
    }


def _pair(pair: PairTest) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "only_a": pair.only_a,
        "only_b": pair.only_b,
        "both": pair.both,
        "neither": pair.neither,
        "test": pair.test.method,
        "statistic": pair.test.statistic,
        "p": pair.test.p,
        "p_holm": pair.p_holm,
    }


def _conversations(report: ConversationReport) -> dict[str, Any]:
    return {
        **_clustered(report.clustered),
        "positions": None if report.positions is None else _positions(report.positions),
        "reselection": [_repetition(one, "chatbot") for one in report.reselection],
        "ties": [_repetition(one, "kind") for one in report.ties],
    }


def _clustered(found: ClusteredAnalysis) -> dict[str, Any]:
    rates = {
        rate.chatbot: {
            "rate": rate.rate,
            "lower": rate.lower,
            "upper": rate.upper,
            "design_effect": rate.design_effect,
        }
        for rate in found.win_rates
    }
    return {
        "conversations": found.conversations,
        "win_rates": rates,
        "omnibus": _clustered_test(found.omnibus),
        "pairs": [_clustered_pair(pair) for pair in found.pairs],
    }


def _clustered_pair(pair: ClusteredPair) -> dict[str, Any]:
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": pair.difference,
        "lower": pair.lower,
        "upper": pair.upper,
        **_clustered_test(pair.test),
        "p_holm": pair.p_holm,
    }


def _clustered_test(test: ClusteredTest) -> dict[str, Any]:
    return {
        "test": test.test,
        "statistic": test.statistic,
        "df": list(test.df),
        "p": test.p,
        "design_effect": test.design_effect,
    }


def _positions(positions: PositionShares) -> dict[str, Any]:
    omnibus = positions.plain.omnibus
    return {
        "shares": _rates(positions.plain.win_rates),
        "omnibus": {"test": omnibus.method, "statistic": omnibus.statistic, "df": omnibus.df, "p": omnibus.p},
        "clustered": _clustered_test(positions.clustered.omnibus),
    }


def _repetition(found: Repetition, kind: str) -> dict[str, Any]:
    counts = {"after": found.after, "again": found.again, "otherwise": found.otherwise, "anew": found.anew}
    return {kind: found.name, **counts, "expected": found.expected, "z": found.z, "p": found.p}
