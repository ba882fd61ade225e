"""Agreement of annotators on labels and ratings of single replies."""

from collections.abc import Mapping

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.judgments.models import Answer
from evalsite.judgments.selectors import LeftOut, judgments_counted
from irt_engine.agreement import Verdict, screen_answers

# Minimum number of shared cells (or replies) for a verdict. The engine's own minimum is for a single screening, but
# this one runs after every batch. An annotator who is excluded after an unlucky first block gets no second one.
LEAST_CELLS = 30


def answer_verdicts(campaign: Campaign, *, without: LeftOut) -> Mapping[int, Verdict]:
    """Map annotators (keys) to verdicts by their answers to the first question.

    Empty for a question with several labels to a reply: such answers have no agreement.
    """
    aspect = aspect_primary(campaign)
    rates = aspect.kind == Aspect.Kind.RATING
    if not rates and not aspect.one_label:
        return {}
    number = {value: place for place, value in enumerate(aspect.choices)}
    answers = Answer.objects.filter(judgment__in=judgments_counted([campaign], without=without), aspect=aspect)
    fields = ("judgment__annotator", "judgment__assignment__item", "value", "judgment__client_ms")
    rows = [row for row in answers.order_by("pk").values_list(*fields) if row[2] in number]
    if not any(annotator is not None for annotator, *_ in rows):
        return {}
    items: dict[str, int] = {}
    # An answer without an annotator is one of somebody else each time.
    annotators = [-1 - place if row[0] is None else row[0] for place, row in enumerate(rows)]
    seconds = [None if row[3] is None else row[3] / 1000 for row in rows]
    found = screen_answers(
        [items.setdefault(row[1], len(items)) for row in rows],
        annotators,
        [number[row[2]] for row in rows],
        choices=len(number),
        ordinal=rates,
        seconds=seconds if any(one is not None for one in seconds) else None,
        min_cells=LEAST_CELLS,
    )
    return {one.annotator: one for one in found.verdicts if one.annotator >= 0}
