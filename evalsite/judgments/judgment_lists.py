"""Lists of single judgments and skips for pages and files, in the order of recording, with pagination."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Aspect, Campaign, Entrant
from evalsite.core.errors import InvalidInput
from evalsite.judgments.models import (
    Answer,
    Assignment,
    Batch,
    Candidate,
    Comment,
    Judgment,
    JudgmentReason,
    Skip,
)
from evalsite.judgments.selectors import judgments_counted


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter of judgments. `counted`: those in a fit (True), those in none (False), or all (None). Times: from, before.

    - `gold`: False for people who may not know which comparisons are gold, because a viewer may also judge.
    - `explained`: whether the annotator gave a reason or a comment.
    """

    counted: bool | None = True
    gold: bool = True
    category: str | None = None
    chatbot: uuid.UUID | None = None
    annotator: uuid.UUID | None = None
    late: bool | None = None
    explained: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """One answer on one aspect. `choice` is "A" (the first entrant), "B", "tie" or "both_bad"; a rating or a label.

    `first` and `second` are entrants; None for a text of gold, and for the second one where there is one reply.
    `reasons` and `comment` are those of the annotator.
    """

    judgment: uuid.UUID
    supersedes: uuid.UUID | None
    assignment: uuid.UUID
    prompt: str
    category: str
    aspect: str
    first: int | None
    second: int | None
    order_known: bool
    choice: str
    annotator: uuid.UUID | None
    annotator_kind: str
    counted: bool
    late: bool
    client_ms: int | None
    answered_at: datetime | None
    recorded_at: datetime
    purpose: str
    policy: str
    probability: float | None
    over_quota: bool
    reasons: tuple[str, ...] = ()
    comment: str = ""


def judgments_page(
    *, campaign: Campaign, aspect: Aspect, wanted: Wanted, after: uuid.UUID | None, count: int
) -> list[Listed]:
    """Return the next `count` judgments after this one, or the first ones.

    Pages skip nothing: a campaign's judgments are written one by one under the lock of its open batch, so a later one
    has a higher key. Raises InvalidInput for an unknown `after`.
    """
    # First the keys, then the data of these few. In one query, PostgreSQL joined all judgments for every page.
    judgments = _filtered(campaign, wanted)
    if campaign.is_live:
        judgments = _of_two(judgments)
    numbers = _page_keys(campaign, judgments, _Cursor.of(campaign, after), count)
    counted = set(_counted(campaign).filter(pk__in=numbers).values_list("pk", flat=True))
    # One row for each candidate, so two for an answer. A selection of both has two answers.
    answers = Answer.objects.filter(judgment__in=numbers, aspect=aspect)
    rows = answers.order_by("judgment__pk", "judgment__assignment__candidates__position").values_list(
        *_FIELDS, "judgment__pk", F("judgment__assignment__candidates__entrant_id")
    )
    said = _explanations(numbers)
    found: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[-2]].append(row)
    return [
        _listed(own[0], _second(own), aspect.key, counted, said.get(number, ((), "")), both=len(own) > 2)
        for number, own in found.items()
    ]


def _second(rows: Sequence[tuple[Any, ...]]) -> int | None:
    """Return the entrant of the last candidate's row; None if there is only one candidate."""
    entrant: int | None = rows[-1][-1]
    return entrant if len(rows) > 1 else None


def _of_two(judgments: QuerySet[Judgment]) -> QuerySet[Judgment]:
    """Filter by judgments on two candidates: live turns may have one, or up to eight."""
    shown = Candidate.objects.filter(assignment=OuterRef("assignment"))
    return judgments.filter(Exists(shown.filter(position=1))).exclude(Exists(shown.filter(position=2)))


