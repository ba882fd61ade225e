"""Models: the graded response model, thresholds of prompts, effects and their priors."""

from .annotator_effects import AnnotatorEffects, annotators_assessable
from .comparison_graph import centred, groups_of
from .effects import Effects, Group
from .graded_response import category_probabilities, item_information, log_likelihood
from .logit_units import unit_of
from .parameters import Information, Point, Precision
from .priors import DEFAULT_PRIORS, Priors
from .reply_effects import ReplyColumns
from .thresholds import PromptModel, prompt_model
from .tier_effects import TierParts

__all__ = [
    "DEFAULT_PRIORS",
    "AnnotatorEffects",
    "Effects",
    "Group",
    "Information",
    "Point",
    "Precision",
    "Priors",
    "PromptModel",
    "ReplyColumns",
    "TierParts",
    "annotators_assessable",
    "category_probabilities",
    "centred",
    "groups_of",
    "item_information",
    "log_likelihood",
    "prompt_model",
    "unit_of",
]
