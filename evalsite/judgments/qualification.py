"""Qualification of annotators: comparisons with a known answer, explained at once, in two attempts."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from evalsite.campaigns.models import QualificationItem
from evalsite.campaigns.selectors import aspect_primary, onboarding_of
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.judgments.models import Enrolment, QualificationAnswer

ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Qualification:
    """An annotator's progress. `item` is the next one, or None; `right` counts correct answers of this attempt."""

    passed: bool
    attempt: int = 1
    item: QualificationItem | None = None
    answered: int = 0
    of: int = 0
    right_before: int | None = None
    pass_mark: int = 0

    @property
    def screened_out(self) -> bool:
        return not self.passed and self.item is None


def qualification_get(enrolment: Enrolment) -> Qualification:
    """Return the annotator's progress. A campaign without qualification items counts as passed."""
    items = _items_of(enrolment.campaign_id)
    if not items:
        return Qualification(passed=True)
    mark = onboarding_of(enrolment.campaign).pass_mark
    before = None
    for attempt in range(1, ATTEMPTS + 1):
        given = _choices_given(enrolment, attempt)
        right = sum(given.get(item.pk) == item.right for item in items)
        left = [item for item in items if item.pk not in given]
        if left:
            return Qualification(False, attempt, left[0], len(items) - len(left), len(items), before, mark)
        if right >= mark:
            return Qualification(True, attempt, None, len(items), len(items), before, mark)
        before = right
    return Qualification(False, ATTEMPTS, None, len(items), len(items), before, mark)


@composed
def _items_of(campaign: int) -> QuerySet[QualificationItem, QualificationItem]:
    return QualificationItem.objects.filter(campaign=campaign)


def _choices_given(enrolment: Enrolment, attempt: int) -> Mapping[int, str]:
    return dict(enrolment.qualification_answers.filter(attempt=attempt).values_list("item_id", "choice"))


def qualification_answer(*, enrolment: Enrolment, item_id: int, attempt: int, choice: str) -> QualificationAnswer:
    """Record the answer to the next item. A repeated request returns the first answer."""
    if choice not in aspect_primary(enrolment.campaign).choices:
        raise InvalidInput(
            _("%(choice)s is not a choice of this item.") % {"choice": repr(choice)},
            hint=_("Reload the page."),
            field="choice",
        )
    with write_transaction():
        Enrolment.objects.select_for_update().get(pk=enrolment.pk)
        earlier = enrolment.qualification_answers.filter(item=item_id, attempt=attempt).select_related("item").first()
        if earlier is not None:
            return earlier
        standing = qualification_get(enrolment)
        if standing.item is None or (standing.item.pk, standing.attempt) != (item_id, attempt):
            raise Conflict(_("This item is not asked now."), hint=_("Reload the page."))
        return QualificationAnswer.objects.create(
            enrolment=enrolment, item=standing.item, attempt=attempt, choice=choice
        )
