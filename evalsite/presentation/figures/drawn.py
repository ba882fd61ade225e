"""The figures of a board as HTML, drawn once per snapshot."""

from collections.abc import Callable
from dataclasses import dataclass

from django.template.loader import render_to_string

from evalsite.boards.selectors import BoardState
from evalsite.presentation.figures.abilities import differences, intervals
from evalsite.presentation.figures.base import Figure, FigureInput, figure_input, version_of
from evalsite.presentation.figures.matrices import counts, wins
from evalsite.presentation.figures.timelines import over_time, precision
from evalsite.presentation.links import Links
from evalsite.presentation.page_cache import cached_part

FIGURES: dict[str, Callable[[FigureInput], Figure]] = {
    "intervals": intervals,
    "differences": differences,
    "wins": wins,
    "counts": counts,
    "over_time": over_time,
    "precision": precision,
}
APART = ("wins", "counts")  # Thousands of cells, which most readers of the charts do not scroll to.


@dataclass(frozen=True, slots=True)
class RenderedFigure:
    """A figure as HTML, with its heading. A figure that loads separately has a placeholder with its address."""

    slug: str
    title: str
    html: str


def figures_html(board_state: BoardState, key: str) -> list[RenderedFigure]:
    """Return all figures, with placeholders for matrices; empty without chart data.

    They are rendered once per snapshot.
    """
    return cached_part(f"figures-{key}-{version_of(board_state)}", lambda: _rendered(board_state, key))


def figure_html(board_state: BoardState, key: str, slug: str, start: int = 0) -> RenderedFigure | None:
    """Return one complete figure; None without chart data.

    It is rendered once per snapshot and part of a matrix.
    """
    # Limits the cache keys: a reader can type any number.
    start = min(start, len(board_state.snapshot.rows) if board_state.snapshot else 0)

    def draw() -> RenderedFigure | None:
        given = figure_input(board_state, key, start)
        return _html(FIGURES[slug](given), Links.of(board_state, key)) if given else None

    return cached_part(f"figure-{slug}-{key}-{version_of(board_state)}-{start}", draw)


def _rendered(board_state: BoardState, key: str) -> list[RenderedFigure]:
    given, links = figure_input(board_state, key), Links.of(board_state, key)
    figures = [build(given) for build in FIGURES.values()] if given else []
    return [_html(figure, links, apart=figure.slug in APART) for figure in figures]


def _html(figure: Figure, links: Links, *, apart: bool = False) -> RenderedFigure:
    context = {f"{form}_url": links.to(f"board_{form}", figure.slug) for form in ("csv", "json")}
    if apart:
        context |= {
            "whole_url": links.to("board_chart", figure.slug),
            "part_url": links.to("board_chart_part", figure.slug),
        }
    return RenderedFigure(
        figure.slug, figure.title, render_to_string("charts/_figure.html", {"figure": figure} | context)
    )
