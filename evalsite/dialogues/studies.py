"""Allocation of annotators to the arms of a study."""

import random
import uuid
from collections import Counter

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Study
from evalsite.campaigns.selectors import visible_to
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, NotFound
from evalsite.dialogues.models import StudyAllocation
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_ensure


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


def study_get(*, study_id: uuid.UUID, user: User | None) -> Study:
    """Return a study of which this person can see an arm that has been launched. Raises NotFound."""
    arms = Campaign.objects.filter(visible_to(user, by_link=True)).exclude(state=Campaign.State.DRAFT)
    found = Study.objects.filter(public_id=study_id, arms__campaign__in=arms).distinct().first()
    if found is None:
        raise NotFound(_("There is no such study."), hint=_("Check the address."))
    return found


def study_join(*, study: Study, annotator: Annotator | None, user: User | None) -> tuple[Annotator, Campaign]:
    """Return the visitor's annotator, created if it is new, and its arm. Raises Conflict if no arm collects."""
    with write_transaction():
        known = annotator_ensure(annotator, user)
        arm = arm_of(study=study, annotator=known)
        if arm is None:
            raise Conflict(_("The study takes no annotators now."), hint=_("Try again later."), field="study")
    return known, arm
