"""Names of metrics, unified scores and groups of raters as people read them."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

METRIC_TEXTS: Mapping[str, str | Promise] = {
    "rating": _("Rating"),
    "frequent_user_rating": _("Rating by frequent users"),
    "evaluator_rating": _("Rating by evaluators"),
    "response_error_rate": _("Response error rate"),
    "median_turns": _("Median turns"),
    "median_duration_s": _("Median duration (s)"),
    "domain_entropy": _("Domain entropy (bits)"),
    "domain_rating_sd": _("SD of ratings over domains"),
    "r_cov": _("R-COV"),
    "depth": _("Conversational depth"),
    "vocabulary": _("Vocabulary"),
    "topic_frequency": _("Frequency of keywords"),
}
STRATEGY_TEXTS: Mapping[str, str | Promise] = {
    "stack_rank": _("Stack rank"),
    "winners_circle": _("Winners circle"),
    "confidence_bands": _("Confidence bands"),
}
UNIT_TEXTS: Mapping[str, str | Promise] = {"chatbot": _("chatbots"), "conversation": _("conversations")}
PREDICTOR_TEXTS: Mapping[str, str | Promise] = {
    "gradient_boosting": _("Gradient boosting"),
    "constant_mean": _("Mean of the others"),
    "random": _("Random guesses"),
}
FOLD_TEXTS: Mapping[str, str | Promise] = {
    "conversation": _("conversation"),
    "user": _("user"),
    "chatbot": _("chatbot"),
}
