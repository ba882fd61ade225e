"""A report of predicted ratings as JSON and as text."""

from __future__ import annotations

import json

from evalsite.scorecards.rating_prediction import RatingPrediction
from evalsite.scorecards.values import prediction_values


def prediction_json(report: RatingPrediction) -> str:
    """Return the report as JSON (RFC 8259)."""
    return json.dumps(prediction_values(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def prediction_table(report: RatingPrediction) -> str:
    """Return the report as text."""
    lines = [f"{report.n:,} conversations with a rating"]
    if report.ceiling is not None:
        one = report.ceiling
        lines.append(
            f"ceiling of Pearson's r: {one.pearson:.3f} [{one.lower:.3f}, {one.upper:.3f}] "
            f"(ICC {one.icc:.3f}, {one.ratings_per_conversation:.1f} ratings a conversation)"
        )
    lines.append("")
    lines.append(
        f"{'predictor':<18} {'folds by':<13} {'RMSE':>6} {'SD√(1-r²)':>9} {'r':>7} {'rho':>7} {'of ceiling':>10}"
    )
    for found in report.evaluations:
        error, share = found.error, found.share_of_ceiling
        lines.append(
            f"{found.predictor:<18} {found.folds:<13} {error.rmse:6.3f} {error.rmse_if_calibrated:9.3f} "
            f"{_shown(error.pearson):>7} {_shown(error.spearman):>7} {'-' if share is None else f'{share:.0%}':>10}"
        )
    if report.predictions:
        lines += ["", f"{len(report.predictions):,} conversations without a rating"]
        lines += [
            f"  {one.conversation_id}  {one.value:.2f} [{one.lower:.2f}, {one.upper:.2f}]" for one in report.predictions
        ]
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
