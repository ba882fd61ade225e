"""Erasure of a person: data that links judgments to them is removed. The judgments stay, or are removed
(judgment_removal.py).

The choice is the one that was promised when they began.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import user_erase
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.judgments.arrivals import identity_source, past_worker_record
from evalsite.judgments.judgment_removal import enrolments_lock, judgments_remove
from evalsite.judgments.leases import assignments_return
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    AnnotatorNote,
    AnnotatorToken,
    Arrival,
    Bonus,
    Comment,
    Enrolment,
    Judgment,
    NetworkTrace,
    Payment,
    SkipNote,
)
from evalsite.webhooks.services import webhooks_delete

erasers: list[Callable[[Enrolment], None]] = []
"""Erase a person's data of an app above. They run first, because they lock what comes before places."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The effect of an erasure: campaigns whose judgments were removed, and whether any judgments stay elsewhere."""

    removed_from: tuple[Campaign, ...]
    kept: bool


def person_erase(*, user: User | None, parts: Iterable[Enrolment]) -> Erased:
    """Erase a person: the account, if there is one, and identifying data in `parts`, including former enrolments.

    The judgments stay without a person, and the boards do not change. If their removal was promised, they are removed.
    One transaction does all or nothing; it fails with Conflict while an organisation has no other owner. An enrolment
    from a platform is erased alone, others with all data of their annotator. A keyed hash is stored for a worker who
    may not start again (PastWorker).
    """
    parts = list(parts)
    wholly = {part.annotator for part in parts if not part.platform}
    if user is not None:
        wholly |= set(Annotator.objects.filter(user=user))
    theirs = Enrolment.objects.filter(annotator__in=wholly).select_related("campaign", "annotator")
    every = {part.pk: part for part in [*parts, *theirs]}
    with write_transaction():
        for eraser in erasers:
            for part in sorted(every.values(), key=lambda one: one.pk):
                eraser(part)
        removing = enrolments_lock(every.values())
        for part in every.values():
            _part_erase(part, user)
        for annotator in wholly:
            _annotator_erase(annotator)
        if user is not None:
            webhooks_delete(user=user)
            user_erase(user=user)
        removed = dict.fromkeys(part.campaign for part in removing if judgments_remove(part))
        erased = Erased(tuple(removed), kept=any(_has_judgments(part) for part in every.values()))
    for part in every.values():  # last, and place by place: many locked places could block others
        assignments_return(campaign=part.campaign, annotator=part.annotator)
    return erased


def _has_judgments(part: Enrolment) -> bool:
    return Judgment.objects.filter(annotator=part.annotator, batch__campaign=part.campaign).exists()


def _part_erase(part: Enrolment, user: User | None) -> None:
    """Erase a person's data in one campaign: platform ids, visits, texts and the name."""
    campaign, annotator = part.campaign, part.annotator
    sent = AnnotatorIdentity.objects.filter(annotator=annotator, source=identity_source(campaign, part.platform))
    workers = set(sent.values_list("external_id", flat=True))
    for worker in workers:
        past_worker_record(part=part, worker=worker)
    person = user or annotator.user
    own = {person.username, person.email} if person else set()
    names = _name_pattern(workers | set(part.arrivals.values_list("session", flat=True)) | own)
    _words_erase(Payment.objects.filter(campaign=campaign, annotator=annotator), "reference", names)
    _words_erase(Bonus.objects.filter(campaign=campaign, annotator=annotator), "reason", names)
    sent.delete()
    Arrival.objects.filter(enrolment=part).delete()
    NetworkTrace.objects.filter(campaign=campaign, annotator=annotator).delete()
    AnnotatorNote.objects.filter(campaign=campaign, annotator=annotator).delete()
    Comment.objects.filter(judgment__annotator=annotator, judgment__batch__campaign=campaign).delete()
    SkipNote.objects.filter(skip__assignment__annotator=annotator, skip__assignment__campaign=campaign).delete()
    Enrolment.objects.filter(pk=part.pk, left_at=None).update(left_at=timezone.now())
    Enrolment.objects.filter(pk=part.pk).update(network="")


def _words_erase(rows: QuerySet[Any], field: str, names: re.Pattern[str]) -> None:
    """Empty the field in rows that contain a name of the person."""
    found = [number for number, words in rows.values_list("pk", field) if names.search(words)]
    rows.filter(pk__in=found).update(**{field: ""})


def _name_pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for these names as whole words, case-insensitive: "7" matches "transfer 7" but not "t17"."""
    words = "|".join(re.escape(name) for name in sorted(names) if name)
    return re.compile(rf"(?<![^\W_])(?:{words or '(?!)'})(?![^\W_])", re.IGNORECASE)


def _annotator_erase(annotator: Annotator) -> None:
    AnnotatorIdentity.objects.filter(annotator=annotator).delete()
    AnnotatorToken.objects.filter(annotator=annotator).delete()
    Annotator.objects.filter(pk=annotator.pk).update(user=None)
