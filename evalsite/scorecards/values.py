"""Scorecards and reports of predicted ratings in plain types, as they are stored and written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from evalsite.scorecards.correlations import MetricCorrelation
from evalsite.scorecards.rating_prediction import Evaluation, RatingPrediction
from evalsite.scorecards.scorecard import Scorecard
from evalsite.scorecards.unified_scores import UnifiedScore
from irt_engine.scorecard import Estimate

Cell = Estimate | UnifiedScore | None


def scorecard_values(scorecard: Scorecard) -> dict[str, object]:
    """Return the scorecard in plain types; None where there is no value."""
    return {
        "chatbots": list(scorecard.chatbots),
        "metrics": _cells(scorecard.metrics),
        "unified": _cells(scorecard.unified),
        "correlations": [_correlation(one) for one in scorecard.correlations],
        "warnings": list(scorecard.warnings),
    }


def prediction_values(report: RatingPrediction) -> dict[str, object]:
    """Return the report in plain types.

    {"n", "ceiling": {"pearson", "lower", "upper", "icc", "ratings_per_conversation", "n"} or null,
    "evaluations": [{"predictor", "folds", "n", "rmse", "rmse_if_calibrated", "sd", "pearson", "p", "spearman", "slope",
    "intercept", "share_of_ceiling"}], "predictions": [{"conversation_id", "chatbot", "value", "lower", "upper"}],
    "warnings"}
    """
    return {
        "n": report.n,
        "ceiling": asdict(report.ceiling) if report.ceiling is not None else None,
        "evaluations": [_evaluation(one) for one in report.evaluations],
        "predictions": [asdict(one) for one in report.predictions],
        "warnings": list(report.warnings),
    }


def _cells(table: Mapping[str, Mapping[str, Cell]]) -> dict[str, dict[str, dict[str, float | None] | None]]:
    return {name: {chatbot: _cell(cell) for chatbot, cell in cells.items()} for name, cells in table.items()}


def _cell(cell: Cell) -> dict[str, float | None] | None:
    if cell is None:
        return None
    values: dict[str, float | None] = {"value": cell.value, "lower": cell.lower, "upper": cell.upper, "n": cell.n}
    return values | {"band": cell.band} if isinstance(cell, UnifiedScore) else values


def _correlation(one: MetricCorrelation) -> dict[str, object]:
    found = one.correlation
    return {
        "metric": one.metric,
        "with": one.rating,
        "n": found.n,
        "unit": one.unit,
        "pearson": found.pearson,
        "p": found.pearson_p,
        "lower": found.lower,
        "upper": found.upper,
        "spearman": found.spearman,
    }


def _evaluation(one: Evaluation) -> dict[str, object]:
    error = asdict(one.error)
    error["p"] = error.pop("pearson_p")
    return {"predictor": one.predictor, "folds": one.folds, **error, "share_of_ceiling": one.share_of_ceiling}
