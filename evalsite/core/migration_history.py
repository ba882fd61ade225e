"""Squashed migrations, and databases that have only some of the replaced ones.

An initial migration lists only the last replaced migration in its `replaces`. A database with the last one has all of
them, and nothing is left to do. A database with only some of them sees the initial migration as pending, and `manage.py
migrate` refuses it. If `replaces` listed all of them, Django would skip the initial migration there and report success.
"""

from collections.abc import Iterable, Mapping

from django.db import migrations
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import StateApps

from evalsite.core.errors import Conflict

EARLIER = {
    "core": (
        "0001_initial",
        "0002_idempotency_key",
        "0003_audit_inquiry_upload",
        "0004_permit",
    ),
    "accounts": (
        "0001_initial",
        "0002_api_token",
        "0003_names_forgotten",
        "0004_mail_language",
    ),
    "prompts": (
        "0001_initial",
        "0002_immutable",
        "0003_facts_stay",
    ),
    "chatbots": (
        "0001_initial",
        "0002_immutable",
        "0003_replies_without_text",
        "0004_facts_stay",
    ),
    "campaigns": (
        "0001_initial",
        "0002_immutable",
        "0003_plan",
        "0004_screening",
        "0005_reception",
        "0006_roles_and_retirements",
        "0007_shows_prompts",
        "0008_stopping",
        "0009_pilot",
        "0010_gold",
        "0011_pay_per",
        "0012_plan_follows_the_aim",
        "0013_shows_replies",
        "0014_fits_known_ties",
        "0015_erasure",
        "0016_facts_stay",
    ),
    "judgments": (
        "0001_initial",
        "0002_immutable",
        "0003_plan_seed",
        "0004_proposals",
        "0005_arrivals",
        "0006_reasons",
        "0007_payment",
        "0008_identities_by_campaign",
        "0009_past_worker",
        "0010_arrival_counts_from",
        "0011_gold",
        "0012_payments",
        "0013_stewardship",
        "0014_indexes_that_add_up",
        "0015_batch_size",
        "0016_queue_in_its_order",
        "0017_over_quota",
        "0018_removal",
        "0019_reserve",
        "0020_facts_stay",
    ),
    "adaptive": (
        "0001_initial",
        "0002_immutable",
        "0003_record",
        "0004_alarm",
        "0005_findings",
        "0006_slices",
        "0007_full_check",
        "0008_notices",
        "0009_gold_findings",
        "0010_notice_facts",
        "0011_notice_of_reach",
        "0012_facts_stay",
    ),
    "exchange": ("0001_initial",),
}
SPLIT = {"adaptive": ("boards", "refits", "operations")}  # split apps; the new apps kept the tables


def replaced(app: str) -> list[tuple[str, str]]:
    """Return the `replaces` of the app's initial migration."""
    return [(app, EARLIER[app][-1])]


def initial(app: str) -> tuple[tuple[str, str], ...]:
    """Return the initial migrations, as (app, name), that replace all earlier ones of the app."""
    if app in SPLIT:
        return tuple((part, f"0001_squashed_{app}") for part in SPLIT[app])
    return ((app, f"0001_squashed_{EARLIER[app][-1]}"),)


def content_types_move(old: str, new: str, models: Mapping[str, str]) -> migrations.RunPython:
    """Return the operation that moves models of the app `old` to `new`, with permissions and log entries.

    `models` maps each earlier model name in lower case to the present verbose name.
    """

    def move(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        kinds = apps.get_model("contenttypes", "ContentType").objects.using(editor.connection.alias)
        for earlier, verbose in models.items():
            present = verbose.replace(" ", "")
            for kind in kinds.filter(app_label=old, model=earlier):
                kinds.filter(pk=kind.pk).update(app_label=new, model=present)
                for permission in kind.permission_set.all():
                    action = permission.codename.removesuffix(f"_{earlier}")
                    permission.codename, permission.name = f"{action}_{present}", f"Can {action} {verbose}"
                    permission.save(update_fields=["codename", "name"])

    return migrations.RunPython(move, migrations.RunPython.noop)


def content_type_forget(app: str, model: str) -> migrations.RunPython:
    """Return the operation that deletes the content type of a model that was dropped, with its permissions."""

    def forget(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
        kinds = apps.get_model("contenttypes", "ContentType").objects.using(editor.connection.alias)
        kinds.filter(app_label=app, model=model).delete()

    return migrations.RunPython(forget, migrations.RunPython.noop)


def squashed(names: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return migrations, as (app, name), with the initial one of each app in place of the replaced ones."""
    left = set(names)
    for app, earlier in EARLIER.items():
        if (app, earlier[-1]) in left:
            left = left - {(app, name) for name in (*earlier, f"0001_squashed_{earlier[-1]}")} | set(initial(app))
    return left


def older_state_refuse(connection: BaseDatabaseWrapper) -> None:
    """Raise Conflict for a database that has some of an app's replaced migrations but not the last one."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    for app, earlier in EARLIER.items():
        found = [name for name in earlier if (app, name) in applied]
        if found and earlier[-1] not in found:
            raise Conflict(
                f"This database was made by an earlier version of Touchstone: {app} is at {found[-1]}, not at "
                f"{earlier[-1]}. Nothing was changed.",
                hint="Migrate it with the version of November 2026 (commit 8a345b9) first, or begin with a new one.",
            )


def migrations_pending(connection: BaseDatabaseWrapper) -> int:
    """Return how many migrations of this code the database lacks."""
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def pending_refuse(connection: BaseDatabaseWrapper) -> None:
    """Raise Conflict for a database with pending migrations."""
    pending = migrations_pending(connection)
    if pending:
        raise Conflict(f"The database lacks {pending} migrations of this version.", hint="Run `manage.py migrate`.")
