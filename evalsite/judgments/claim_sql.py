"""Hand-written SQL of claims and answers: locks, the batch count, and what the ORM was measured to do too slowly.

Results are read into models. Everything else uses the ORM, see docs/decisions/0014.
"""

import uuid
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from django.db import connection

from evalsite.campaigns.models import Aspect, Campaign, PlanSpec, StoppingSpec
from evalsite.core.db import as_stored, columns, each, execute_for_rows, read, read_joined, row_locks, rows
from evalsite.judgments.models import (
    LABELS,
    Answer,
    Assignment,
    Batch,
    Enrolment,
    Judgment,
)

QUEUE_LOCK = 5_701  # class of PostgreSQL's advisory locks for a campaign's queue


def assignment_held(annotator: int, public_id: uuid.UUID) -> Assignment | None:
    """Lock and return the annotator's assignment. Its place is locked first (PostgreSQL locks in the order of OF)."""
    found = read(
        Assignment,
        f"SELECT {columns(Assignment, 'own')} FROM judgments_assignment own "  # noqa: S608  our names
        f"JOIN judgments_place place ON place.id = own.place_id {_HELD} {row_locks(_LOCKED)}",
        [as_stored(public_id), annotator],
    )
    return found[0] if found else None


_HELD = "WHERE own.public_id = %s AND own.annotator_id = %s"
_LOCKED = "FOR NO KEY UPDATE OF place, own"


@dataclass(frozen=True, slots=True)
class Asked:
    """Data to validate an answer: the campaign's aspects by key, the primary one first, and the candidates shown.

    `candidates` maps labels to keys. comment_required: whether the answer needs a comment.
    """

    aspects: Mapping[str, Aspect]
    candidates: Mapping[str, int]
    comment_required: bool = False


def assignment_with_content(annotator: int, public_id: uuid.UUID) -> tuple[Assignment, Asked] | None:
    """Lock the annotator's assignment as in `assignment_held`, and return it with its aspects and candidates.

    The query returns one row for each candidate and aspect; there are few.
    """
    found = read_joined(
        [Assignment, Aspect],
        f"SELECT {columns(Assignment, 'own')}, {columns(Aspect, 'aspect')}, "  # noqa: S608  our names
        "EXISTS (SELECT 1 FROM campaigns_reception reception WHERE reception.campaign_id = own.campaign_id "
        "AND reception.comment_required), candidate.id, candidate.position FROM judgments_assignment own "
        "JOIN judgments_place place ON place.id = own.place_id "
        "JOIN campaigns_campaign campaign ON campaign.id = own.campaign_id "
        "JOIN campaigns_aspect aspect ON aspect.rubric_id = campaign.rubric_id "
        f"JOIN judgments_candidate candidate ON candidate.assignment_id = own.id {_HELD} "
        f"ORDER BY aspect.position {row_locks(_LOCKED)}",
        [as_stored(public_id), annotator],
    )
    if not found:
        return None
    aspects = {aspect.key: aspect for _, aspect, *_ in found}
    candidates = {LABELS[position]: key for *_, key, position in found}
    return found[0][0], Asked(aspects, candidates, comment_required=bool(found[0][2]))


_COUNT = (
    "UPDATE judgments_batch SET size = size + %s WHERE campaign_id = %s AND state = 'open' "
    "RETURNING {batch}, "
    "size >= (SELECT batch_size FROM campaigns_campaign WHERE id = judgments_batch.campaign_id) AS is_full, "
    "(SELECT state = 'stopped' FROM campaigns_campaign WHERE id = judgments_batch.campaign_id) AS is_after_stop"
)
_JUDGE = (
    "INSERT INTO judgments_judgment (public_id, assignment_id, annotator_id, supersedes_id, late, over_quota, "
    "client_ms, answered_at, recorded_at, batch_id)"
)
_ANSWER = "INSERT INTO judgments_answer (aspect_id, candidate_id, value, judgment_id)"
_FILL = "UPDATE judgments_assignment SET state = 'answered', closed_at = %s WHERE id = %s"


