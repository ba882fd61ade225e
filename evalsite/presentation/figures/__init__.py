"""The figures of a board: content, numbers, and drawing data for templates."""

from evalsite.presentation.figures.base import Figure, FigureInput, Table, as_csv, figure_input, version_of
from evalsite.presentation.figures.drawn import FIGURES, RenderedFigure, figure_html, figures_html
from evalsite.presentation.figures.timelines import Panels, panels

__all__ = [
    "FIGURES",
    "Figure",
    "FigureInput",
    "Panels",
    "RenderedFigure",
    "Table",
    "as_csv",
    "figure_html",
    "figure_input",
    "figures_html",
    "panels",
    "version_of",
]
