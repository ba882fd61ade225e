"""Pure statistics of pairwise human judgments: item response models, their posterior, information, simulation."""

from .errors import DidNotConverge, EngineError, EngineWarning, InvalidResponses, NotIdentified
from .fit import fit
from .posterior import Comparison, Difference, Posterior
from .priors import DEFAULT_PRIORS, Priors
from .responses import ResponseTable

__all__ = [
    "DEFAULT_PRIORS",
    "Comparison",
    "DidNotConverge",
    "Difference",
    "EngineError",
    "EngineWarning",
    "InvalidResponses",
    "NotIdentified",
    "Posterior",
    "Priors",
    "ResponseTable",
    "fit",
]
