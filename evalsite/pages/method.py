"""The method page of a board: model, ties, intervals, stopping, exclusions and versions, with its own numbers."""

from collections.abc import Mapping
from typing import Any

from evalsite.boards.public_log import log_state
from evalsite.boards.selectors import BoardState, chart_data_fit
from evalsite.campaigns.limits import budget_of
from evalsite.judgments.models import Skip
from evalsite.judgments.selectors import accounting, skips_by_reason
from evalsite.presentation.formatting import fixed, share, signed
from evalsite.presentation.page_cache import cached_part
from evalsite.presentation.ranking import stamp, status_of
from evalsite.presentation.scale_text import scales_text

ACCOUNT_KEPT_S = 10  # Counting 100,000 judgments in five ways takes a quarter of a second.


def method_context(board_state: BoardState) -> dict[str, Any]:
    """Return the context of method.html without the board's head."""
    campaigns = list(board_state.board.campaigns.select_related("stopping", "prompt_set"))
    snapshot = board_state.snapshot
    fit = chart_data_fit(snapshot) if snapshot else None
    account, skips = cached_part(
        f"account-{stamp(board_state)}-{board_state.tally.judgments}",
        lambda: (accounting(campaigns), skips_by_reason(campaigns)),
        for_s=ACCOUNT_KEPT_S,
    )
    return {
        "campaigns": [(one, budget_of(one)) for one in campaigns],
        "shows_prompts": board_state.campaign is not None and board_state.campaign.shows_prompts,
        "snapshot": snapshot,
        "log": log_state(board_state.board) if not board_state.slice else None,
        "decision": board_state.decision,
        "slice": board_state.slice,
        "choices": board_state.aspect.choices,
        "account": account,
        "skips": [(str(label), skips[value]) for value, label in Skip.Reason.choices if value in skips],
        "shares": _shares(board_state),
        "fit": _fit(fit, snapshot.judgments) if snapshot and fit else None,
        "sensitivity": _sensitivity(fit["sensitivity"], snapshot.rows)
        if snapshot and fit and fit.get("sensitivity")
        else None,
        "ties_fitted": fit.get("known_ties", 0) if fit else 0,
        "known_ties": sum(row.get("known_ties", 0) for row in snapshot.rows) // 2 if snapshot else 0,
    }


def _shares(board_state: BoardState) -> list[dict[str, Any]]:
    """Return how often each version was judged: its share of all places in comparisons. Every judged one is listed."""
    rows = board_state.snapshot.rows if board_state.snapshot else []
    total = sum(row["judgments"] for row in rows)
    new = frozenset(one.version for one in board_state.newcomers)
    return [
        {
            "name": row["name"],
            "version": row.get("version_label", ""),
            "judgments": row["judgments"],
            "share": share(row["judgments"] / total) if total else "",
            "status": status_of(row, rows, board_state.withdrawn, new).word,
        }
        for row in rows
    ]


def _merged(merged: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Describe the merged prompts; None where the campaign does not merge any."""
    return None if merged is None else {"groups": merged["groups"], "change": f"{merged['change']:+.1%}"}


def _sensitivity(found: Mapping[str, Any], rows: list[Any]) -> dict[str, Any]:
    """Describe how far the board moves without its most influential annotators."""
    names = {row.get("version"): row["name"] for row in rows}
    return {
        "dropped": found["dropped"],
        "annotators": found["annotators"],
        "name": names.get(found["version"], ""),
        "shift": signed(found["shift"]),
        "errors": fixed(abs(found["shift_se"]), 1),
        "swaps": [(names.get(upper, ""), names.get(lower, "")) for upper, lower in found["swaps"]],
    }


def _fit(fit: Mapping[str, Any], judgments: int) -> dict[str, Any]:
    """Describe what the fit estimated. An effect that the model lacks is omitted."""
    scales = {name: value for name, value in fit["scales"].items() if isinstance(value, float)}
    ties = fit["ties"]
    return {
        "prompts": fit["prompts"],
        "cells": fit["cells"],
        "ties": ties,
        "tie_share": share(ties / judgments) if ties is not None and judgments else "",
        "side": signed(fit["side"]) if fit["side_se"] else "",
        "side_se": fixed(fit["side_se"]),
        "scales": {name: fixed(value) for name, value in scales.items()},
        "learned": fit["scales"].get("learned", False),
        "at_limit": scales_text(fit["scales"].get("at_limit", ())),
        "merged": _merged(fit.get("merged")),
    }
