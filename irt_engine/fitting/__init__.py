"""The everyday fit: a Gaussian variational approximation with learned scales. Compiled code loads at the first fit."""

from .everyday import MAX_ABILITIES, MOST_TIERS, Form, Model, fit

__all__ = [
    "MAX_ABILITIES",
    "MOST_TIERS",
    "Form",
    "Model",
    "fit",
]