def judgment_add(judgment: Judgment, answers: Sequence[Answer], *, counted: int, fills: bool) -> bool:
    """Write a judgment with its answers into the campaign's open batch, which is locked and counts `counted` more.

    `fills` marks the assignment as answered. The judgment gets its key and its batch. The batch has two extra
    attributes: `is_full`, whether this judgment fills it, and `is_after_stop`, whether the campaign has stopped.
    Returns False, with nothing written, if no batch is open. Of two simultaneous judgments the second waits for the
    batch and counts on from the first. PostgreSQL runs it all as one statement to keep this wait short.
    """
    assignment = judgment.assignment
    count = [counted, assignment.campaign_id]
    judge = [
        *(as_stored(judgment.public_id), assignment.pk, judgment.annotator_id, judgment.supersedes_id, judgment.late),
        *(judgment.over_quota, judgment.client_ms, as_stored(judgment.answered_at), as_stored(judgment.recorded_at)),
    ]
    answer = [(one.aspect_id, one.candidate_id, one.value) for one in answers]
    fill = [as_stored(judgment.answered_at), assignment.pk]
    write = _judgment_add_at_once if connection.vendor == "postgresql" else _judgment_add_one_by_one
    batch, judgment.pk = write(count, judge, answer, fill if fills else None)
    if batch is not None:
        judgment.batch = batch
    return batch is not None


Write = tuple[Batch | None, int | None]


def _judgment_add_at_once(
    count: list[Any], judge: list[Any], answer: list[tuple[Any, ...]], fill: list[Any] | None
) -> Write:
    given = ", ".join(["(%s::bigint, %s::bigint, %s)"] * len(answer))
    filled = f", filled AS ({_FILL} AND EXISTS (SELECT 1 FROM batch))" if fill else ""  # noqa: S608
    found = read_joined(
        [Batch],
        f"WITH batch AS ({_count()}), judged AS ({_JUDGE} "  # noqa: S608  our statements
        "SELECT %s::uuid, %s, %s, %s::bigint, %s::boolean, %s::boolean, %s::integer, "
        "%s::timestamptz, %s::timestamptz, id "
        f"FROM batch RETURNING id), answered AS ({_ANSWER} "
        f"SELECT given.*, judged.id FROM judged, (VALUES {given}) AS given){filled} "
        f"SELECT {columns(Batch, 'batch')}, batch.is_full, batch.is_after_stop, judged.id FROM batch, judged",
        [*count, *judge, *chain.from_iterable(answer), *(fill or [])],
    )
    if not found:
        return None, None
    ((batch, batch.is_full, batch.is_after_stop, key),) = found
    return batch, key


def _judgment_add_one_by_one(
    count: list[Any], judge: list[Any], answer: list[tuple[Any, ...]], fill: list[Any] | None
) -> Write:
    found = read_joined([Batch], _count(), count)
    if not found:
        return None, None
    ((batch, batch.is_full, batch.is_after_stop),) = found
    ((key,),) = rows(f"{_JUDGE} VALUES ({_placeholders([*judge, batch])}) RETURNING id", [*judge, batch.pk])
    each(f"{_ANSWER} VALUES (%s, %s, %s, %s)", [(*one, key) for one in answer])
    each(_FILL, [fill] if fill else [])
    return batch, key


def _count() -> str:
    return _COUNT.format(batch=columns(Batch, "judgments_batch"))