def _explanations(judgments: Collection[int]) -> dict[int, tuple[tuple[str, ...], str]]:
    """Return the reasons and the comment of these judgments, by key."""
    reasons: defaultdict[int, list[str]] = defaultdict(list)
    for number, text in (
        JudgmentReason.objects.filter(judgment__in=judgments).order_by("pk").values_list("judgment_id", "text")
    ):
        reasons[number].append(text)
    comments = dict(Comment.objects.filter(judgment__in=judgments).values_list("judgment_id", "text"))
    return {number: (tuple(reasons[number]), comments.get(number, "")) for number in [*reasons, *comments]}


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The start of a page: after this judgment of this batch."""

    judgment: int = 0
    batch: int = 0

    @classmethod
    def of(cls, campaign: Campaign, after: uuid.UUID | None) -> "_Cursor":
        if after is None:
            return cls()
        rows = Judgment.objects.filter(batch__campaign=campaign, public_id=after)
        found = rows.values_list("pk", "batch__number").first()
        if found is None:
            raise InvalidInput(_("This list has no such cursor."), hint=_("Begin without one."), field="cursor")
        return cls(*found)


BATCHES_AT_ONCE = (8, 64, 512)  # then all others


def _page_keys(campaign: Campaign, judgments: QuerySet[Judgment], begin: _Cursor, count: int) -> list[int]:
    """Return keys of the next `count` judgments.

    The judgments of a batch have higher keys than those of earlier batches. A few batches are therefore read first, and
    more only if these do not fill a page. A filter that most judgments pass does not read them all.
    """
    found: list[int] = []
    start, last = begin.batch, _last_batch(campaign)
    for batches in (*BATCHES_AT_ONCE, last + 1):
        part = judgments.filter(pk__gt=begin.judgment, batch__number__range=(start, start + batches - 1))
        found += part.order_by("pk").values_list("pk", flat=True)[: count - len(found)]
        start += batches
        if len(found) >= count or start > last:
            break
    return found


def _last_batch(campaign: Campaign) -> int:
    return Batch.objects.filter(campaign=campaign).aggregate(last=Max("number"))["last"] or 0


_FIELDS = (
    "judgment__public_id",
    "judgment__supersedes__public_id",
    "judgment__assignment__public_id",
    "judgment__assignment__place__prompt__key",
    "judgment__assignment__place__prompt__category",
    "judgment__assignment__order_known",
    "candidate__position",
    "value",
    "judgment__annotator__public_id",
    "judgment__annotator__kind",
    "judgment__late",
    "judgment__client_ms",
    "judgment__answered_at",
    "judgment__recorded_at",
    "judgment__assignment__purpose",
    "judgment__assignment__policy",
    "judgment__assignment__probability",
    "judgment__over_quota",
)


def _choice(value: str, position: int | None, *, both: bool) -> str:
    """Return the verdict on two candidates. Both selected is a tie, and none selected is both bad."""
    if both:
        return Answer.Value.TIE.value
    if value == Answer.Value.NONE:
        return Answer.Value.BOTH_BAD.value
    return value if position is None else "AB"[position]


def _listed(
    row: tuple,  # type: ignore[type-arg]
    second: int | None,
    aspect: str,
    counted: Container[int],
    said: tuple[tuple[str, ...], str],
    *,
    both: bool,
) -> Listed:
    (judgment, supersedes, assignment, prompt, category, order_known, position, value, annotator, kind, late) = row[:11]
    (client_ms, answered_at, recorded_at, purpose, policy, probability, over_quota, number, first) = row[11:]
    return Listed(
        judgment=judgment,
        supersedes=supersedes,
        assignment=assignment,
        prompt=prompt,
        category=category,
        aspect=aspect,
        first=first,
        second=second,
        order_known=order_known,
        choice=_choice(value, position, both=both),
        annotator=annotator,
        annotator_kind=kind or "unknown",
        counted=number in counted,
        late=late,
        client_ms=client_ms,
        answered_at=answered_at,
        recorded_at=recorded_at,
        purpose=purpose,
        policy=policy,
        probability=probability,
        over_quota=over_quota,
        reasons=said[0],
        comment=said[1],
    )


def _counted(campaign: Campaign) -> QuerySet[Judgment]:
    return judgments_counted([campaign])


def _filtered(campaign: Campaign, wanted: Wanted) -> QuerySet[Judgment]:
    judgments = _counted(campaign) if wanted.counted else Judgment.objects.filter(batch__campaign=campaign)
    if wanted.counted is False:
        judgments = judgments.filter(~Exists(_counted(campaign).filter(pk=OuterRef("pk"))))
    if not wanted.gold:
        judgments = judgments.exclude(assignment__purpose=Assignment.Purpose.GOLD)
    if wanted.chatbot is not None:
        shown = Candidate.objects.filter(entrant__version__chatbot__public_id=wanted.chatbot)
        judgments = judgments.filter(Exists(shown.filter(assignment=OuterRef("assignment"))))
    if wanted.explained is not None:
        explained = Exists(JudgmentReason.objects.filter(judgment=OuterRef("pk"))) | Exists(
            Comment.objects.filter(judgment=OuterRef("pk"))
        )
        judgments = judgments.filter(explained if wanted.explained else ~explained)
    fields = {
        "assignment__place__prompt__category": wanted.category,
        "annotator__public_id": wanted.annotator,
        "late": wanted.late,
        "recorded_at__gte": wanted.since,
        "recorded_at__lt": wanted.until,
    }
    return judgments.filter(**{name: value for name, value in fields.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ListedSkip:
    """One skipped assignment. `first` and `second` are those of `Listed`."""

    assignment: uuid.UUID
    prompt: str
    category: str
    first: int | None
    second: int | None
    annotator: uuid.UUID | None
    annotator_kind: str
    reason: str
    note: str
    purpose: str
    skipped_at: datetime


def skips_page(*, campaign: Campaign, gold: bool, after: uuid.UUID | None, count: int) -> list[ListedSkip]:
    """Return the next `count` skips after the one of this assignment. Raises InvalidInput for an unknown `after`."""
    skips = _skips(campaign, gold=gold)
    if after is not None:
        begin = skips.filter(assignment__public_id=after).values_list("pk", flat=True).first()
        if begin is None:
            raise InvalidInput(_("This list has no such cursor."), hint=_("Begin without one."), field="cursor")
        skips = skips.filter(pk__gt=begin)
    rows = list(skips.order_by("pk").values_list(*_SKIP_FIELDS)[:count])
    shown = Candidate.objects.filter(assignment__in=[row[0] for row in rows]).order_by("position")
    entrants: defaultdict[int, list[int | None]] = defaultdict(list)
    for assignment, entrant in shown.values_list("assignment_id", "entrant_id"):
        entrants[assignment].append(entrant)
    return [_listed_skip(row, *entrants[row[0]]) for row in rows]


def skips_count(campaign: Campaign, *, gold: bool) -> int:
    """Return how many skips `skips_page` lists."""
    return _skips(campaign, gold=gold).count()


def _skips(campaign: Campaign, *, gold: bool) -> QuerySet[Skip]:
    skips = Skip.objects.filter(assignment__campaign=campaign, assignment__state=Assignment.State.RETURNED)
    return skips if gold else skips.exclude(assignment__purpose=Assignment.Purpose.GOLD)


_SKIP_FIELDS = (
    "assignment_id",
    "assignment__public_id",
    "assignment__place__prompt__key",
    "assignment__place__prompt__category",
    "assignment__annotator__public_id",
    "assignment__annotator__kind",
    "reason",
    "note__text",
    "assignment__purpose",
    "skipped_at",
)


def _listed_skip(row: tuple, first: int | None = None, second: int | None = None) -> ListedSkip:  # type: ignore[type-arg]
    _number, assignment, prompt, category, annotator, kind, reason, note, purpose, skipped_at = row
    return ListedSkip(
        assignment=assignment,
        prompt=prompt,
        category=category,
        first=first,
        second=second,
        annotator=annotator,
        annotator_kind=kind or "unknown",
        reason=reason,
        note=note or "",
        purpose=purpose,
        skipped_at=skipped_at,
    )


GOLD_TEXT = "(gold)"  # in place of a chatbot's name


def entrant_names(campaign: Campaign) -> Mapping[int | None, str]:
    """Return a unique name for each entrant id: its chatbot's name, with the version and more if needed."""
    entrants = Entrant.objects.filter(campaign=campaign).select_related("version__chatbot__organisation")
    names: dict[int | None, str] = {entrant.pk: entrant.name for entrant in entrants}
    distinctions: tuple[Callable[[Entrant], str], ...] = (
        lambda entrant: entrant.version.label,
        lambda entrant: entrant.version.chatbot.organisation.name,
        lambda entrant: str(entrant.public_id),
    )
    for distinction in distinctions:
        times = Counter(names.values())
        for entrant in entrants:
            if times[names[entrant.pk]] > 1:
                names[entrant.pk] += f" ({distinction(entrant)})"
    names[None] = GOLD_TEXT
    return names
