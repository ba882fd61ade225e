"""Statistics for a campaign's owner: the annotators, their numbers of judgments and the cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import median

from django.core.cache import cache
from django.db.models import Count, Exists, Max, OuterRef, Q

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.reasons import StoredReason
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, AnnotatorNote, Assignment, Batch, Enrolment, Exclusion
from evalsite.judgments.selectors import (
    IN_GOOD_STANDING,
    RANKING_PURPOSES,
    AnnotatorState,
    annotators_excluded,
    pay_of,
    standings,
)

SPENT_KEPT_S = 20
LEAST_UNQUALIFIED = 3  # annotators
WORKING_S = 1800  # an annotator with an answer in the last half hour is at work


@dataclass(frozen=True, slots=True)
class Person:
    """An annotator as listed in the console. `excluded` is the reason in force, or None.

    - `note` is the newest note about them.
    - `paused` means that nothing new is issued.
    - `proposed` is a proposal of the screening that a person must decide: "exclude" or "readmit", else "".
    - `newcomer` means that their votes are provisional.
    """

    key: int
    annotator: Annotator
    done: int
    open: int
    last: datetime | None
    excluded: StoredReason | None
    proposed: str
    paused: bool = False
    note: str = ""
    newcomer: bool = False


def people_page(*, campaign: Campaign, start: int, count: int) -> list[Person]:
    """Return `count` annotators of the campaign from the `start`-th on, in the order of joining."""
    joined = Enrolment.objects.filter(campaign=campaign).select_related("annotator").order_by("pk")
    enrolments = list(joined[start : start + count])
    annotators = [enrolment.annotator for enrolment in enrolments]
    notes = AnnotatorNote.objects.filter(campaign=campaign, annotator__in=annotators).order_by("pk")
    newest = dict(notes.values_list("annotator", "text"))
    own = Assignment.objects.filter(campaign=campaign, annotator__in=annotators).values("annotator").order_by()
    counted = own.annotate(
        done=Count("pk", filter=Q(state=Assignment.State.ANSWERED)),
        open=Count("pk", filter=Q(state=Assignment.State.ISSUED)),
        last=Max("closed_at", filter=Q(state=Assignment.State.ANSWERED)),
    )
    numbers = {row["annotator"]: (row["done"], row["open"], row["last"]) for row in counted}
    out = exclusion_reasons(campaign)
    standing = standings(campaign)
    waiting = _proposals(standing)
    return [
        Person(
            one.annotator.pk,
            one.annotator,
            *numbers.get(one.annotator.pk, (0, 0, None)),
            out.get(one.annotator.pk),
            waiting.get(one.annotator.pk, ""),
            one.paused_at is not None,
            newest.get(one.annotator.pk, ""),
            standing.get(one.annotator.pk, IN_GOOD_STANDING).provisional,
        )
        for one in enrolments
    ]


def proposals(campaign: Campaign) -> dict[int, str]:
    """Return the undecided proposals of the screening by annotator id."""
    return _proposals(standings(campaign))


def _proposals(standing: Mapping[int, AnnotatorState]) -> dict[int, str]:
    found = {number: one.proposal for number, one in standing.items()}
    return {number: "readmit" if fact.lifted else "exclude" for number, fact in found.items() if fact is not None}


def exclusion_reasons(campaign: Campaign) -> dict[int, StoredReason]:
    """Return the reasons of the current exclusions in this campaign by annotator id."""
    out = annotators_excluded(campaign)
    facts = Exclusion.objects.filter(campaign=campaign, annotator__in=out, lifted=False, proposed=False)
    facts = facts.filter(provisional=False).order_by("pk")
    return {
        number: StoredReason(text, data)
        for number, text, data in facts.values_list("annotator_id", "reason", "reason_data")
    }


def votes_median(campaign: Campaign) -> int | None:
    """Return the median number of answers of those who answered; None before the first answer."""
    own = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ANSWERED, purpose__in=RANKING_PURPOSES)
    counts = own.filter(annotator__isnull=False).order_by().values("annotator").annotate(n=Count("pk"))
    given = list(counts.values_list("n", flat=True))
    return int(median(given)) if given else None


def people_count(campaign: Campaign) -> int:
    return Enrolment.objects.filter(campaign=campaign).count()


def spent(campaign: Campaign) -> Mapping[str, Decimal]:
    """Return the cost of the campaign's judgments by currency, including late ones. At most some seconds old."""
    name = f"spent:{campaign.public_id}"
    found: dict[str, Decimal] | None = cache.get(name)
    if found is None:
        found = pay_of(Assignment.objects.filter(campaign=campaign))
        cache.set(name, found, SPENT_KEPT_S)
    return found


def qualifying_count(campaign: Campaign) -> int:
    """Return how many annotators of a campaign with a qualification have got nothing to judge so far."""
    if not campaign.qualification_items.exists():
        return 0
    begun = Assignment.objects.filter(campaign=campaign, annotator=OuterRef("annotator"))
    return Enrolment.objects.filter(~Exists(begun), campaign=campaign, left_at=None).count()


def unqualified_count(campaign: Campaign) -> int:
    """Return how many annotators failed the qualification, if they are the majority; else 0."""
    kept_off = qualifying_count(campaign)
    if kept_off < LEAST_UNQUALIFIED:
        return 0
    return kept_off if 2 * kept_off > Enrolment.objects.filter(campaign=campaign, left_at=None).count() else 0


def queue_size(campaign: Campaign) -> int:
    return Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).count()


def next_planned(campaign: Campaign, count: int) -> list[tuple[Assignment, list[Entrant]]]:
    """Return the head of the queue, each with its entrants. Their sides are decided at the claim."""
    queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).order_by("priority", "pk")
    rows = list(queued.select_related("place__prompt")[:count])
    pairs = [item_parts(row.item)[1] for row in rows]
    entrants = campaign.entrants.select_related("version__chatbot").in_bulk({one for pair in pairs for one in pair})
    return [(row, [entrants[one] for one in pair]) for row, pair in zip(rows, pairs, strict=True)]


def batch_waiting_since(campaign: Campaign) -> datetime | None:
    """Return when the newest batch closed."""
    closed = Batch.objects.filter(campaign=campaign, state=Batch.State.CLOSED).order_by("-number")
    return closed.values_list("closed_at", flat=True).first()
