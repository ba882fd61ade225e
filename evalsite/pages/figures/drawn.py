"""The figures of a board as HTML, drawn once per snapshot."""

from collections.abc import Callable
from dataclasses import dataclass

from django.template.loader import render_to_string

from evalsite.adaptive.selectors import BoardState
from evalsite.pages.cache import kept
from evalsite.pages.figures.abilities import differences, intervals
from evalsite.pages.figures.base import Figure, Material, material
from evalsite.pages.figures.matrices import counts, wins
from evalsite.pages.figures.timelines import over_time, precision
from evalsite.pages.links import Links
from evalsite.pages.ranking import stamp

FIGURES: dict[str, Callable[[Material], Figure]] = {
    "intervals": intervals,
    "differences": differences,
    "wins": wins,
    "counts": counts,
    "over_time": over_time,
    "precision": precision,
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure as HTML, and what leads to it."""

    slug: str
    title: str
    html: str


def figures_html(standing: BoardState, key: str, start: int = 0) -> list[Drawn]:
    """All figures, rendered once per snapshot (a matrix once per part of it); none before there is a record."""
    decided = standing.decision.pk if standing.decision else 0
    start = min(start, len(standing.snapshot.rows) if standing.snapshot else 0)  # what a reader types is no key
    name = f"figures-{key}-{stamp(standing)}-{decided}-{start}"
    return kept(name, lambda: _drawn(standing, key, start))


def _drawn(standing: BoardState, key: str, start: int) -> list[Drawn]:
    given = material(standing, key, start)
    figures = [build(given) for build in FIGURES.values()] if given else []
    return [Drawn(figure.slug, figure.title, _html(figure, Links.of(standing, key))) for figure in figures]


def _html(figure: Figure, links: Links) -> str:
    urls = {f"{form}_url": links.to(f"board_{form}", figure.slug) for form in ("csv", "json")}
    return render_to_string("charts/_figure.html", {"figure": figure} | urls)
