"""Reasons of plans and decisions: a code with parameters, and the English sentence of each code.

This module needs the standard library alone, so that a web process can put a stored reason into its reader's language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

SEPARATOR = "; "


class Template(NamedTuple):
    """Store an English sentence with placeholders such as `%(se)s`.

    Parameters
    ----------
    text : str
        The sentence.
    formats : mapping of str to str
        Formats of the parameters.
    """

    text: str
    formats: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was decided, as a value that any language can show.

    Parameters
    ----------
    code : str
        Names the sentence: a key of `TEMPLATES`, or of the caller's own table.
    params : mapping of str to str, int, float or Reason
        What fills the gaps of the sentence.
    also : tuple of Reason
        Further reasons, which follow in the text.

    Examples
    --------
    >>> str(Reason("budget_spent", {"judgments": 200}))
    'the budget of 200 judgments is spent'
    """

    code: str
    params: Mapping[str, str | int | float | Reason] = field(default_factory=dict)
    also: tuple[Reason, ...] = ()

    def and_also(self, *others: Reason) -> Reason:
        """Return this reason followed by others.

        Parameters
        ----------
        *others : Reason
            The reasons that follow.

        Returns
        -------
        Reason
            The combined reason.
        """
        return replace(self, also=(*self.also, *others))

    def text(self, templates: Mapping[str, Template] | None = None) -> str:
        """Return the English text.

        Parameters
        ----------
        templates : mapping of str to Template, optional
            Sentences by code; None for `TEMPLATES`. An unknown code is its own text.

        Returns
        -------
        str
            The text.
        """
        known = TEMPLATES if templates is None else templates
        template = known.get(self.code, Template(self.code.replace("%", "%%")))
        own = template.text % {name: _shown(value, name, template, known) for name, value in self.params.items()}
        return SEPARATOR.join([own, *(one.text(known) for one in self.also)])

    def __str__(self) -> str:
        return self.text()

    def as_json(self) -> dict[str, Any]:
        """Return the reason as plain values for JSON.

        Returns
        -------
        dict
            The argument of `from_json`.
        """
        params = {name: value.as_json() if isinstance(value, Reason) else value for name, value in self.params.items()}
        found: dict[str, Any] = {"code": self.code, "params": params}
        return found | {"also": [one.as_json() for one in self.also]} if self.also else found

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Reason:
        """Return the reason that `as_json` wrote.

        Parameters
        ----------
        values : mapping
            Plain values.

        Returns
        -------
        Reason
            The reason.
        """
        params = {
            name: cls.from_json(value) if isinstance(value, Mapping) else value
            for name, value in values.get("params", {}).items()
        }
        return cls(values["code"], params, tuple(cls.from_json(one) for one in values.get("also", ())))


def formatted(value: float | str, name: str, template: Template) -> str:
    """Return a parameter as text.

    Parameters
    ----------
    value : float or str
        The parameter.
    name : str
        Its name.
    template : Template
        The sentence, with the format.

    Returns
    -------
    str
        The text.
    """
    return value if isinstance(value, str) else format(value, template.formats.get(name, ""))


def _shown(value: float | str | Reason, name: str, template: Template, known: Mapping[str, Template]) -> str:
    return value.text(known) if isinstance(value, Reason) else formatted(value, name, template)


