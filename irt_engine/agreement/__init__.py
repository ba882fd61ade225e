"""Agreement between annotators: coefficients, screening and reliability of annotators, redundant prompts."""

from .annotator_reliability import Reliability, fit_reliability
from .annotator_statistics import AnnotatorStatistics, annotator_statistics
from .coefficients import Agreement, VoteAgreement, category_counts, fleiss_kappa, krippendorff_alpha, vote_agreement
from .prompt_redundancy import Redundancy, RedundantPair, merge_prompts, redundant_prompts
from .screening import Screening, Verdict, screen, without

__all__ = [
    "Agreement",
    "AnnotatorStatistics",
    "Redundancy",
    "RedundantPair",
    "Reliability",
    "Screening",
    "Verdict",
    "VoteAgreement",
    "annotator_statistics",
    "category_counts",
    "fit_reliability",
    "fleiss_kappa",
    "krippendorff_alpha",
    "merge_prompts",
    "redundant_prompts",
    "screen",
    "vote_agreement",
    "without",
]
