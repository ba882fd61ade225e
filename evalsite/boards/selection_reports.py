"""Statistics of the selections of one setting, of files and of live campaigns."""

from __future__ import annotations

from dataclasses import dataclass

from irt_engine.selections import (
    ClusteredAnalysis,
    Repetition,
    SelectionAnalysis,
    Selections,
    TurnTable,
    analyse,
    analyse_clustered,
    by_position,
    reselection,
    tie_repetition,
)
from irt_engine.selections.analysis import McNemarMethod
from irt_engine.significance.share_intervals import IntervalMethod


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """interval of win rates, McNemar's test, and the share that a single chatbot is tested against."""

    interval: IntervalMethod = "wilson"
    mcnemar: McNemarMethod = "chi_square"
    baseline: float = 0.8


@dataclass(frozen=True, slots=True)
class PositionShares:
    """Selection by display position: all turns alike, and with conversations as units."""

    plain: SelectionAnalysis
    clustered: ClusteredAnalysis


@dataclass(frozen=True, slots=True)
class ConversationReport:
    """What needs the turns one by one: tests by conversation, display positions, and consecutive turns."""

    clustered: ClusteredAnalysis
    positions: PositionShares | None
    reselection: tuple[Repetition, ...]
    ties: tuple[Repetition, ...]


@dataclass(frozen=True, slots=True)
class SettingReport:
    """The report of one setting. conversations: None for counts, and for a single conversation."""

    name: str
    one_best: bool
    analysis: SelectionAnalysis
    conversations: ConversationReport | None


def setting_report(name: str, selections: Selections, table: TurnTable | None, options: ReportOptions) -> SettingReport:
    """Analyse one setting. table: the turns one by one, if they are known.

    Raises irt_engine's EngineError.
    """
    analysis = analyse(selections, interval=options.interval, method=options.mcnemar, baseline=options.baseline)
    conversations = None if table is None else _conversations(table, options)
    return SettingReport(name, selections.one_best, analysis, conversations)


def _conversations(table: TurnTable, options: ReportOptions) -> ConversationReport | None:
    clustered = analyse_clustered(table, baseline=options.baseline)
    if clustered is None:
        return None
    shown = by_position(table)
    positions = None
    if shown is not None:
        by_conversation = analyse_clustered(shown)
        if by_conversation is not None:
            positions = PositionShares(analyse(shown.selections, interval=options.interval), by_conversation)
    return ConversationReport(clustered, positions, reselection(table), tie_repetition(table))
