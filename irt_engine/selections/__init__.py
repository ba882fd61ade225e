"""Selections of replies at each turn of a conversation: select one best (SOBA) or select all appropriate (SATA).

Notation: n turns, k chatbots, x (n, k) of 0 and 1 (1 = selected), G conversations. A chatbot's win rate is the share of
turns in which its reply was selected.
"""

from .analysis import PairTest, SelectionAnalysis, WinRate, analyse
from .clustered import ClusteredAnalysis, ClusteredPair, ClusteredRate, ClusteredTest, analyse_clustered
from .sample_sizes import SETTINGS, TurnDesign, TurnSize, turns_needed
from .tables import Selections, TurnTable
from .turn_order import Repetition, by_position, reselection, tie_repetition
from .turn_rows import SelectionRow, SelectionRowError, SettingTurns, turn_tables

__all__ = [
    "SETTINGS",
    "ClusteredAnalysis",
    "ClusteredPair",
    "ClusteredRate",
    "ClusteredTest",
    "PairTest",
    "Repetition",
    "SelectionAnalysis",
    "SelectionRow",
    "SelectionRowError",
    "Selections",
    "SettingTurns",
    "TurnDesign",
    "TurnSize",
    "TurnTable",
    "WinRate",
    "analyse",
    "analyse_clustered",
    "by_position",
    "reselection",
    "tie_repetition",
    "turn_tables",
    "turns_needed",
]
