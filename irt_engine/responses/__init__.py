"""Votes as data: the response table, its readers, and the cells that fits count."""

from .cells import Cells, Comparisons, cells_of, compare
from .table import ResponseTable
from .vote_qualifiers import NESTED_FLAGS, QUALIFIERS, QUESTIONS, doubt_text, is_doubtful

__all__ = [
    "NESTED_FLAGS",
    "QUALIFIERS",
    "QUESTIONS",
    "Cells",
    "Comparisons",
    "ResponseTable",
    "cells_of",
    "compare",
    "doubt_text",
    "is_doubtful",
]
