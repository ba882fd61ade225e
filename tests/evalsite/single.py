"""A campaign that judges replies one at a time, and people who label them."""

from dataclasses import replace

from evalsite.campaigns.models import Aspect, Campaign
from evalsite.campaigns.services import NewAspect
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import judgment_record
from tests.evalsite.cast import OPEN, assignment_claim, run_jobs, run_only_refits

LABELS = NewAspect(
    "error",
    "Is this reply all right?",
    kind=Aspect.Kind.LABEL,
    scope=Aspect.Scope.TURN,
    labels=("correct", "incorrect", "irrelevant", "inappropriate", "weakly related"),
    one_label=True,
)
QUALITY = NewAspect(
    "quality", "How good is it?", kind=Aspect.Kind.RATING, scope=Aspect.Scope.TURN, minimum=1, maximum=5
)
SINGLE = replace(OPEN, mode=Campaign.Mode.SINGLE, batch_size=1, aspects=(LABELS,))


def label_all(campaign: Campaign, annotator: Annotator, label: str, *, blocks: int = 100) -> int:
    """Give one label to everything in the next blocks; the number of judgments."""
    given = 0
    for _ in range(blocks):
        block = assignment_claim(campaign=campaign, annotator=annotator)
        if not block:
            break
        for assignment in block:
            judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"error": [label]})
            given += 1
        run_only_refits()
    run_jobs()
    return given
