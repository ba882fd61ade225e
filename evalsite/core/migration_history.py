"""Squashed migrations, and databases that have only some of the replaced ones.

An initial migration lists only the last replaced migration in its `replaces`. A database with the last one has all of
them, and nothing is left to do. A database with only some of them sees the initial migration as pending, and `manage.py
migrate` refuses it. If `replaces` listed all of them, Django would skip the initial migration there and report success.
"""

from collections.abc import Iterable

from django.db import migrations
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from evalsite.core.errors import Conflict

EARLIER = {
    "core": (
        "0001_squashed_0004_permit",
        "0005_turns_and_subjects",
        "0006_reason_codes",
    ),
    "accounts": (
        "0001_squashed_0004_mail_language",
        "0002_verified",
        "0003_token_last_use",
        "0004_setup_and_invitations",
        "0005_single_sign_on_identity",
    ),
    "prompts": (
        "0001_squashed_0003_facts_stay",
        "0002_erasable_texts",
    ),
    "chatbots": (
        "0001_squashed_0004_facts_stay",
        "0002_made_by",
        "0003_live_replies",
        "0004_covered_indexes",
        "0005_erasable_texts",
    ),
    "endpoints": (
        "0001_initial",
        "0002_call_budgets",
        "0003_live_requests",
    ),
    "campaigns": (
        "0001_squashed_0016_facts_stay",
        "0002_arrival_secret",
        "0003_onboarding",
        "0004_reason_codes",
        "0005_one_queue",
        "0006_call_budget",
        "0007_release_data",
        "0008_newcomer_budget",
        "0009_live_campaigns",
        "0010_single_replies",
        "0011_required_comments",
        "0012_selected_scope",
        "0013_static_counterparts",
        "0014_tiers",
        "0015_style_and_redundancy",
        "0016_reveal_chatbots",
        "0017_vetting_votes",
    ),
    "judgments": (
        "0001_squashed_0020_facts_stay",
        "0002_arrival_browser",
        "0003_newcomers",
        "0004_reason_codes",
        "0005_one_queue",
        "0006_live_turns",
        "0007_covered_indexes",
        "0008_network_traces",
        "0009_recognised",
        "0010_provisional",
    ),
    "dialogues": (
        "0001_initial",
        "0002_third_parties",
    ),
    "boards": (
        "0001_squashed_adaptive",
        "0002_content_types",
        "0003_reason_codes",
        "0004_live_reports",
        "0005_label_reports",
        "0006_boards_of_both_modes",
        "0007_boards_at_equal_style",
        "0008_public_log",
        "0009_looks",
    ),
    "refits": (
        "0001_squashed_adaptive",
        "0002_content_types",
        "0003_reason_codes",
    ),
    "operations": (
        "0001_squashed_adaptive",
        "0002_content_types",
    ),
    "scorecards": (
        "0001_conversation_sets",
        "0002_live_sets",
        "0003_annotations",
        "0004_annotation_size",
        "0005_whole_conversations",
        "0006_replies_of_samples",
    ),
    "submissions": ("0001_initial",),
    "webhooks": (
        "0001_initial",
        "0002_campaign_webhooks",
    ),
    "exchange": (
        "0001_squashed_0001_initial",
        "0002_covered_indexes",
    ),
}


class InitialMigration(migrations.Migration):
    """A migration of new tables only. It knows all its models before it creates the first table.

    Django renders the models that are related to a new one after each new model. An empty database has no rows that
    need the models of a step between, and rendering them once takes a third of the time.
    """

    def apply(
        self, project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, collect_sql: bool = False
    ) -> ProjectState:
        if collect_sql:
            return super().apply(project_state, schema_editor, collect_sql)
        project_state.__dict__.pop("apps", None)
        self.mutate_state(project_state, preserve=False)
        for operation in self.operations:
            operation.database_forwards(self.app_label, schema_editor, project_state, project_state)
        return project_state


def replaced(app: str) -> list[tuple[str, str]]:
    """Return the `replaces` of the app's initial migration."""
    return [(app, EARLIER[app][-1])]


def initial(app: str) -> tuple[str, str]:
    """Return the initial migration, as (app, name), that replaces all earlier ones of the app."""
    return (app, f"0001_squashed_{EARLIER[app][-1]}")


def squashed(names: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return migrations, as (app, name), with the initial one of each app in place of the replaced ones."""
    left = set(names)
    for app, earlier in EARLIER.items():
        if (app, earlier[-1]) in left:
            left = {one for one in left if one[0] != app or one[1] not in earlier} | {initial(app)}
    return left


def older_state_refuse(connection: BaseDatabaseWrapper) -> None:
    """Raise Conflict for a database that has migrations of an app but neither all replaced ones nor the initial one."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    for app, earlier in EARLIER.items():
        found = sorted(name for one, name in applied if one == app)
        if found and not {(app, earlier[-1]), initial(app)} & applied:
            raise Conflict(
                f"This database was made by an earlier version of Touchstone: {app} is at {found[-1]}, not at "
                f"{earlier[-1]}. Nothing was changed.",
                hint="Migrate it with the version of November 2026 (commit 9e9ac21b) first, or begin with a new one.",
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
