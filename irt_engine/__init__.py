"""Pure statistics of pairwise human judgments: item response models, their posterior, information, simulation."""

from .errors import DidNotConverge, EngineError, EngineWarning, InvalidResponses, NotIdentified
from .fitting.everyday import fit
from .models.priors import DEFAULT_PRIORS, Priors
from .posterior.posterior import Comparison, Difference, Posterior
from .responses.table import ResponseTable

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
