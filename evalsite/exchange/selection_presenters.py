"""Reports of selections and sizes of studies as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from evalsite.boards.selection_presenters import setting_as_dict
from evalsite.exchange.selection_reports import SelectionReport
from irt_engine.selections import TurnSize


def report_as_json(report: SelectionReport) -> str:
    """Return one line of JSON, an object for each setting."""
    return json.dumps({setting.name: setting_as_dict(setting) for setting in report.settings}, allow_nan=False)


def size_as_json(size: TurnSize) -> str:
    """Return one line of JSON with exactly the fields of `TurnSize`."""
    return json.dumps(asdict(size), allow_nan=False)
