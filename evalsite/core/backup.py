"""Backup of the whole database in one portable file: SQLite to PostgreSQL and back.

The file is a ZIP archive with `manifest.json` and one `<table>.jsonl` for each table. The first line of a table names
the columns; each further line is a row. Rows are read and written one by one, so the data does not need to fit into
memory. The file contains hashes of passwords and tokens, so only its owner can read it.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import DataError, connection, models, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from evalsite.core.db import patient_statements, write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.migration_history import squashed

FORMAT = 1
CHUNK = 1000
MANIFEST = "manifest.json"
MADE_BY_MIGRATE: tuple[type[models.Model], ...] = (Permission, ContentType)  # replaced by the rows of the backup


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of a backup.

    `migrations` lists each applied migration as "app.name". `rows` maps each table to its number of rows.
    """

    migrations: tuple[str, ...]
    rows: Mapping[str, int]


def backup_write(path: Path) -> Manifest:
    """Write the current state of the database to a file.

    The service can keep running. A failed backup never leaves a partial file under the final name.
    """
    if path.exists():
        raise Conflict(f"{path} already exists.", hint="Choose another name: backups are never overwritten.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        handle = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    except OSError as error:
        raise InvalidInput(f"{partial} cannot be written ({error.strerror}).", hint="Choose another folder.") from error
    with os.fdopen(handle, "wb") as file:
        with consistent_snapshot(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            rows = {model._meta.db_table: _write_table(archive, model) for model in tables()}
            manifest = Manifest(_migrations(), rows)
            about = {"format": FORMAT, "made_at": timezone.now().isoformat()}
            archive.writestr(
                MANIFEST, json.dumps({**about, "migrations": manifest.migrations, "rows": dict(rows)}, indent=1)
            )
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    return manifest


def backup_read(path: Path) -> Manifest:
    """Load a backup into this empty, migrated database: everything or, after an error, nothing."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive)
            _check_same_schema(manifest)
            with patient_statements(), write_transaction():
                _check_empty()
                _load(archive, manifest)
    except (OSError, zipfile.BadZipFile, KeyError, ValueError) as error:
        raise InvalidInput(f"{path} is not a complete backup ({error}).", hint="Use another file.") from error
    ContentType.objects.clear_cache()
    return manifest


# Shared by backup and restore ---------------------------------------------------------------------------


def tables() -> list[type[models.Model]]:
    """Return every model with a table of its own, including many-to-many tables."""
    return [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]


def _fields(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return cast("list[models.Field[Any, Any]]", list(model._meta.concrete_fields))


def _migrations() -> tuple[str, ...]:
    return _migration_names(MigrationRecorder(connection).applied_migrations())


def _migration_names(migrations: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the migrations with each initial migration in place of the ones that it replaces.

    Whether a database records the replaced names depends on its history.
    """
    return tuple(sorted(f"{app}.{name}" for app, name in squashed(migrations)))


@contextmanager
def consistent_snapshot() -> Iterator[None]:
    """Read a consistent snapshot of the database without blocking writers."""
    if connection.vendor == "postgresql":
        with patient_statements(), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    # Not atomic(): an IMMEDIATE transaction would block writers until the last row is read.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("COMMIT")


# Backup -------------------------------------------------------------------------------------------------


def _write_table(archive: zipfile.ZipFile, model: type[models.Model]) -> int:
    """Write one table and return the number of rows."""
    names = [field.attname for field in _fields(model)]
    rows = model._base_manager.order_by("pk").values_list(*names)
    count = 0
    binary = archive.open(f"{model._meta.db_table}.jsonl", "w", force_zip64=True)
    with io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as text:
        text.write(json.dumps(names) + "\n")
        for row in rows.iterator(chunk_size=CHUNK):
            text.write(json.dumps(row, default=_to_json, ensure_ascii=False) + "\n")
            count += 1
    return count


def _to_json(value: Any) -> str:
    """Convert a value without a JSON form to text from which its field restores it exactly."""
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    if isinstance(value, UUID | Decimal):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"a backup cannot hold a {type(value).__name__}")


# Restore ------------------------------------------------------------------------------------------------


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    about = json.loads(archive.read(MANIFEST))
    if about["format"] != FORMAT:
        raise InvalidInput(f"The backup has format {about['format']}; this version reads {FORMAT}.")
    applied = [(app, name) for app, _, name in (one.partition(".") for one in about["migrations"])]
    return Manifest(_migration_names(applied), about["rows"])


def _check_same_schema(manifest: Manifest) -> None:
    different = sorted(set(manifest.migrations) ^ set(_migrations()))
    if different:
        raise Conflict(
            f"The backup was made by another version of Touchstone ({different[0]} differs).",
            hint="Restore it with the version that made it; then update and run `manage.py migrate`.",
        )


def _check_empty() -> None:
    for model in tables():
        if model not in MADE_BY_MIGRATE and model._base_manager.exists():
            raise Conflict(
                f"The database is not empty: {model._meta.db_table} has rows.",
                hint="Restore into a new data directory or database.",
            )


def _load(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    for model in MADE_BY_MIGRATE:
        model._base_manager.all()._raw_delete(connection.alias)
    for model in tables():
        table = model._meta.db_table
        count = _read_table(archive, model)
        if count != manifest.rows[table]:
            raise ValueError(f"{table} has {count} rows, not {manifest.rows[table]}")
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), tables()):
            cursor.execute(statement)


def _read_table(archive: zipfile.ZipFile, model: type[models.Model]) -> int:
    """Load one table and return the number of rows.

    The order of tables does not matter, because references are checked at the end of the transaction.
    """
    fields = {field.attname: field for field in _fields(model)}
    count = 0
    with archive.open(f"{model._meta.db_table}.jsonl") as binary, io.TextIOWrapper(binary, encoding="utf-8") as lines:
        names = json.loads(next(lines))
        rows = (zip(names, json.loads(line), strict=True) for line in lines)
        made = (model(**{name: _value(fields[name], value) for name, value in row}) for row in rows)
        while chunk := list(itertools.islice(made, CHUNK)):
            _insert(model, chunk, count)
            count += len(chunk)
    return count


def _insert(model: type[models.Model], chunk: list[models.Model], count: int) -> None:
    """Store rows that follow `count` others. Raises InvalidInput for the first row that this database cannot hold."""
    try:
        with transaction.atomic():
            model._base_manager.bulk_create(chunk, batch_size=CHUNK)
    except DataError as error:
        number = next((at for at, row in enumerate(chunk, count + 1) if not _can_store(row)), count + 1)
        raise InvalidInput(
            f"This database cannot hold row {number:,} of {model._meta.db_table} ({str(error).strip()}).",
            hint="Shorten it in the original database and make a new backup, or restore into SQLite.",
        ) from error


def _can_store(row: models.Model) -> bool:
    try:
        with transaction.atomic():
            type(row)._base_manager.bulk_create([row])
    except DataError:
        return False
    return True


def _value(field: models.Field[Any, Any], value: Any) -> Any:
    return value if value is None else field.to_python(value)