def enrolment_lock(campaign: int, annotator: int) -> Enrolment | None:
    """Lock the annotator's enrolment, which serializes simultaneous claims, and share the campaign's queue.

    Every claim shares the queue. A planner or a closing of the queue (`queue_lock`) waits for running claims, and later
    claims wait for that. Otherwise these claims would find all queued rows locked and return nothing.
    """
    of_postgresql = connection.vendor == "postgresql"
    held = f", pg_advisory_xact_lock_shared({QUEUE_LOCK}, %s::integer)" if of_postgresql else ""
    found = read_joined(
        [Enrolment],
        f"SELECT {columns(Enrolment, 'own')}{held} FROM judgments_enrolment own "  # noqa: S608
        "WHERE campaign_id = %s AND annotator_id = %s" + row_locks(" FOR UPDATE"),
        [*([campaign] if held else []), campaign, annotator],
    )
    return found[0][0] if found else None


def queue_lock(campaign: int) -> None:
    """Lock a campaign's queue exclusively until the transaction ends. Running claims finish first, and later ones wait.

    PostgreSQL grants locks in order of arrival, so many claims cannot delay a planner forever.
    """
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock({QUEUE_LOCK}, %s::integer)", [campaign])


def queued_replan(
    planned: Sequence[tuple[int, str, float, int]], *, policy: str, snapshot: uuid.UUID | None, plan_seed: int
) -> None:
    """Update queued assignments to another plan: (priority, purpose, probability, key).

    Runs one statement, or one short statement for each row. `bulk_update` takes forty times as long, while all claims
    wait.
    """
    origin = (policy, as_stored(snapshot), plan_seed)
    execute_for_rows(
        "UPDATE judgments_assignment SET policy = %s, snapshot = %s, plan_seed = %s, "
        "priority = given.a, purpose = given.b, probability = given.c FROM {given} "
        "WHERE id = given.d AND state = 'queued'",
        "UPDATE judgments_assignment SET policy = %s, snapshot = %s, plan_seed = %s, "
        "priority = %s, purpose = %s, probability = %s WHERE id = %s AND state = 'queued'",
        origin,
        planned,
        ("integer", "text", "double precision", "bigint"),
    )


LAST_EXCLUSION = (
    "(SELECT lifted FROM judgments_exclusion WHERE annotator_id = %s AND campaign_id = %s AND NOT proposed "
    "AND NOT provisional ORDER BY id DESC LIMIT 1)"
)


@dataclass(frozen=True, slots=True)
class Terms:
    """Conditions of a claim. `excluded`: the annotator gets nothing. `consent`: a consent is required."""

    excluded: bool
    qualifies: bool
    consent: bool


def claim_terms(campaign: Campaign, annotator: int) -> Terms:
    """Reload a campaign with its limits and its plan, and return its conditions for the annotator."""
    found = read_joined(
        [Campaign, StoppingSpec, PlanSpec],
        f"SELECT {columns(Campaign, 'campaign')}, {columns(StoppingSpec, 'stopping')}, "  # noqa: S608  our names
        f"{columns(PlanSpec, 'plan')}, {LAST_EXCLUSION}, "
        "EXISTS (SELECT 1 FROM campaigns_qualificationitem item WHERE item.campaign_id = campaign.id), "
        "EXISTS (SELECT 1 FROM campaigns_reception reception WHERE reception.campaign_id = campaign.id "
        "AND reception.consent_required) "
        "FROM campaigns_campaign campaign JOIN campaigns_stoppingspec stopping ON stopping.campaign_id = campaign.id "
        "JOIN campaigns_planspec plan ON plan.campaign_id = campaign.id WHERE campaign.id = %s",
        [annotator, campaign.pk, campaign.pk],
    )
    ((fresh, fresh.stopping, fresh.plan, lifted, qualifies, consent),) = found
    campaign.__dict__.update(fresh.__dict__)  # the caller's object gets the new state; nothing was prefetched
    return Terms(lifted is not None and not lifted, bool(qualifies), bool(consent))


class Claimable(NamedTuple):
    """A queued assignment that may be issued. Assignments of equal priority belong together."""

    item: str
    priority: int


