"""What the worker said of a campaign, in the reader's language: why it goes on, whom to exclude, what it will take.

The worker has no reader. Decisions, exclusions, findings and answers keep its English sentences: facts, which no later
wording changes. Here each of these sentences is known by its shape and said again; several are parted by semicolons.
What a person wrote, or an earlier release said otherwise, is shown as it stands.
"""

import re
from functools import cache

from django.conf import settings
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

# The narrower ones first. `rest` is a sentence of its own; all other values but those of FREE are numbers.
SENTENCES = (
    gettext_noop("what is wanted is out of reach: %(rest)s"),
    gettext_noop("%(rest)s: a chance of %(chance)s%% at most"),
    gettext_noop("with the %(judgments)s judgments that are left %(rest)s"),
    gettext_noop("nothing is left to ask: a comparison needs two chatbots"),
    gettext_noop("nothing is left to ask: there are no prompts"),
    gettext_noop("nothing is left to ask but %(items)s items that annotators skipped"),
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
    # Of annotators: gold, and how they agree with the others.
    gettext_noop("gold speaks against them no more: %(rest)s"),
    gettext_noop("no gold that they answered is in use"),
    gettext_noop("passed %(passed)s of %(given)s gold items"),
    gettext_noop("%(given)s are needed"),
    gettext_noop("%(chance)s %% of annotators who pass %(mark)s %% would do so badly"),
    gettext_noop("the annotators as a whole do not agree beyond chance, so none can be judged by the others"),
    gettext_noop("skipped %(skipped)s questions and answered %(answered)s"),
    gettext_noop("nobody else has judged the same cells"),
    gettext_noop("nothing but ties to compare over %(cells)s shared cells"),
    gettext_noop("%(rest)s, above 0 (p = %(p)s)"),
    gettext_noop("%(rest)s, not above 0 (p = %(p)s)"),
    gettext_noop("correlation %(correlation)s with the others over %(cells)s shared cells"),
    gettext_noop("fewer than %(share)s%% of careful annotators come out that low"),
    gettext_noop("%(share)s%% of careful annotators come out that low"),
    gettext_noop("with so many, a careful annotator would stand out from chance in %(share)s%% of cases"),
    # Of pilots, and what forecasts advise.
    gettext_noop("the %(judgments)s judgments of its pilot are in"),
    gettext_noop("No forecast: %(rest)s"),
    gettext_noop("a comparison needs two chatbots (add a chatbot)"),
    gettext_noop("there are no prompts to judge (add prompts, or bring some back)"),
    gettext_noop(
        "the numbers of this campaign are too large or too far apart to be worked out "
        "(ask for fewer votes of an item, or set a budget)"
    ),
    gettext_noop("policy %(policy)s has no quick forecast (simulate it, or use one of %(policies)s)"),
    gettext_noop("The goal is out of reach: after all %(judgments)s judgments %(rest)s."),
    gettext_noop("%(share)s%% of campaigns miss the goal: after all %(judgments)s judgments %(rest)s."),
    gettext_noop("the largest SE between neighbours is %(middle)s (%(low)s to %(high)s)"),
    gettext_noop("the largest SE is %(middle)s (%(low)s to %(high)s)"),
    gettext_noop("the share of pairs separated is %(middle)s (%(low)s to %(high)s)"),
    gettext_noop("It takes a budget of %(judgments)s judgments to be nearly sure."),
    gettext_noop("With %(prompts)s prompts and no budget it is nearly sure."),
    gettext_noop("With %(prompts)s prompts it is nearly sure."),
    gettext_noop("More prompts do not help enough: ask for less."),
    # Of what could not be worked out.
    gettext_noop("Without this annotator no judgment is left. There would be no board."),
    gettext_noop("The fit failed: %(rest)s."),
    gettext_noop("The full fit was not made: %(rest)s"),
    gettext_noop("Its workers died again and again; the server's log says more."),
    gettext_noop("This could not be worked out. The server's log says why."),
    gettext_noop("A newer question replaced this one."),
    gettext_noop("This took longer than %(seconds)s seconds. Ask for less: fewer prompts or chatbots."),
)
NUMBER = re.compile(r"(?P<minus>-?)(\d+|\d{1,3}(,\d{3})+)(\.(?P<decimals>\d+))?")
FREE = frozenset({"rest", "chatbot", "when", "policy", "policies"})  # gaps that more than a number may fill
FILLS = {True: r".+?", False: r"-?\d[\d.,e+-]*|-?inf|nan"}
PARTED = "; "
LONGEST = 1000  # characters: a person's own words are not looked at for long


def reason_said(reason: str) -> str:
    """The reason in the active language; as it stands where it is none of ours."""
    if get_language() == settings.LANGUAGE_CODE or len(reason) > LONGEST:
        return reason
    parts = [_sentence_said(part) for part in reason.split(PARTED)]
    known = [part for part in parts if part is not None]
    if len(known) == len(parts):
        return PARTED.join(known)
    return _sentence_said(reason) or reason


def _sentence_said(reason: str) -> str | None:
    """None where it is none of ours."""
    for sentence, shape in _shapes().items():
        if found := shape.fullmatch(reason):
            return _(sentence) % {name: _value(name, value) for name, value in found.groupdict().items()}
    return None


def _value(name: str, value: str) -> str:
    if name == "rest":
        return reason_said(value)
    if name == "chatbot":
        return value  # a name, be it a number
    number = NUMBER.fullmatch(value)
    if number is None:
        return value
    plain, decimals = value.replace(",", "").removeprefix("-"), len(number["decimals"] or "")
    return ("−" if number["minus"] else "") + str(number_format(plain, decimal_pos=decimals, force_grouping=True))


@cache
def _shapes() -> dict[str, re.Pattern[str]]:
    """Sentence -> what the scheduler's own text of it looks like."""
    return {sentence: re.compile(_shape(sentence)) for sentence in SENTENCES}


def _shape(sentence: str) -> str:
    parts = re.split(r"%\((\w+)\)s", sentence.replace("%%", "%"))
    return "".join(
        f"(?P<{part}>{FILLS[part in FREE]})" if index % 2 else re.escape(part) for index, part in enumerate(parts)
    )
