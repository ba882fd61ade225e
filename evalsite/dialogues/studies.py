"""Allocation of annotators to the arms of a study."""

import random
from collections import Counter

from evalsite.campaigns.models import Campaign, Study
from evalsite.core.db import write_transaction
from evalsite.dialogues.models import StudyAllocation
from evalsite.judgments.models import Annotator


def arm_of(*, study: Study, annotator: Annotator) -> Campaign | None:
    """Return the arm of this annotator; allocate one at random among the collecting arms with the fewest annotators.

    None if no arm collects. The probability of the draw is logged.
    """
    with write_transaction():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # one allocation at a time
        own = StudyAllocation.objects.filter(study=locked, annotator=annotator).select_related("campaign").first()
        if own is not None:
            return own.campaign
        arms: list[Campaign] = list(
            Campaign.objects.filter(live__study=locked, state__in=Campaign.COLLECTING).order_by("pk")
        )
        if not arms:
            return None
        filled = Counter(StudyAllocation.objects.filter(study=locked).values_list("campaign", flat=True))
        fewest = min(filled[arm.pk] for arm in arms)
        free = [arm for arm in arms if filled[arm.pk] == fewest]
        rng = random.Random(f"{locked.seed}:{annotator.public_id}")  # noqa: S311  a draw, not a secret
        arm = rng.choice(free)
        StudyAllocation.objects.create(study=locked, annotator=annotator, campaign=arm, probability=1 / len(free))
    return arm
