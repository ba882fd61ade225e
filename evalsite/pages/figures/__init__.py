"""The figures of a board: what each one shows, its numbers, and what its template draws."""

from evalsite.pages.figures.base import Figure, Material, Table, as_csv, material
from evalsite.pages.figures.drawn import FIGURES, Drawn, figures_html
from evalsite.pages.figures.timelines import Panels, panels

__all__ = ["FIGURES", "Drawn", "Figure", "Material", "Panels", "Table", "as_csv", "figures_html", "material", "panels"]
