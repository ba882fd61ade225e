"""Statistics of pairwise human judgments: item response models, their posterior, information and simulation."""

from .errors import DidNotConverge, EngineError, EngineWarning, InvalidResponses, NotIdentified
from .fitting.everyday import FitResult, fit, fit_with_warm_start
from .models.priors import DEFAULT_PRIORS, Priors
from .posterior.moments import Comparison
from .posterior.posterior import Difference, Posterior
from .posterior.storage import read_warm_start
from .posterior.warm_start import WarmStart
from .responses.table import ResponseTable

__all__ = [
    "DEFAULT_PRIORS",
    "Comparison",
    "DidNotConverge",
    "Difference",
    "EngineError",
    "EngineWarning",
    "FitResult",
    "InvalidResponses",
    "NotIdentified",
    "Posterior",
    "Priors",
    "ResponseTable",
    "WarmStart",
    "fit",
    "fit_with_warm_start",
    "read_warm_start",
]
