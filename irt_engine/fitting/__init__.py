"""The everyday fit: a Gaussian variational approximation with estimated scales. numba loads at the first fit."""

from .everyday import MAX_ABILITIES, MOST_TIERS, FitResult, Form, Model, fit, fit_with_warm_start

__all__ = [
    "MAX_ABILITIES",
    "MOST_TIERS",
    "FitResult",
    "Form",
    "Model",
    "fit",
    "fit_with_warm_start",
]
