"""How a person is forgotten: what leads from the judgments to them is removed, and the judgments stay or go with them
(removal.py), as was promised when they began."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.accounts.services import user_erase
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.judgments.arrivals import identity_source, past_worker_keep
from evalsite.judgments.judgment_removal import judgments_remove, parts_hold
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
    Payment,
    SkipNote,
)


@dataclass(frozen=True, slots=True)
class Erased:
    """What became of somebody's judgments: the campaigns from which they went, and whether any stay elsewhere."""

    removed_from: tuple[Campaign, ...]
    kept: bool


def person_erase(*, user: User | None, parts: Iterable[Enrolment]) -> Erased:
    """Forget somebody: the account, if they have one, and what leads to them from `parts`, left ones too.

    The judgments stay, given by nobody in particular, and the boards do not change; where their removal was promised,
    they go. One transaction: all of it or, as while an organisation has no other owner (Conflict), nothing. A part that
    a platform sent is erased alone, others with all that their annotator has. Of a worker who may not begin again a
    keyed hash is kept (PastWorker).
    """
    parts = list(parts)
    wholly = {part.annotator for part in parts if not part.platform}
    if user is not None:
        wholly |= set(Annotator.objects.filter(user=user))
    theirs = Enrolment.objects.filter(annotator__in=wholly).select_related("campaign", "annotator")
    every = {part.pk: part for part in [*parts, *theirs]}
    with write_transaction():
        removing = parts_hold(every.values())
        for part in every.values():
            _part_erase(part, user)
        for annotator in wholly:
            _annotator_erase(annotator)
        if user is not None:
            user_erase(user=user)
        removed = dict.fromkeys(part.campaign for part in removing if judgments_remove(part))
        erased = Erased(tuple(removed), kept=any(_judged(part) for part in every.values()))
    for part in every.values():  # afterwards, place by place: many places locked at once could stop others
        assignments_return(campaign=part.campaign, annotator=part.annotator)
    return erased


def _judged(part: Enrolment) -> bool:
    return Judgment.objects.filter(annotator=part.annotator, batch__campaign=part.campaign).exists()


def _part_erase(part: Enrolment, user: User | None) -> None:
    """What is known of somebody in one campaign: the platform's ids, their visits and words, their name."""
    campaign, annotator = part.campaign, part.annotator
    sent = AnnotatorIdentity.objects.filter(annotator=annotator, source=identity_source(campaign, part.platform))
    workers = set(sent.values_list("external_id", flat=True))
    for worker in workers:
        past_worker_keep(part=part, worker=worker)
    person = user or annotator.user
    own = {person.username, person.email} if person else set()
    names = _named(workers | set(part.arrivals.values_list("session", flat=True)) | own)
    _words_erase(Payment.objects.filter(campaign=campaign, annotator=annotator), "reference", names)
    _words_erase(Bonus.objects.filter(campaign=campaign, annotator=annotator), "reason", names)
    sent.delete()
    Arrival.objects.filter(enrolment=part).delete()
    AnnotatorNote.objects.filter(campaign=campaign, annotator=annotator).delete()
    Comment.objects.filter(judgment__annotator=annotator, judgment__batch__campaign=campaign).delete()
    SkipNote.objects.filter(skip__assignment__annotator=annotator, skip__assignment__campaign=campaign).delete()
    Enrolment.objects.filter(pk=part.pk, left_at=None).update(left_at=timezone.now())
    Enrolment.objects.filter(pk=part.pk).update(network="")


def _words_erase(rows: QuerySet[Any], field: str, names: re.Pattern[str]) -> None:
    """Empty the field where it names the person."""
    found = [number for number, words in rows.values_list("pk", field) if names.search(words)]
    rows.filter(pk__in=found).update(**{field: ""})


def _named(names: Iterable[str]) -> re.Pattern[str]:
    """What finds one of these as whole words, in whatever case; "7" stands in "transfer 7" and not in "t17"."""
    words = "|".join(re.escape(name) for name in sorted(names) if name)
    return re.compile(rf"(?<![^\W_])(?:{words or '(?!)'})(?![^\W_])", re.IGNORECASE)


def _annotator_erase(annotator: Annotator) -> None:
    AnnotatorIdentity.objects.filter(annotator=annotator).delete()
    AnnotatorToken.objects.filter(annotator=annotator).delete()
    Annotator.objects.filter(pk=annotator.pk).update(user=None)
