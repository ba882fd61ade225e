"""Machine-readable results: a ranking as JSON and as CSV, a replay and a plan as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from evalsite.core.row_files import csv_text
from evalsite.exchange.file_ranking import ChatbotRow, PairRow, Ranking

if TYPE_CHECKING:  # They load the simulation of campaigns.
    from evalsite.exchange.campaign_planning import CampaignPlan
    from evalsite.exchange.replays import Replay


def as_json(ranking: Ranking) -> str:
    """Return one line of JSON with the fields of `Ranking`, without NaN or Infinity, which JSON lacks.

    Parts that were not asked for are left out.
    """
    document = asdict(ranking)
    return json.dumps({key: part for key, part in document.items() if part is not None}, allow_nan=False)


def replay_as_json(replay: Replay) -> str:
    """Return one line of JSON with exactly the fields of `Replay`."""
    return json.dumps(asdict(replay), allow_nan=False)


def plan_as_json(plan: CampaignPlan) -> str:
    """Return one line of JSON with exactly the fields of `CampaignPlan`."""
    return json.dumps({**asdict(plan), "advice": plan.advice_texts}, allow_nan=False)


def as_csv(ranking: Ranking) -> str:
    """Return the chatbots of a board, or the comparisons of model pair, as CSV with a header.

    None is an empty cell. A name that a spreadsheet would compute gets an apostrophe in front; JSON keeps the name.
    """
    kind: type[ChatbotRow] | type[PairRow] = ChatbotRow if ranking.model == "board" else PairRow
    rows: Sequence[ChatbotRow | PairRow] = ranking.chatbots if ranking.model == "board" else ranking.pairs
    names = [field.name for field in fields(kind)]
    cells = [[_cell(getattr(row, name)) for name in names] for row in rows]
    return csv_text([names, *cells], lineterminator="\n").removesuffix("\n")


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
