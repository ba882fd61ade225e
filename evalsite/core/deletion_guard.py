"""Protection of rows against deletion: the database refuses it without a permit.

A permit is a row of `core_permit`. The triggers look for it, and only its own transaction sees it. It references a row
that can never exist, so no commit succeeds while a permit exists: it is withdrawn, or the transaction is rolled back.
The table has no model, because Django's flush would empty it first and backups would include it.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.apps.registry import Apps
from django.db import connection
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from evalsite.core.db import SchemaStep, write_transaction

PERMITS = (
    "CREATE TABLE core_permit (id varchar(32) PRIMARY KEY CHECK (id <> 'never'), "
    "names varchar(32) NOT NULL DEFAULT 'never' CHECK (names = 'never') "
    "REFERENCES core_permit (id) DEFERRABLE INITIALLY DEFERRED)"
)
FORBID_DELETE = {
    "sqlite": (
        (
            "CREATE TRIGGER {table}_stays BEFORE DELETE ON {table} WHEN NOT EXISTS (SELECT 1 FROM core_permit) "
            "BEGIN SELECT RAISE(ABORT, 'rows of {table} stay: nothing but an erasure deletes them'); END"
        ),
    ),
    "postgresql": (
        (
            "CREATE OR REPLACE FUNCTION touchstone_refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$ "
            "BEGIN IF EXISTS (SELECT 1 FROM core_permit) THEN RETURN OLD; END IF; "
            "RAISE EXCEPTION 'rows of % stay: nothing but an erasure deletes them', TG_TABLE_NAME "
            "USING ERRCODE = 'integrity_constraint_violation'; END $$"
        ),
        (
            "CREATE TRIGGER {table}_stays BEFORE DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION touchstone_refuse_delete()"
        ),
    ),
}
ALLOW_DELETE = {
    "sqlite": "DROP TRIGGER IF EXISTS {table}_stays",
    "postgresql": "DROP TRIGGER IF EXISTS {table}_stays ON {table}",
}


def forbid_delete(table: str) -> SchemaStep:
    """Return a migration step that makes the database refuse to delete a row of `table` without a permit.

    As with `forbid_update`, a later migration that alters one of these tables must end with this step again.
    """

    def forward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        backward(apps, schema_editor)
        for statement in FORBID_DELETE[schema_editor.connection.vendor]:
            schema_editor.execute(statement.format(table=table), params=None)

    def backward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(ALLOW_DELETE[schema_editor.connection.vendor].format(table=table))

    return SchemaStep(forward, backward)


@contextmanager
def deletion_permitted() -> Iterator[None]:
    """Permit the deletion of immutable rows inside: for a promised erasure, or to empty the whole database.

    The texts of prompts and replies may be emptied, too (`forbid_update` with `erasable`).
    """
    permit = uuid.uuid4().hex
    with write_transaction(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO core_permit (id) VALUES (%s)", [permit])
        yield
        cursor.execute("DELETE FROM core_permit WHERE id = %s", [permit])
