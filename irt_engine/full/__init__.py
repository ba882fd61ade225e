"""The full Bayesian fit by Markov chains. PyMC loads at the first call."""

from .convergence import Diagnostics, effective_sizes, r_hat
from .sampling import FitAgreement, FullPosterior, agreement, fit_full

__all__ = [
    "Diagnostics",
    "FitAgreement",
    "FullPosterior",
    "agreement",
    "effective_sizes",
    "fit_full",
    "r_hat",
]
