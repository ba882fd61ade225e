"""Reasons of the service and of the scheduler: stored as English text with code and parameters, shown in any language.

The worker has no reader, so it stores both. A reason without a code is a person's own words, or is older than codes:
it is shown as it stands.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from scheduler.reasons import SEPARATOR, Reason, Template, formatted
from scheduler.reasons import TEMPLATES as OF_SCHEDULER

NUMBER = re.compile(r"(?P<minus>-?)\d+(\.(?P<decimals>\d+))?")
_PERCENT = {"share": ".0f"}
_RANGE = {"middle": ".2g", "low": ".2g", "high": ".2g"}
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        **OF_SCHEDULER,
        # Campaigns
        "owner_ended": Template(gettext_noop("its owner ended it")),
        "votes_imported": Template(gettext_noop("all its votes were imported")),
        "pilot_complete": Template(gettext_noop("the %(judgments)s judgments of its pilot are in")),
        # Annotators: gold, skips, and agreement with the others
        "gold_passed": Template(gettext_noop("passed %(passed)s of %(given)s gold items")),
        "gold_needed": Template(gettext_noop("%(given)s are needed")),
        "gold_chance": Template(
            gettext_noop("%(chance)s %% of annotators who pass %(mark)s %% would do so badly"),
            {"chance": ".1g", "mark": ".0f"},
        ),
        "gold_cleared": Template(gettext_noop("gold speaks against them no more: %(rest)s")),
        "gold_unused": Template(gettext_noop("no gold that they answered is in use")),
        "mostly_skipped": Template(gettext_noop("skipped %(skipped)s questions and answered %(answered)s")),
        # Newcomers
        "newcomer": Template(gettext_noop("their votes are provisional, as those of every newcomer")),
        "vetted_known": Template(gettext_noop("a member, an invited person or a worker of a platform")),
        "vetted_gold": Template(gettext_noop("passed enough gold items")),
        "vetted_votes": Template(gettext_noop("gave %(votes)s votes, and no check speaks against them")),
        "votes_careless": Template(
            gettext_noop(
                "votes as if without looking: chose the reply that is expected to win in %(stronger)s of %(decided)s "
                "decided comparisons, and %(expected)s were expected (%(probability)s %% probable)"
            ),
            {"expected": ".1f", "probability": ".1f"},
        ),
        "votes_adversarial": Template(
            gettext_noop(
                "votes against the better reply: chose the reply that is expected to win in %(stronger)s of "
                "%(decided)s decided comparisons, and %(expected)s were expected (%(probability)s %% probable)"
            ),
            {"expected": ".1f", "probability": ".1f"},
        ),
        "votes_hasty": Template(
            gettext_noop(
                "votes in haste, as if without looking: chose the reply that is expected to win in %(stronger)s of "
                "%(decided)s decided comparisons, and %(expected)s were expected (%(probability)s %% probable)"
            ),
            {"expected": ".1f", "probability": ".1f"},
        ),
        "one_sided": Template(
            gettext_noop(
                "prefers %(chatbot)s without looking: it won %(won)s of %(votes)s comparisons, and %(expected)s were "
                "expected"
            ),
            {"expected": ".1f"},
        ),
        "one_sided_together": Template(
            gettext_noop(
                "prefers %(chatbot)s without looking: it won %(won)s of %(votes)s comparisons, and %(expected)s were "
                "expected; %(together)s annotators do the same"
            ),
            {"expected": ".1f"},
        ),
        "no_agreement": Template(
            gettext_noop("the annotators as a whole do not agree beyond chance, so none can be judged by the others")
        ),
        "no_shared_cells": Template(gettext_noop("nobody else has judged the same cells")),
        "only_ties_shared": Template(gettext_noop("nothing but ties to compare over %(cells)s shared cells")),
        "correlation": Template(
            gettext_noop("correlation %(correlation)s with the others over %(cells)s shared cells"),
            {"correlation": ".2f"},
        ),
        "kappa": Template(
            gettext_noop("agreement beyond chance (kappa) %(kappa)s with the others over %(cells)s shared replies"),
            {"kappa": ".2f"},
        ),
        "one_answer_shared": Template(gettext_noop("one and the same answer over %(cells)s shared replies")),
        "correlation_positive": Template(gettext_noop("%(rest)s, above 0 (p = %(p)s)"), {"p": ".2g"}),
        "correlation_not_positive": Template(gettext_noop("%(rest)s, not above 0 (p = %(p)s)"), {"p": ".2g"}),
        "careful_this_low": Template(
            gettext_noop("%(share)s%% of careful annotators come out that low"), {"share": ".1f"}
        ),
        "careful_hardly_this_low": Template(
            gettext_noop("fewer than %(share)s%% of careful annotators come out that low")
        ),
        "careful_would_stand_out": Template(
            gettext_noop("with so many, a careful annotator would stand out from chance in %(share)s%% of cases"),
            _PERCENT,
        ),
        # Forecasts and their advice
        "no_forecast": Template(gettext_noop("No forecast: %(rest)s")),
        "forecast_needs_chatbots": Template(gettext_noop("a comparison needs two chatbots (add a chatbot)")),
        "forecast_needs_prompts": Template(
            gettext_noop("there are no prompts to judge (add prompts, or bring some back)")
        ),
        "forecast_not_solvable": Template(
            gettext_noop(
                "the numbers of this campaign are too large or too far apart to be worked out "
                "(ask for fewer votes of an item, or set a budget)"
            )
        ),
        "forecast_without_policy": Template(
            gettext_noop("policy %(policy)s has no quick forecast (simulate it, or use one of %(policies)s)")
        ),
        "goal_never_reached": Template(
            gettext_noop("The goal is out of reach: after all %(judgments)s judgments %(rest)s."), {"judgments": ","}
        ),
        "goal_often_missed": Template(
            gettext_noop("%(share)s%% of campaigns miss the goal: after all %(judgments)s judgments %(rest)s."),
            {**_PERCENT, "judgments": ","},
        ),
        "neighbour_se_range": Template(
            gettext_noop("the largest SE between neighbours is %(middle)s (%(low)s to %(high)s)"), _RANGE
        ),
        "largest_se_range": Template(gettext_noop("the largest SE is %(middle)s (%(low)s to %(high)s)"), _RANGE),
        "separated_range": Template(
            gettext_noop("the share of pairs separated is %(middle)s (%(low)s to %(high)s)"), _RANGE
        ),
        "budget_advised": Template(
            gettext_noop("It takes a budget of %(judgments)s judgments to be nearly sure."), {"judgments": ","}
        ),
        "prompts_and_no_budget_advised": Template(
            gettext_noop("With %(prompts)s prompts and no budget it is nearly sure."), {"prompts": ","}
        ),
        "prompts_advised": Template(gettext_noop("With %(prompts)s prompts it is nearly sure."), {"prompts": ","}),
        "prompts_do_not_help": Template(gettext_noop("More prompts do not help enough: ask for less.")),
        # Endpoints of chatbots
        "endpoint_paused_by_owner": Template(gettext_noop("its owner paused it")),
        "endpoint_secret_unreadable": Template(
            gettext_noop("the secret cannot be read with the keys of this site. Enter the secret again.")
        ),
        "endpoint_misconfigured": Template(gettext_noop("a call failed: %(error)s")),
        "endpoint_calls_fail": Template(gettext_noop("%(failed)s of the last %(calls)s calls failed: %(error)s")),
        "endpoint_check_failed": Template(gettext_noop("a check failed: %(error)s")),
        # Submissions of chatbots
        "rows_refused": Template(gettext_noop("%(rows)s rows of its file are refused")),
        "submitter_withdrew": Template(gettext_noop("its submitter withdrew it")),
        "endpoint_test_failed": Template(gettext_noop("the test of its endpoint failed: %(error)s")),
        "endpoint_gave_no_reply": Template(gettext_noop("its endpoint gave no reply to any prompt")),
        "placed_exactly": Template(gettext_noop("rank %(low)s after %(judgments)s judgments")),
        "placed_between": Template(gettext_noop("rank %(low)s to %(high)s after %(judgments)s judgments")),
        # Answers that could not be given
        "board_would_be_empty": Template(
            gettext_noop("Without this annotator no judgment is left. There would be no board.")
        ),
        "fit_failed": Template(gettext_noop("The fit failed: %(rest)s.")),
        "full_fit_failed": Template(gettext_noop("The full fit was not made: %(rest)s")),
        "workers_died": Template(gettext_noop("Its workers died again and again; the server's log says more.")),
        "question_replaced": Template(gettext_noop("A newer question replaced this one.")),
        "question_too_long": Template(
            gettext_noop("This took longer than %(seconds)s seconds. Ask for less: fewer prompts or chatbots.")
        ),
        "failed": Template(gettext_noop("%(error)s: %(message)s")),
        "slice_failed": Template(gettext_noop("%(by)s %(value)s: %(rest)s")),
        "not_worked_out": Template(gettext_noop("This could not be worked out. The server's log says why.")),
    }
)


class StoredReason(NamedTuple):
    """What is stored of a reason: its English text, and code and parameters as JSON (None for a person's own words)."""

    text: str
    data: dict[str, Any] | None = None


def as_stored(reason: str | Reason | StoredReason) -> StoredReason:
    """Return what to store."""
    if isinstance(reason, StoredReason):
        return reason
    return StoredReason(reason) if isinstance(reason, str) else StoredReason(reason.text(TEMPLATES), reason.as_json())


def reason_code(data: Mapping[str, Any] | None) -> str:
    """Return the code of a stored reason; empty for a person's own words, and for reasons older than codes."""
    return str(data["code"]) if data else ""


def reason_text(text: str, data: Mapping[str, Any] | None) -> str:
    """Return a stored reason in the active language."""
    if not data or get_language() == settings.LANGUAGE_CODE:
        return text
    try:
        return _translated(Reason.from_json(data))
    except (KeyError, TypeError, ValueError):  # a code that this release does not know
        return text


def _translated(reason: Reason) -> str:
    template = TEMPLATES[reason.code]
    own = _(template.text) % {name: _value(value, name, template) for name, value in reason.params.items()}
    return SEPARATOR.join([own, *(_translated(one) for one in reason.also)])


def _value(value: str | float | Reason, name: str, template: Template) -> str:
    """Return a parameter in the active language: a reason translated, a number with its signs, a name as it is."""
    if isinstance(value, Reason):
        return _translated(value)
    shown = formatted(value, name, template)
    number = None if isinstance(value, str) else NUMBER.fullmatch(shown.replace(",", ""))
    if number is None:
        return shown
    plain, decimals = shown.replace(",", "").removeprefix("-"), len(number["decimals"] or "")
    return ("−" if number["minus"] else "") + str(number_format(plain, decimal_pos=decimals, force_grouping=True))
