"""Why a campaign goes on or has stopped, in the reader's language.

Decisions keep the scheduler's English sentences: facts, which no later wording changes. Here each of these sentences is
known by its shape and said again. What a person wrote, or an earlier release said otherwise, is shown as it stands.
"""

import re
from functools import cache

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

# The narrower ones first. `rest` is a sentence of its own; all other values are numbers, times or names.
SENTENCES = (
    gettext_noop("what is wanted is out of reach: %(rest)s"),
    gettext_noop("%(rest)s: a chance of %(chance)s%% at most"),
    gettext_noop("with the %(judgments)s judgments that are left %(rest)s"),
    gettext_noop("nothing is left to ask: a comparison needs two chatbots"),
    gettext_noop("nothing is left to ask: there are no prompts"),
    gettext_noop("nothing is left to ask"),
    gettext_noop("the largest SE between neighbours %(se)s has reached the target %(target)s"),
    gettext_noop("the largest SE between neighbours %(se)s is above the target %(target)s"),
    gettext_noop("the largest SE between neighbours would be %(se)s, the target is %(target)s"),
    gettext_noop("the largest SE %(se)s has reached the target %(target)s"),
    gettext_noop("the largest SE %(se)s is above the target %(target)s"),
    gettext_noop("the largest SE would be %(se)s, the target is %(target)s"),
    gettext_noop("the best %(top)s of %(all)s chatbots are all of them"),
    gettext_noop("%(pairs)s of %(all)s pairs across the border of the best %(top)s are not told apart yet"),
    gettext_noop("all %(all)s pairs across the border of the best %(top)s are told apart"),
    gettext_noop("the least clear of the pairs across the border of the best %(top)s would be told apart"),
    gettext_noop("%(pairs)s of %(all)s neighbours are not told apart yet"),
    gettext_noop("all %(all)s neighbours are told apart"),
    gettext_noop("the least clear of the neighbours would be told apart"),
    gettext_noop("the sample size of %(judgments)s judgments on the board is reached"),
    gettext_noop("the sample size of %(judgments)s judgments on the pair with the fewest is reached"),
    gettext_noop("%(judged)s of %(judgments)s judgments on the board are in"),
    gettext_noop("%(judged)s of %(judgments)s judgments on the pair with the fewest are in"),
    gettext_noop("%(judged)s of %(judgments)s judgments would be in"),
    gettext_noop("%(same)s pairs differ by less than %(margin)s, %(apart)s are told apart, %(open)s are neither yet"),
    gettext_noop("%(same)s pairs differ by less than %(margin)s, %(apart)s are told apart, none is left"),
    gettext_noop("the least clear pair would be told apart or shown within %(margin)s"),
    gettext_noop("the budget of %(judgments)s judgments is spent"),
    gettext_noop("%(judgments)s judgments of the budget are left"),
    gettext_noop("the deadline %(when)s is reached"),
    gettext_noop("%(days)s days are left until the deadline %(when)s"),
    gettext_noop("%(items)s items are open and %(pending)s pending"),
    gettext_noop("there are no prompts to look ahead to"),
    gettext_noop("what is wanted is reached"),
    gettext_noop("a comparison needs two chatbots"),
    gettext_noop("there is no fit yet"),
    gettext_noop("no votes yet for %(chatbot)s"),
    gettext_noop("the comparison graph has %(parts)s separate parts"),
    gettext_noop("the last fit did not settle"),
    gettext_noop("all its votes were imported"),
    gettext_noop("its owner ended it"),
    gettext_noop("there is no stopping rule"),
)
NUMBER = re.compile(r"\d+(\.(?P<decimals>\d+))?")
LONGEST = 1000  # characters: a person's own words are not looked at for long


def reason_said(reason: str) -> str:
    """The reason in the active language; as it stands where it is none of ours."""
    if get_language() == settings.LANGUAGE_CODE or len(reason) > LONGEST:
        return reason
    for sentence, shape in _shapes().items():
        if found := shape.fullmatch(reason):
            return _(sentence) % {name: _value(name, value) for name, value in found.groupdict().items()}
    return reason


def _value(name: str, value: str) -> str:
    if name == "rest":
        return reason_said(value)
    if name == "chatbot":
        return value  # a name, be it a number
    number = NUMBER.fullmatch(value)
    if number is None:
        return value
    return str(number_format(value, decimal_pos=len(number["decimals"] or ""), force_grouping=True))


@cache
def _shapes() -> dict[str, re.Pattern[str]]:
    """Sentence -> what the scheduler's own text of it looks like."""
    return {sentence: re.compile(_shape(sentence)) for sentence in SENTENCES}


def _shape(sentence: str) -> str:
    parts = re.split(r"%\((\w+)\)s", sentence.replace("%%", "%"))
    return "".join(f"(?P<{part}>.+?)" if index % 2 else re.escape(part) for index, part in enumerate(parts))
