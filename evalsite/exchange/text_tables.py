"""Rankings, replays and plans as text tables. Intervals are drawn if there is enough width.

rank        chatbot     ability   95 % interval                             judgments
1           gpt-4          1.31    1.02 to  1.60                  |---o---|       1,680
2  (2-3)    bard           0.22   -0.04 to  0.48        |---o---|                 1,680
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evalsite.exchange.file_ranking import (
    AnnotatorRow,
    ChatbotRow,
    MergedRow,
    PairRow,
    Ranking,
    SandwichCheck,
    StyleControl,
)
from evalsite.exchange.text_layout import GAP, aligned, columns, counted, short_name

if TYPE_CHECKING:  # They load the simulation of campaigns.
    from evalsite.exchange.campaign_planning import CampaignPlan, ForecastRow
    from evalsite.exchange.replays import Replay
    from scheduler.forecasting.forecast import Range

_Z = 1.959963984540054  # Quantile of a two-sided 95 % interval.
_LEAST_DRAWING, _MOST_DRAWING = 16, 48  # Columns.
MOSTLY_CARELESS = 0.5  # share of careless votes from which an annotator is named


@dataclass(frozen=True, slots=True)
class Pen:
    """The characters of an interval: ends, line, middle, and zero."""

    left: str
    line: str
    middle: str
    right: str
    zero: str


UNICODE = Pen("├", "─", "●", "┤", "·")
ASCII = Pen("|", "-", "o", "|", ".")


def as_table(ranking: Ranking, *, width: int = 100, pen: Pen = UNICODE, zero: float = 0.0) -> str:
    """Return the ranking in lines of `width` columns, if names allow it.

    pen: characters that the terminal can display. zero: the mean ability of a board on its scale.
    """
    facts = ranking.fit
    head = (
        f"{_MODELS[ranking.model]}: {counted(facts.judgments, 'judgment')} in {counted(facts.cells, 'cell')} "
        f"of {counted(len(ranking.prompts), 'prompt')}, fitted in {facts.seconds:.1f} s"
    )
    body = _board(ranking, width, pen, zero) if ranking.model == "board" else _comparisons(ranking.pairs, width, pen)
    return "\n".join([head, "", *body, *_additions(ranking)])


def _additions(ranking: Ranking) -> list[str]:
    """Return the parts of a ranking that were asked for, each after a blank line."""
    parts = []
    if ranking.annotators is not None:
        parts.append(_annotator_lines(ranking.annotators))
    if ranking.style is not None:
        parts.append(_style_lines(ranking.style))
    if ranking.sandwich is not None:
        parts.append(_sandwich_lines(ranking, ranking.sandwich))
    if ranking.merged is not None:
        parts.append(_merged_lines(ranking.merged))
    return [line for part in parts for line in ("", *part)]


def _annotator_lines(annotators: tuple[AnnotatorRow, ...]) -> list[str]:
    careless = [short_name(row.id) for row in annotators if row.careless > MOSTLY_CARELESS]
    head = f"Effects of {counted(len(annotators), 'annotator')} are in the fit; --no-annotators leaves them out."
    named = f"Careless in more than half of their votes: {', '.join(careless)}." if careless else ""
    return [head] + [named] * bool(named)


def _style_lines(style: StyleControl) -> list[str]:
    if not style.covariates:
        return ["Style: no covariate differs in any vote."]
    cells = [[row.name, _decimal(row.effect), _interval(row.lower, row.upper)] for row in style.covariates]
    lines = _lines(("style", "effect", "95 % interval"), "<>>", cells, [], 0, ASCII)
    lines.append("Effect: what a typical difference of style adds. Abilities are those at equal style.")
    return lines + [f"Style unknown: {counted(style.unknown, 'vote')}."] * bool(style.unknown)


def _sandwich_lines(ranking: Ranking, check: SandwichCheck) -> list[str]:
    here = {row.name: row for row in ranking.chatbots}
    ordered = sorted(check.chatbots, key=lambda row: (-row.ability, row.name))
    cells = [
        [
            short_name(row.name),
            *((_decimal(here[row.name].ability), _decimal(here[row.name].se)) if row.name in here else ("?", "?")),
            _decimal(row.ability),
            _decimal(row.se),
        ]
        for row in ordered
    ]
    heads = ("chatbot", "ability", "SE", "Bradley-Terry", "SE by prompt")
    told = f"Pairs told apart at 95 %: {check.apart_here:,} here, {check.apart:,} by the sandwich, of {check.pairs:,}."
    return [f"Sandwich by {counted(check.prompts, 'prompt')}", *_lines(heads, "<>>>>", cells, [], 0, ASCII), told]


def _merged_lines(merged: MergedRow) -> list[str]:
    if not merged.groups:
        return ["No prompts are redundant: none were merged."]
    prompts = sum(map(len, merged.groups))
    change = f"{_decimal(merged.se_after)} instead of {_decimal(merged.se_before)} ({merged.change:+.1%})"
    head = f"Merged {counted(prompts, 'redundant prompt')} into {len(merged.groups):,}: the mean SE is {change}."
    return [head] + [f"  {', '.join(map(short_name, group))}" for group in merged.groups]


def replay_as_table(replay: Replay) -> str:
    """Return a replay in lines, one for each point."""
    known, base = replay.reference.judgments, replay.reference
    against = f"the board of all {known:,} votes" if known else "the known truth"
    head = (
        f"Policy {replay.policy}, seed {replay.seed}, against {against}: {counted(len(base.chatbots), 'chatbot')}, "
        f"{base.separated:,} of {counted(base.pairs, 'pair')} separated"
    )
    heads = ("votes", "tau", "RMSE", "decided", "wrong", "mean SE", "coverage")
    cells = [
        [
            f"{p.votes:,}",
            _decimal(p.tau),
            _decimal(p.rmse),
            f"{p.decided:.0%}",
            f"{p.wrong:.1%}",
            _decimal(p.mean_se),
            f"{p.coverage:.0%}",
        ]
        for p in replay.points
    ]
    return "\n".join([head, "", *_lines(heads, ">" * len(heads), cells, [], 0, ASCII)])


def plan_as_table(plan: CampaignPlan) -> str:
    """Return a plan in lines: one for each forecast, then the savings and the advice."""
    head = (
        f"{counted(plan.chatbots, 'chatbot')} on {counted(plan.prompts, 'prompt')}, "
        f"{counted(plan.votes_per_item, 'vote')} an item, until {plan.goal} is {plan.target:g}"
    )
    if plan.budget is not None:
        head += f", with a budget of {counted(plan.budget, 'judgment')}"
    heads, cells = _forecast_cells(plan.forecasts)
    lines = _lines(heads, "<" + ">" * (len(heads) - 1), cells, [], 0, ASCII)
    campaigns = " and ".join(f"{row.forecast.campaigns:,}" for row in plan.forecasts if row.simulated)
    notes = ["In brackets: where four of five such campaigns end." + (f" Simulated: {campaigns}." if campaigns else "")]
    if len({row.policy for row in plan.forecasts}) > 1:
        notes.append(f"Policy {plan.forecasts[0].policy} takes {_saving(plan.saves)} a random design.")
    return "\n".join([head, "", *lines, "", *notes, *plan.advice_texts])


def _saving(share: float) -> str:
    """Return the savings by the medians of the two forecasts."""
    if abs(share) < 0.01:
        return "as many judgments as"
    return f"{abs(share):.0%} {'fewer' if share > 0.0 else 'more'} judgments than"


def _forecast_cells(rows: Sequence[ForecastRow]) -> tuple[list[str], list[list[str]]]:
    """Return header and cells, with money and days only if known."""
    heads = ["policy", "judgments"]
    money, days = rows[0].forecast.cost is not None, rows[0].forecast.days is not None
    heads += ["money"] * money + ["days"] * days + ["goal reached"]
    cells = []
    for row in rows:
        found = row.forecast
        line = [row.policy + (", simulated" if row.simulated else ""), _ranged(found.judgments, ",.0f")]
        line += [_ranged(found.cost, ",.2f")] if found.cost else []
        line += [_ranged(found.days, ",.1f")] if found.days else []
        cells.append([*line, f"{found.reached:.0%}"])
    return heads, cells


def _ranged(range_: Range, form: str) -> str:
    return f"{range_.middle:{form}} ({range_.low:{form}} to {range_.high:{form}})"


_MODELS = {"board": "Board", "pair": "Comparisons"}


def _board(ranking: Ranking, width: int, pen: Pen, zero: float) -> list[str]:
    groups = sorted({row.group for row in ranking.chatbots})
    lines: list[str] = []
    for group in groups:
        rows = [row for row in ranking.chatbots if row.group == group]
        lines += [f"Group {group} of {len(groups)}"] if len(groups) > 1 else []
        lines += [*_chatbot_lines(rows, width, pen, zero, ranking.style), ""]
    return [*lines, "Ranks in brackets: the best and the worst that the 95 % intervals allow."]


def _chatbot_lines(
    rows: Sequence[ChatbotRow], width: int, pen: Pen, zero: float, style: StyleControl | None
) -> list[str]:
    cells = [
        [
            _rank(row),
            *([] if style is None else [_rank_change(style.ranks_without.get(row.name, row.rank), row.rank)]),
            short_name(row.name),
            _decimal(row.ability),
            _interval(row.lower, row.upper),
            f"{row.judgments:,}",
        ]
        for row in rows
    ]
    spans = [(row.lower, row.ability, row.upper) for row in rows]
    heads = ("rank", *(["change"] * (style is not None)), "chatbot", "ability", "95 % interval", "judgments")
    return _lines(heads, "<" * (len(heads) - 3) + ">>>", cells, spans, width, pen, zero)


def _rank_change(before: int, now: int) -> str:
    return f"{before - now:+d}" if before != now else "="


def _comparisons(rows: Sequence[PairRow], width: int, pen: Pen) -> list[str]:
    labelled = any(row.by is not None for row in rows)
    spans = [_span(row) for row in rows]
    cells = [
        [
            short_name(row.a),
            short_name(row.b),
            *([short_name(row.by or "(blank)")] if labelled else []),
            _decimal(row.delta) + ("*" if row.significant else " "),
            _interval(span[0], span[2]),
            _decimal(row.p_better),
            f"{row.judgments:,}",
        ]
        for row, span in zip(rows, spans, strict=True)
    ]
    heads = ("A", "B", *(["by"] if labelled else []), "delta ", "95 % interval", "P(B better)", "judgments")
    lines = _lines(heads, "<<" + "<" * labelled + ">>>>", cells, spans, width, pen)
    return [*lines, "", "delta > 0: B is better; *: the 95 % interval excludes 0."]


def _lines(
    heads: Sequence[str],
    sides: str,
    cells: Sequence[Sequence[str]],
    spans: Sequence[tuple[float | None, float | None, float | None]],
    width: int,
    pen: Pen,
    zero: float = 0.0,
) -> list[str]:
    """Return aligned rows below their header, each with its interval drawn if there is enough width."""
    texts = aligned(heads, sides, cells)
    room = min(width - columns(texts[0]) - len(GAP), _MOST_DRAWING)
    if room >= _LEAST_DRAWING:
        drawings = _drawings(spans, room, pen, zero)
        texts[1:] = [text + GAP + drawing for text, drawing in zip(texts[1:], drawings, strict=True)]
    return [text.rstrip() for text in texts]


def _drawings(
    spans: Sequence[tuple[float | None, float | None, float | None]], room: int, pen: Pen, zero: float
) -> Iterable[str]:
    """Return all intervals on one scale of `room` columns that includes `zero`."""
    ends = [zero, *(end for span in spans for end in span if end is not None)]
    low, high = min(ends), max(ends)
    scale = (room - 1) / (high - low) if high > low else 0.0

    def at(value: float) -> int:
        return round((value - low) * scale)

    for lower, middle, upper in spans:
        canvas = [" "] * room
        canvas[at(zero)] = pen.zero
        if lower is not None and middle is not None and upper is not None:
            first, last = at(lower), at(upper)
            canvas[first : last + 1] = [pen.line] * (last + 1 - first)
            canvas[first], canvas[last], canvas[at(middle)] = pen.left, pen.right, pen.middle
        yield "".join(canvas)


def _span(row: PairRow) -> tuple[float | None, float | None, float | None]:
    if row.delta is None or row.se is None:
        return (None, row.delta, None)
    return (row.delta - _Z * row.se, row.delta, row.delta + _Z * row.se)


def _rank(row: ChatbotRow) -> str:
    return str(row.rank) if row.rank_lower == row.rank_upper else f"{row.rank} ({row.rank_lower}-{row.rank_upper})"


def _decimal(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:.2f}" if abs(value) >= 0.005 else "0.00"  # Never "-0.00".


def _interval(lower: float | None, upper: float | None) -> str:
    return f"{_decimal(lower)} to {_decimal(upper):>5}"
