"""The figures of a board: content, numbers, and drawing data for templates."""

from evalsite.presentation.figures.base import Figure, Material, Table, as_csv, material, version_of
from evalsite.presentation.figures.drawn import FIGURES, Drawn, figure_html, figures_html
from evalsite.presentation.figures.timelines import Panels, panels

__all__ = [
    "FIGURES",
    "Drawn",
    "Figure",
    "Material",
    "Panels",
    "Table",
    "as_csv",
    "figure_html",
    "figures_html",
    "material",
    "panels",
    "version_of",
]
