"""Hand-written SQL of plans for the queue; claim_sql has that of claims."""

import uuid
from collections.abc import Sequence

from django.db import connection
from django.utils import timezone

from evalsite.core.db import as_stored, execute_for_rows, row_locks, rows
from evalsite.judgments.claim_sql import DRAW_LOCK, QUEUE_LOCK

AT_ONCE = 1_000  # rows of one INSERT: SQLite allows at most 32,766 values


def queue_lock(campaign: int) -> None:
    """Lock a campaign's queue exclusively until the transaction ends. Running claims finish first, and later ones wait.

    PostgreSQL grants locks in order of arrival, so many claims cannot delay a planner forever.
    """
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock({QUEUE_LOCK}, %s::integer)", [campaign])


def queue_share(campaign: int) -> None:
    """Share a campaign's queue, as a claim does, until the transaction ends. Excludes `queue_lock`."""
    if connection.vendor == "postgresql":
        rows(f"SELECT pg_advisory_xact_lock_shared({QUEUE_LOCK}, %s::integer)", [campaign])


def draw_lock(campaign: int, *, wait: bool) -> bool:
    """Lock the backlog of a campaign until the transaction ends, for one draw at a time. Return whether it is locked.

    Two simultaneous draws would not see each other's items, and could exceed the wanted votes. Only transactions that
    share the queue take this lock. None takes another lock afterwards that a draw could hold, which rules out
    deadlocks.
    """
    if connection.vendor != "postgresql":
        return True
    if wait:
        rows(f"SELECT pg_advisory_xact_lock({DRAW_LOCK}, %s::integer)", [campaign])
        return True
    ((mine,),) = rows(f"SELECT pg_try_advisory_xact_lock({DRAW_LOCK}, %s::integer)", [campaign])
    return bool(mine)


def queued_all(campaign: int, *, lock: bool = False) -> dict[int, str]:
    """Return the queued items of a campaign by key, oldest first.

    Ordered by `+id`: with an order by key, SQLite would read all assignments of the campaign.
    """
    found = rows(
        "SELECT id, item FROM judgments_assignment "  # noqa: S608
        "WHERE campaign_id = %s AND state = 'queued' ORDER BY +id" + (row_locks(" FOR UPDATE") if lock else ""),
        [campaign],
    )
    return dict(found)


def queued_withdraw(campaign: int, *, at_most: int | None = None) -> int:
    """Withdraw the oldest queued assignments, at most `at_most`, and return their number.

    The caller holds `queue_lock`.
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
    """Update queued assignments to another plan: (priority, purpose, probability, key).

    Runs one statement, or one short statement for each row. Django's statements for many rows take half a second to
    compose.
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


def _places_add(campaign: int, asked: Sequence[tuple[int, str]]) -> list[int]:
    """Add places for (prompt, item), and return their keys in the same order."""
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
    execute_for_rows(
        f"{columns} SELECT %s, %s::uuid, %s, %s, %s, given.*, {fixed} FROM {{given}}",  # noqa: S608  our names
        f"{columns} VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {fixed})",
        origin,
        [(as_stored(uuid.uuid4()), place, *one) for place, (_, *one) in zip(places, planned, strict=True)],
        ("uuid", "bigint", "text", "integer", "text", "double precision"),
    )
