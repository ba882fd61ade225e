"""An annotator's block for its page: open items, answers, and answers that may still be changed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Assignment, Judgment

PACE_OF_LAST = 20
PACE_FROM = 3
LONGEST_PACE_S = 600.0  # a break is not pace


@dataclass(frozen=True, slots=True)
class Item:
    """One assignment of a block. `given` is the judgment in force; `choices` maps aspect keys to its values."""

    assignment: Assignment
    number: int
    given: Judgment | None
    choices: Mapping[str, tuple[str, ...]]
    changeable: bool

    @property
    def open(self) -> bool:
        return self.assignment.state == Assignment.State.ISSUED

    @property
    def expired(self) -> bool:
        """Return whether the assignment was taken back because its lease ended before an answer."""
        return self.assignment.state == Assignment.State.EXPIRED and self.given is None


@dataclass(frozen=True, slots=True)
class NewestBlock:
    """An annotator's newest block in a campaign, in its order; empty before the first one."""

    items: tuple[Item, ...]

    @property
    def open(self) -> list[Item]:
        return [item for item in self.items if item.open]

    @property
    def changeable(self) -> list[Item]:
        return [item for item in self.items if item.changeable]

    @property
    def unanswered(self) -> int:
        return sum(item.expired for item in self.items)

    def find(self, public_id: str) -> Item | None:
        return next((item for item in self.items if str(item.assignment.public_id) == public_id), None)

    def before(self, number: int) -> Item | None:
        """Return the nearest earlier item whose answer may be changed."""
        return next((item for item in reversed(self.changeable) if item.number < number), None)


def block_newest(*, campaign: Campaign, annotator: Annotator) -> NewestBlock:
    """Return the annotator's newest block. Answers may be changed until the lease ends or the next block is claimed."""
    own = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    newest = own.exclude(block=None).order_by("-issued_at", "-pk").values_list("block", flat=True).first()
    if newest is None:
        return NewestBlock(())
    rows = own.filter(block=newest).select_related("place__prompt", "gold").order_by("block_position", "pk")
    rows = rows.prefetch_related(
        "judgments__answers__aspect", "judgments__answers__candidate", "judgments__superseded_by"
    )
    now = timezone.now()
    return NewestBlock(tuple(_item(row, number, now) for number, row in enumerate(rows, start=1)))


def _item(assignment: Assignment, number: int, now: datetime) -> Item:
    given = next((one for one in assignment.judgments.all() if not hasattr(one, "superseded_by")), None)
    held = assignment.lease_until is not None and now <= assignment.lease_until
    return Item(assignment, number, given, choices_of(given), changeable=given is not None and held)


def choices_of(judgment: Judgment | None) -> dict[str, tuple[str, ...]]:
    """Return the choices of a judgment, from aspect key to "A", "B", "tie", "both_bad", a rating, or labels."""
    found: dict[str, tuple[str, ...]] = {}
    for answer in [] if judgment is None else judgment.answers.all():
        value = answer.candidate.label if answer.candidate else answer.value
        found[answer.aspect.key] = (*found.get(answer.aspect.key, ()), value)
    return found


def pace_s(*, campaign: Campaign, annotator: Annotator) -> float | None:
    """Return the median seconds of this annotator's latest judgments here; None if there are too few."""
    own = Judgment.objects.filter(batch__campaign=campaign, annotator=annotator, client_ms__isnull=False)
    last = own.order_by("-pk").values_list("client_ms", flat=True)[:PACE_OF_LAST]
    times = [one for one in last if one is not None]
    if len(times) < PACE_FROM:
        return None
    return min(LONGEST_PACE_S, median(times) / 1000)
