"""What a plan asks of the database for its queue, written by hand as in statements.py."""

import uuid
from collections.abc import Sequence

from django.db import connection
from django.utils import timezone

from evalsite.core.db import as_stored, for_each, row_locks, rows
from evalsite.judgments.claim_sql import DRAW_LOCK, QUEUE_LOCK

AT_ONCE = 1_000  # rows of one INSERT: SQLite may take no more than 32,766 values


def queue_lock(campaign: int) -> None:
    """Have a campaign's queue to oneself until the transaction ends: claims under way are waited for, later ones wait.

    PostgreSQL lets in those who wait in their order, so that many who claim keep nobody from planning.
    """
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock({QUEUE_LOCK}, %s::integer)", [campaign])


def queue_share(campaign: int) -> None:
    """Hold a campaign's queue as a claim does, until the transaction ends: who has it to himself waits, or is waited
    for."""
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock_shared({QUEUE_LOCK}, %s::integer)", [campaign])


def draw_lock(campaign: int, *, wait: bool) -> bool:
    """Be the only one who draws on what is behind a campaign's queue, until the transaction ends; whether one is.

    Two who draw at once would not see each other's asks, and together ask an item too often. Whoever shares the queue
    may take this lock, and none takes another one after it that a drawer could hold.
    """
    if connection.vendor != "postgresql":
        return True
    if wait:
        rows(f"SELECT pg_advisory_xact_lock({DRAW_LOCK}, %s::integer)", [campaign])
        return True
    ((mine,),) = rows(f"SELECT pg_try_advisory_xact_lock({DRAW_LOCK}, %s::integer)", [campaign])
    return bool(mine)


def queued_all(campaign: int, *, lock: bool = False) -> dict[int, str]:
    """Everything that waits in a campaign's queue: key -> item, the oldest first.

    By `+id`: for rows in the order of a key, SQLite would look through all that the campaign has ever asked.
    """
    found = rows(
        "SELECT id, item FROM judgments_assignment "  # noqa: S608
        "WHERE campaign_id = %s AND state = 'queued' ORDER BY +id" + (row_locks(" FOR UPDATE") if lock else ""),
        [campaign],
    )
    return dict(found)


def queued_withdraw(campaign: int, *, at_most: int | None = None) -> int:
    """Withdraw what waits in a campaign's queue, `at_most` so many of the oldest; how many they were.

    Whoever calls has the queue to himself (`queue_lock`).
    """
    limit = "" if at_most is None else f"LIMIT {at_most:d}"
    found = rows(
        "UPDATE judgments_assignment SET state = 'withdrawn', closed_at = %s WHERE state = 'queued' AND id IN "  # noqa: S608
        "(SELECT id FROM judgments_assignment WHERE campaign_id = %s AND state = 'queued' "
        f"ORDER BY +id {limit}{row_locks(' FOR UPDATE')}) RETURNING id",
        [as_stored(timezone.now()), campaign],
    )
    return len(found)


def queued_replan(
    planned: Sequence[tuple[int, str, float, int]], *, policy: str, snapshot: uuid.UUID | None, plan_seed: int
) -> None:
    """Give assignments their places in another plan, those that are queued: (priority, purpose, probability, key).

    All in one statement, or one short statement for each: those that Django makes of many rows at once take half a
    second to compose.
    """
    origin = (policy, as_stored(snapshot), plan_seed)
    for_each(
        "UPDATE judgments_assignment SET policy = %s, snapshot = %s, plan_seed = %s, "
        "priority = given.a, purpose = given.b, probability = given.c FROM {given} "
        "WHERE id = given.d AND state = 'queued'",
        "UPDATE judgments_assignment SET policy = %s, snapshot = %s, plan_seed = %s, "
        "priority = %s, purpose = %s, probability = %s WHERE id = %s AND state = 'queued'",
        origin,
        planned,
        ("integer", "text", "double precision", "bigint"),
    )


def _places_add(campaign: int, asked: Sequence[tuple[int, str]]) -> list[int]:
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
    """Queue new assignments, each with a place of its own: (prompt, item, priority, purpose, probability)."""
    places = _places_add(campaign, [(prompt, item) for prompt, item, *_ in planned])
    origin = (policy, as_stored(snapshot), plan_seed, as_stored(timezone.now()), campaign)
    columns = (
        "INSERT INTO judgments_assignment (policy, snapshot, plan_seed, queued_at, campaign_id, public_id, place_id, "
        "item, priority, purpose, probability, state, source, order_known, block_position, pay_rate, currency, "
        "pay_per)"
    )
    fixed = "'queued', 'plan', TRUE, 0, 0, '', 'judgment'"
    for_each(
        f"{columns} SELECT %s, %s::uuid, %s, %s, %s, given.*, {fixed} FROM {{given}}",  # noqa: S608  names of ours
        f"{columns} VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {fixed})",
        origin,
        [(as_stored(uuid.uuid4()), place, *one) for place, (_, *one) in zip(places, planned, strict=True)],
        ("uuid", "bigint", "text", "integer", "text", "double precision"),
    )
