"""Analysis of a file of selections, and the number of turns that a study needs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evalsite.boards.selection_reports import ReportOptions, SettingReport, setting_report
from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.selection_file import SelectionFile, SelectionFileError, SettingSelections, read_selections
from irt_engine.errors import EngineWarning
from irt_engine.selections import (
    Selections,
    TurnDesign,
    TurnSize,
    analyse_clustered,
    turns_needed,
)


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """The report of a file."""

    settings: tuple[SettingReport, ...]
    options: ReportOptions
    warnings: tuple[str, ...]


def report_selections(file: SelectionFile, options: ReportOptions) -> SelectionReport:
    """Analyse each setting of the file.

    Raises irt_engine's EngineError.
    """
    reports, messages = [], list(file.warnings)
    for setting in file.settings:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", EngineWarning)
            report = setting_report(setting.name, setting.selections, setting.table, options)
        reports.append(report)
        found = [str(one.message) for one in caught if issubclass(one.category, EngineWarning)]
        messages += [f"{setting.name}: {text}." for text in dict.fromkeys(map(_for_command, found))]
        messages += _doubts(setting, report)
    return SelectionReport(tuple(reports), options, tuple(messages))


def _for_command(text: str) -> str:
    """Return an engine's warning with the option of the command in place of the argument."""
    return text.replace("method='exact'", "--mcnemar exact")


def _doubts(setting: SettingSelections, report: SettingReport) -> Iterator[str]:
    if setting.table is not None and report.conversations is None:
        yield f"{setting.name}: there is one conversation only, so that nothing can be tested by conversation."
    elif report.conversations is not None and report.conversations.clustered.conversations < 10:
        found = report.conversations.clustered.conversations
        yield f"{setting.name}: intervals by conversation rest on {found} conversations only."


def size_of_study(
    setting: str, design: TurnDesign, *, pilot: str | None = None, pilot_setting: str | None = None
) -> TurnSize:
    """Return the turns that a study needs.

    pilot: a file of selections. Its settings that are like the study are pooled, unless one is chosen.

    Raises VoteFileError, and irt_engine's EngineError.
    """
    if pilot is None:
        return turns_needed(setting, design)
    file = read_selections(pilot)
    try:
        chosen = _chosen(file.settings, setting, pilot_setting)
        pooled = _pooled(chosen)
    except FormatError as problem:
        raise SelectionFileError(problem, path=Path(pilot)) from problem
    found = turns_needed(setting, replace(design, pilot=pooled))
    more: dict[str, Any] = {"pilot_settings": [one.name for one in chosen]}
    if (effect := _design_effect(chosen)) is not None:
        more |= {"pilot_design_effect": effect}
    return replace(found, assumptions={**found.assumptions, **more})


def _chosen(settings: Sequence[SettingSelections], study: str, name: str | None) -> list[SettingSelections]:
    """Return the named setting, or those that are most like the study: in number of chatbots, then in SOBA or SATA."""
    if name is None:
        like = [one for one in settings if _has_width(one, study)] or list(settings)
        return [one for one in like if one.selections.one_best == study.endswith("soba")] or like
    chosen = [setting for setting in settings if setting.name == name]
    if not chosen:
        raise FormatError(
            f"there is no setting {quoted(name)}",
            code="unknown_setting",
            hint=f"The settings are {listed([setting.name for setting in settings])}.",
        )
    return chosen


def _has_width(setting: SettingSelections, study: str) -> bool:
    k = len(setting.selections.chatbots)
    return {"pm": k == 2, "mm": k > 2, "sm": k == 1}[study[:2]]


def _pooled(settings: Sequence[SettingSelections]) -> Selections:
    """Return all turns of settings with the same chatbots."""
    first = settings[0].selections
    if any(setting.selections.chatbots != first.chatbots for setting in settings):
        raise FormatError(
            "its settings have different chatbots",
            code="several_settings",
            hint=f"Choose one with --pilot-setting: {listed([setting.name for setting in settings])}.",
        )
    patterns = np.concatenate([setting.selections.patterns for setting in settings])
    counts = np.concatenate([setting.selections.counts for setting in settings])
    return Selections(first.chatbots, patterns, counts)


def _design_effect(settings: Sequence[SettingSelections]) -> float | None:
    """Return the design effect of the test of all chatbots, if one setting has its turns one by one."""
    if len(settings) != 1 or settings[0].table is None:
        return None
    clustered = analyse_clustered(settings[0].table)
    return None if clustered is None else clustered.omnibus.design_effect