def claimable(
    campaign: int, annotator: int, *, without: Sequence[int], at_most: int | None, lock: bool = False
) -> dict[int, Claimable]:
    """Return queued assignments (by key) with items that this annotator has not seen, highest priority first.

    lock: lock these rows, and pass over those that others are claiming.

    Each item is looked up by a scalar subquery instead of NOT EXISTS. As a join, PostgreSQL would compare all queued
    rows with all seen ones if it estimates both as few. It always does so for a changing queue. The estimated number of
    matches must also be large: with one in 200, its guess for IS NULL, PostgreSQL reads and sorts the whole queue.
    """
    left_out = f"AND queued.id NOT IN ({_placeholders(without)}) " if without else ""
    limit = "" if at_most is None else f"LIMIT {at_most:d}"
    locked = row_locks(" FOR UPDATE OF queued SKIP LOCKED") if lock else ""
    found = rows(
        "SELECT queued.id, queued.item, queued.priority FROM judgments_assignment queued "  # noqa: S608  our numbers
        f"WHERE queued.campaign_id = %s AND queued.state = 'queued' {left_out}"
        "AND NOT COALESCE((SELECT true FROM judgments_assignment seen WHERE seen.annotator_id = %s "
        "AND seen.item = queued.item AND seen.source = 'plan'), false) "
        f"ORDER BY queued.priority, queued.id {limit}{locked}",
        [campaign, *without, annotator],
    )
    return {key: Claimable(item, priority) for key, item, priority in found}


def queued_lock(keys: Sequence[int]) -> set[int]:
    """Lock those of the assignments that are still queued. Skips rows that others are claiming."""
    if not keys:
        return set()
    found = rows(
        f"SELECT id FROM judgments_assignment WHERE id IN ({_placeholders(keys)}) AND state = 'queued'"  # noqa: S608
        + row_locks(" FOR UPDATE SKIP LOCKED"),
        keys,
    )
    return {key for (key,) in found}


def replies_shown(asked: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the current reply that can be shown for each requested (entrant, prompt).

    A reply of origin LIVE has its text in its conversation.

    Each is looked up by a subquery, as above: a join would read all replies of each version.
    """
    if not asked:
        return {}
    found = rows(
        "SELECT asked.column1, asked.column2, (SELECT reply.id FROM chatbots_reply reply "  # noqa: S608  our numbers
        "WHERE reply.version_id = entrant.version_id AND reply.prompt_id = asked.column2 "
        "AND reply.sample = 1 AND (reply.text IS NOT NULL OR reply.origin = 'live') "
        "AND NOT EXISTS (SELECT 1 FROM chatbots_reply later WHERE later.corrects_id = reply.id)) "
        f"FROM (VALUES {', '.join(['(%s, %s)'] * len(asked))}) AS asked "
        "JOIN campaigns_entrant entrant ON entrant.id = asked.column1",
        [*chain.from_iterable(asked)],
    )
    return {(entrant, prompt): reply for entrant, prompt, reply in found if reply is not None}


def assignments_issue(positions: Mapping[int, int], terms: Mapping[str, Any]) -> list[Assignment]:
    """Issue queued assignments with these columns, each at its position in the block, in one statement.

    `positions` maps keys to positions. The result has no order.
    """
    if not positions:
        return []
    given = ", ".join(f"{name} = %s" for name in terms)
    values = [as_stored(value) if isinstance(value, uuid.UUID) else value for value in terms.values()]
    position = "CASE id " + "WHEN %s THEN %s " * len(positions) + "END"
    return read(
        Assignment,
        f"UPDATE judgments_assignment SET {given}, block_position = {position} "  # noqa: S608  our names
        f"WHERE id IN ({_placeholders(positions)}) RETURNING {columns(Assignment, 'judgments_assignment')}",
        [*values, *chain.from_iterable(positions.items()), *positions],
    )


def _placeholders(values: Sized) -> str:
    return ", ".join(["%s"] * len(values))
