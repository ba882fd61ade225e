"""What every claim and every answer asks of the database, written by hand (core.db.rows says why).

They are read into models, and what is asked less often is left to the ORM.
"""

import json
import uuid
from collections.abc import Collection, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import as_uuid
from evalsite.core.db import as_stored, each, row_locks, rows
from evalsite.judgments.models import Assignment, Batch, Candidate, Enrolment

AT_ONCE = 1_000  # rows of one INSERT: SQLite may take no more than 32,766 values


def assignment_held(annotator: int, public_id: uuid.UUID) -> Assignment | None:
    """The annotator's assignment, locked, and its place before it (PostgreSQL locks in the order of OF)."""
    found = Assignment.objects.raw(
        "SELECT own.* FROM judgments_assignment own JOIN judgments_place place ON place.id = own.place_id "  # noqa: S608
        "WHERE own.public_id = %s AND own.annotator_id = %s" + row_locks(" FOR NO KEY UPDATE OF place, own"),
        [as_stored(public_id), annotator],
    )
    return next(iter(found), None)


def candidates_of(assignment: Assignment) -> list[Candidate]:
    """What an assignment shows, in its order."""
    return list(
        Candidate.objects.raw(
            "SELECT * FROM judgments_candidate WHERE assignment_id = %s ORDER BY position", [assignment.pk]
        )
    )


def batch_count(campaign: int, judgments: int) -> Batch | None:
    """The campaign's open batch, locked, with so many judgments more; None where none is open.

    `is_full` says whether they fill it. Of two at once the second waits here, and counts on from the first.
    """
    found = Batch.objects.raw(
        "UPDATE judgments_batch SET size = size + %s WHERE campaign_id = %s AND state = 'open' "
        "RETURNING *, size >= (SELECT batch_size FROM campaigns_campaign WHERE id = judgments_batch.campaign_id) "
        "AS is_full",
        [judgments, campaign],
    )
    return next(iter(found), None)


def campaign_joined(annotator: int, key: str) -> Campaign | None:
    """The campaign at this address (its slug or its public id), if the annotator has joined it."""
    public_id = as_uuid(key)
    address = "campaign.slug = %s" if public_id is None else "campaign.public_id = %s"
    found = Campaign.objects.raw(
        "SELECT campaign.* FROM campaigns_campaign campaign "  # noqa: S608
        "JOIN judgments_enrolment enrolment ON enrolment.campaign_id = campaign.id "
        f"WHERE enrolment.annotator_id = %s AND {address}",
        [annotator, key if public_id is None else as_stored(public_id)],
    )
    return next(iter(found), None)


def enrolment_lock(campaign: int, annotator: int) -> Enrolment | None:
    """The annotator's enrolment, locked: two claims at once are one after the other."""
    found = Enrolment.objects.raw(
        "SELECT * FROM judgments_enrolment "  # noqa: S608
        "WHERE campaign_id = %s AND annotator_id = %s" + row_locks(" FOR UPDATE"),
        [campaign, annotator],
    )
    return next(iter(found), None)


def assignments_open(campaign: int, annotator: int) -> list[Assignment]:
    """What this annotator has been issued and has not answered, in the order of the block."""
    return list(
        Assignment.objects.raw(
            "SELECT * FROM judgments_assignment WHERE annotator_id = %s AND state = 'issued' AND campaign_id = %s "
            "ORDER BY block_position, id",
            [annotator, campaign],
        )
    )


def claimable(campaign: int, annotator: int, *, without: Sequence[int], at_most: int | None) -> dict[int, str]:
    """Queued assignments whose item this annotator has not seen: key -> item, the most wanted first."""
    left_out = f"AND queued.id NOT IN ({_places(without)}) " if without else ""
    limit = "" if at_most is None else f"LIMIT {at_most:d}"
    return dict(
        rows(
            "SELECT queued.id, queued.item FROM judgments_assignment queued "  # noqa: S608  numbers of ours
            f"WHERE queued.campaign_id = %s AND queued.state = 'queued' {left_out}"
            "AND NOT EXISTS (SELECT 1 FROM judgments_assignment seen "
            "WHERE seen.annotator_id = %s AND seen.item = queued.item) "
            f"ORDER BY queued.priority, queued.id {limit}",
            [campaign, *without, annotator],
        )
    )


def queued_lock(keys: Sequence[int]) -> set[int]:
    """Those of some assignments that still wait, locked. What others are claiming just now is passed over."""
    if not keys:
        return set()
    found = rows(
        f"SELECT id FROM judgments_assignment WHERE id IN ({_places(keys)}) AND state = 'queued'"  # noqa: S608
        + row_locks(" FOR UPDATE SKIP LOCKED"),
        keys,
    )
    return {key for (key,) in found}


def queued_all(campaign: int, *, lock: bool = False) -> dict[int, str]:
    """Everything that waits in a campaign's queue: key -> item, the oldest first."""
    found = rows(
        "SELECT id, item FROM judgments_assignment "  # noqa: S608
        "WHERE campaign_id = %s AND state = 'queued' ORDER BY id" + (row_locks(" FOR UPDATE") if lock else ""),
        [campaign],
    )
    return dict(found)