_SE = {"se": ".3f", "target": "g"}
_MARGIN = {"margin": "g"}
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {
        # What keeps a rule from an answer
        "too_few_chatbots": Template("a comparison needs two chatbots"),
        "no_fit": Template("there is no fit yet"),
        "chatbot_without_votes": Template("no votes yet for %(chatbot)s"),
        "separate_groups": Template("the comparison graph has %(parts)s separate parts"),
        "fit_not_converged": Template("the last fit did not settle"),
        "no_stopping_rule": Template("there is no stopping rule"),
        # Precision
        "target_se_reached": Template("the largest SE %(se)s has reached the target %(target)s", _SE),
        "target_se_missed": Template("the largest SE %(se)s is above the target %(target)s", _SE),
        "target_se_feasible": Template("the largest SE would be %(se)s, the target is %(target)s", _SE),
        "neighbour_se_reached": Template(
            "the largest SE between neighbours %(se)s has reached the target %(target)s", _SE
        ),
        "neighbour_se_missed": Template("the largest SE between neighbours %(se)s is above the target %(target)s", _SE),
        "neighbour_se_feasible": Template(
            "the largest SE between neighbours would be %(se)s, the target is %(target)s", _SE
        ),
        "goal_measure": Template("%(measure)s is %(value)s", {"value": ".3g"}),
        # Ranking
        "top_is_everybody": Template("the best %(top)s of %(all)s chatbots are all of them"),
        "top_unresolved": Template(
            "%(pairs)s of %(all)s pairs across the border of the best %(top)s are not told apart yet"
        ),
        "top_resolved": Template("all %(all)s pairs across the border of the best %(top)s are told apart"),
        "top_feasible": Template(
            "the least clear of the pairs across the border of the best %(top)s would be told apart"
        ),
        "ranking_unresolved": Template("%(pairs)s of %(all)s neighbours are not told apart yet"),
        "ranking_resolved": Template("all %(all)s neighbours are told apart"),
        "ranking_feasible": Template("the least clear of the neighbours would be told apart"),
        # Sample size
        "sample_size_reached": Template("the sample size of %(judgments)s judgments on the board is reached"),
        "sample_size_of_pairs_reached": Template(
            "the sample size of %(judgments)s judgments on the pair with the fewest is reached"
        ),
        "sample_size_missed": Template("%(judged)s of %(judgments)s judgments on the board are in"),
        "sample_size_of_pairs_missed": Template(
            "%(judged)s of %(judgments)s judgments on the pair with the fewest are in"
        ),
        "sample_size_feasible": Template("%(judged)s of %(judgments)s judgments would be in", {"judged": ".0f"}),
        # Equivalence
        "equivalence_open": Template(
            "%(same)s pairs differ by less than %(margin)s, %(apart)s are told apart, %(open)s are neither yet", _MARGIN
        ),
        "equivalence_decided": Template(
            "%(same)s pairs differ by less than %(margin)s, %(apart)s are told apart, none is left", _MARGIN
        ),
        "equivalence_feasible": Template(
            "the least clear pair would be told apart or shown within %(margin)s", _MARGIN
        ),
        # Limits
        "budget_spent": Template("the budget of %(judgments)s judgments is spent", {"judgments": ","}),
        "budget_left": Template("%(judgments)s judgments of the budget are left", {"judgments": ","}),
        "deadline_reached": Template("the deadline %(when)s is reached"),
        "deadline_ahead": Template("%(days)s days are left until the deadline %(when)s", {"days": ".1f"}),
        "items_open": Template("%(items)s items are open and %(pending)s pending"),
        "items_withheld": Template("nothing is left to ask but %(items)s items that annotators skipped"),
        "nothing_left": Template("nothing is left to ask"),
        "nothing_left_one_chatbot": Template("nothing is left to ask: a comparison needs two chatbots"),
        "nothing_left_no_prompts": Template("nothing is left to ask: there are no prompts"),
        # Futility
        "goal_out_of_reach": Template("what is wanted is out of reach: %(rest)s"),
        "goal_chance": Template("%(rest)s: a chance of %(chance)s%% at most"),
        "with_judgments_left": Template("with the %(judgments)s judgments that are left %(rest)s"),
        "goal_reached": Template("what is wanted is reached"),
        "no_prompts_ahead": Template("there are no prompts to look ahead to"),
        # Plans
        "no_asks_requested": Template("no asks were requested"),
        "no_prompts": Template("there are no prompts"),
        "all_prompts_retired": Template("all prompts are retired"),
        "all_items_closed": Template("every item is judged, pending or closed"),
        "all_items_closed_or_retired": Template("every item is judged, pending or closed, or its prompt is retired"),
        "fewer_asks_open": Template("only %(asks)s judgments could still be asked"),
        "before_first_fit": Template("a balanced design at random before the first fit"),
        "random_items": Template("open items at random"),
        "balanced_votes": Template("level votes per chatbot, pair and prompt"),
        "adaptive_after_fit": Template("what teaches most after %(judgments)s judgments"),
        "chatbots_placed_first": Template("%(chatbots)s placed first"),
        "some_chatbots_placed_first": Template("%(chatbots)s and others placed first"),
        "least_certain_after_fit": Template("the least certain pairs after %(judgments)s judgments"),
        "arena_pairs": Template("pairs by the fall of their intervals' width, prompts at random"),
        "asap_pairs": Template("pairs by expected KL, in spanning trees, prompts at random"),
        "entropy_pairs": Template("the pair of the least certain outcome, prompts at random"),
        "rmed_pairs": Template("a dueling bandit for the best, prompts at random"),
        "swiss_pairs": Template("neighbours in the standings, prompts at random"),
        "thompson_pairs": Template("the best of posterior draws against each other, prompts at random"),
        "paper_by_discrimination": Template("every pair on the same prompts, by their discrimination"),
        "paper_at_random": Template("every pair on the same prompts, at random before the first fit"),
    }
)
