"""Agreement between annotators: coefficients, screening of annotators, redundant prompts."""

from .annotator_statistics import AnnotatorStatistics, annotator_statistics
from .carelessness import NO_GOLD, Carelessness, GoldCounts, carelessness
from .coefficients import Agreement, VoteAgreement, category_counts, fleiss_kappa, krippendorff_alpha, vote_agreement
from .collusion import Preference, one_sided
from .merged_prompts import MergedPrompts, merged_fit
from .prompt_redundancy import Redundancy, RedundantPair, merge_prompts, redundant_prompts
from .screening import Screening, Verdict, screen, screen_answers, without
from .sensitivity import Sensitivity, sensitivity_of

__all__ = [
    "NO_GOLD",
    "Agreement",
    "AnnotatorStatistics",
    "Carelessness",
    "GoldCounts",
    "MergedPrompts",
    "Preference",
    "Redundancy",
    "RedundantPair",
    "Screening",
    "Sensitivity",
    "Verdict",
    "VoteAgreement",
    "annotator_statistics",
    "carelessness",
    "category_counts",
    "fleiss_kappa",
    "krippendorff_alpha",
    "merge_prompts",
    "merged_fit",
    "one_sided",
    "redundant_prompts",
    "screen",
    "screen_answers",
    "sensitivity_of",
    "vote_agreement",
    "without",
]