def queued_replan(
    planned: Sequence[tuple[int, str, float, int]], *, policy: str, snapshot: uuid.UUID | None, plan_seed: int
) -> None:
    """Give queued assignments their places in another plan: (priority, purpose, probability, key) of each.

    One short statement for each: those that Django makes of many rows at once take half a second to compose.
    """
    origin = (policy, as_stored(snapshot), plan_seed)
    each(
        "UPDATE judgments_assignment SET policy = %s, snapshot = %s, plan_seed = %s, "
        "priority = %s, purpose = %s, probability = %s WHERE id = %s",
        [(*origin, *one) for one in planned],
    )


def places_add(campaign: int, asked: Sequence[tuple[int, str]]) -> list[int]:
    """New places for (prompt, item); their keys, in the same order."""
    now = as_stored(timezone.now())
    keys: list[int] = []
    for begin in range(0, len(asked), AT_ONCE):
        part = asked[begin : begin + AT_ONCE]
        found = rows(
            "INSERT INTO judgments_place (campaign_id, prompt_id, item, created_at) VALUES "  # noqa: S608
            + ", ".join(["(%s, %s, %s, %s)"] * len(part))
            + " RETURNING id",
            [value for prompt, item in part for value in (campaign, prompt, item, now)],
        )
        keys += [key for (key,) in found]
    return keys


def queued_add(
    campaign: int,
    planned: Sequence[tuple[int, str, int, str, float]],
    *,
    policy: str,
    snapshot: uuid.UUID | None,
    plan_seed: int,
) -> None:
    """Queue new assignments: (place, item, priority, purpose, probability) of each."""
    origin = (policy, as_stored(snapshot), plan_seed, as_stored(timezone.now()))
    each(
        "INSERT INTO judgments_assignment (campaign_id, public_id, place_id, item, priority, purpose, probability, "
        "policy, snapshot, plan_seed, queued_at, state, source, order_known, block_position, pay_rate, currency, "
        "pay_per) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 'queued', 'plan', TRUE, 0, 0, '', 'judgment')",
        [(campaign, as_stored(uuid.uuid4()), *one, *origin) for one in planned],
    )


def replies_shown(prompts: Collection[int], entrants: Collection[int]) -> dict[tuple[int, int], int]:
    """(entrant, prompt) -> the reply in force that can be shown, of these entrants to these prompts."""
    if not prompts:
        return {}
    found = rows(
        "SELECT entrant.id, reply.prompt_id, reply.id FROM chatbots_reply reply "  # noqa: S608  numbers of ours
        "JOIN campaigns_entrant entrant ON entrant.version_id = reply.version_id "
        f"WHERE reply.prompt_id IN ({_places(prompts)}) AND entrant.id IN ({_places(entrants)}) "
        "AND reply.sample = 1 AND reply.text IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM chatbots_reply later WHERE later.corrects_id = reply.id)",
        [*prompts, *entrants],
    )
    return {(entrant, prompt): reply for entrant, prompt, reply in found}


def assignments_issue(positions: Mapping[int, int], terms: Mapping[str, Any]) -> list[Assignment]:
    """Issue queued assignments on these terms (columns), each at its position in the block, in one statement.

    `positions`: key -> position. In no order.
    """
    if not positions:
        return []
    columns = ", ".join(f"{name} = %s" for name in terms)
    values = [as_stored(value) if isinstance(value, uuid.UUID) else value for value in terms.values()]
    position = "CASE id " + "WHEN %s THEN %s " * len(positions) + "END"
    return list(
        Assignment.objects.raw(
            f"UPDATE judgments_assignment SET {columns}, block_position = {position} "  # noqa: S608  names of ours
            f"WHERE id IN ({_places(positions)}) RETURNING *",
            [*values, *chain.from_iterable(positions.items()), *positions],
        )
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """What an assignment puts before its annotator: the prompt, and the candidates' texts in their order."""

    prompt: str
    category: str
    turns: Any
    texts: tuple[str | None, ...]


def shown_by(assignments: Sequence[Assignment]) -> dict[int, Shown]:
    """Assignment key -> what it shows."""
    if not assignments:
        return {}
    found = rows(
        "SELECT own.id, prompt.key, prompt.category, prompt.turns, "  # noqa: S608  numbers of ours
        "CASE WHEN reply.id IS NOT NULL THEN reply.text "
        "WHEN candidate.gold_side = 'A' THEN gold.text_a ELSE gold.text_b END "
        "FROM judgments_assignment own JOIN judgments_candidate candidate ON candidate.assignment_id = own.id "
        "JOIN judgments_place place ON place.id = own.place_id "
        "JOIN prompts_prompt prompt ON prompt.id = place.prompt_id "
        "LEFT JOIN chatbots_reply reply ON reply.id = candidate.reply_id "
        "LEFT JOIN campaigns_golditem gold ON gold.id = own.gold_id "
        f"WHERE own.id IN ({_places(assignments)}) ORDER BY own.id, candidate.position",
        [assignment.pk for assignment in assignments],
    )
    shown = {}
    for key, group in groupby(found, key=itemgetter(0)):
        candidates = list(group)
        _, prompt, category, turns, _ = candidates[0]
        texts = tuple(text for *_, text in candidates)
        shown[key] = Shown(prompt, category, None if turns is None else json.loads(turns), texts)
    return shown


def _places(values: Sized) -> str:
    return ", ".join(["%s"] * len(values))
