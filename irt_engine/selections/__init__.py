"""Selections of replies at each turn of a conversation: select one best (SOBA) or select all appropriate (SATA).

Notation: n turns, k chatbots, x (n, k) of 0 and 1 (1 = selected), G conversations. A chatbot's win rate is the share of
turns in which its reply was selected.
"""

from .abilities import SelectionAbilities, abilities_of
from .analysis import PairTest, SelectionAnalysis, WinRate, analyse
from .cleaning import CleaningProposal, ConversationFacts, SampleSizes, cleaning_proposals
from .clustered import ClusteredAnalysis, ClusteredPair, ClusteredRate, ClusteredTest, analyse_clustered
from .modes import ModeAbilities, ModeTest, mode_test
from .sample_sizes import SETTINGS, TurnDesign, TurnSize, turns_needed
from .study_costs import StudyCost, StudyTerms, study_costs
from .tables import Selections, TurnTable
from .third_parties import (
    SelectionAgreement,
    ThirdPartySelection,
    WrittenQuality,
    selection_agreement,
    written_quality,
)
from .turn_order import Repetition, by_position, reselection, tie_repetition
from .turn_rows import SelectionRow, SelectionRowError, SettingTurns, turn_tables

__all__ = [
    "SETTINGS",
    "CleaningProposal",
    "ClusteredAnalysis",
    "ClusteredPair",
    "ClusteredRate",
    "ClusteredTest",
    "ConversationFacts",
    "ModeAbilities",
    "ModeTest",
    "PairTest",
    "Repetition",
    "SampleSizes",
    "SelectionAbilities",
    "SelectionAgreement",
    "SelectionAnalysis",
    "SelectionRow",
    "SelectionRowError",
    "Selections",
    "SettingTurns",
    "StudyCost",
    "StudyTerms",
    "ThirdPartySelection",
    "TurnDesign",
    "TurnSize",
    "TurnTable",
    "WinRate",
    "WrittenQuality",
    "abilities_of",
    "analyse",
    "analyse_clustered",
    "by_position",
    "cleaning_proposals",
    "mode_test",
    "reselection",
    "selection_agreement",
    "study_costs",
    "tie_repetition",
    "turn_tables",
    "turns_needed",
    "written_quality",
]
