"""Unified scores of a stored scorecard under the reader's own weights, without numpy: a page computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LEVEL = 0.95
_LOWEST_IS_BEST = frozenset({"stack_rank"})


def reweighted(content: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, dict[str, Any]]:
    """Return the unified scores with these weights of metrics (1 where none is given), by strategy and chatbot."""
    chatbots: list[str] = content["chatbots"]
    found = dict(content["unified"])
    for strategy, one in content.get("cells", {}).items():
        scale = [weights.get(metric, 1.0) for metric in one["metrics"]]
        totals = _totals(one["cells"], scale)
        replicated = [_totals(cells, scale) for cells in one["replicates"]]
        lowest = strategy in _LOWEST_IS_BEST
        ranks = (sum(scale), len(chatbots) * sum(scale)) if lowest else None
        limits = [_limits(value, [row[place] for row in replicated], ranks) for place, value in enumerate(totals)]
        bands = _bands(totals, limits, lowest=lowest)
        found[strategy] = {
            name: {"value": totals[place], "lower": limits[place][0], "upper": limits[place][1],
                   "n": sum(weight > 0 for weight in scale), "band": bands[place]}
            for place, name in enumerate(chatbots)
        }  # fmt: skip
    return found


def order(scores: Mapping[str, Any], strategy: str) -> list[str]:
    """Return the chatbots, best first by a unified score; those without one last, by name."""
    sign = 1 if strategy in _LOWEST_IS_BEST else -1
    return sorted(scores, key=lambda name: (scores[name] is None, sign * (scores[name] or {"value": 0})["value"], name))


def _totals(cells: Sequence[Sequence[float]], scale: Sequence[float]) -> list[float]:
    """Return the weighted sums over metrics of cells (K, J)."""
    used = [(weight, row) for weight, row in zip(scale, cells, strict=True) if weight]
    if not used:
        return [0.0] * (len(cells[0]) if cells else 0)
    return [sum(weight * row[place] for weight, row in used) for place in range(len(used[0][1]))]


def _limits(
    value: float, replicates: Sequence[float], ranks: tuple[float, float] | None
) -> tuple[float | None, float | None]:
    """Return the interval as the engine does: basic for sums of ranks within `ranks`, percentiles otherwise."""
    if len(replicates) < 2:
        return None, None
    ordered = sorted(replicates)
    lower, upper = (_quantile(ordered, share) for share in (0.5 - _LEVEL / 2, 0.5 + _LEVEL / 2))
    if ranks is not None:
        lower, upper = (min(max(2 * value - limit, ranks[0]), ranks[1]) for limit in (upper, lower))
    return min(lower, value), max(upper, value)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _bands(totals: Sequence[float], limits: Sequence[tuple[float | None, float | None]], *, lowest: bool) -> list[int]:
    """Number the bands: a band ends before the first chatbot whose interval is apart from that of the band's best."""
    known = [(total if low is None else low, total if high is None else high)
             for total, (low, high) in zip(totals, limits, strict=True)]  # fmt: skip
    bands, band, leader = [0] * len(totals), 0, -1
    for place in sorted(range(len(totals)), key=lambda one: totals[one] if lowest else -totals[one]):
        low, high = known[place]
        apart = leader < 0 or (low > known[leader][1] if lowest else high < known[leader][0])
        if apart:
            band, leader = band + 1, place
        bands[place] = band
    return bands
