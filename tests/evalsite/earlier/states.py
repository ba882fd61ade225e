"""Databases of earlier states: emptied, migrated to where a committed backup was made, filled, migrated on to today."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from django.apps.registry import Apps
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

FOLDER = Path(__file__).parent
MANIFEST = "manifest.json"
# Django fills these after each migration, by what models there are.
MADE_BY_MIGRATE = {"auth_permission", "django_content_type"}

Row = dict[str, Any]


def read(backup: Path) -> dict[str, list[Row]]:
    """Table -> its rows, as the backup has them."""
    with zipfile.ZipFile(backup) as archive:
        return {name.removesuffix(".jsonl"): _rows(archive, name) for name in archive.namelist() if name != MANIFEST}


def _rows(archive: zipfile.ZipFile, name: str) -> list[Row]:
    with archive.open(name) as binary, io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as lines:
        columns = json.loads(next(lines))
        return [dict(zip(columns, json.loads(line), strict=True)) for line in lines]


def migrations_of(backup: Path) -> set[tuple[str, str]]:
    """(app, name) of each that its database had."""
    with zipfile.ZipFile(backup) as archive:
        names: list[str] = json.loads(archive.read(MANIFEST))["migrations"]
    return {(app, name) for app, _, name in (one.partition(".") for one in names)}


def brought_forward(backup: Path) -> None:
    """Fill the empty database of this process with the backup, in the tables of its time; then migrate to today's."""
    filled(backup)
    call_command("migrate", verbosity=0, interactive=False)


def filled(backup: Path) -> None:
    """The empty database of this process has the tables of the backup's time, and its rows."""
    applied = migrations_of(backup)
    executor = MigrationExecutor(connection)
    graph = executor.loader.graph
    leaves = [node for node in applied if not any(child.key in applied for child in graph.node_map[node].children)]
    _fill(executor.migrate(leaves).apps, read(backup))
    ContentType.objects.clear_cache()


def migrated_to(app: str, name: str) -> Apps:
    """This process's database goes on as far as that; the models of that time."""
    return MigrationExecutor(connection).migrate([(app, name)]).apps


def _fill(apps: Apps, tables: dict[str, list[Row]]) -> None:
    """All rows at once: references are checked at the end, so their order does not matter."""
    models = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows in tables.items():
            fields = {field.attname: field for field in models[table]._meta.concrete_fields}
            made = ({name: fields[name].to_python(value) for name, value in row.items()} for row in rows)
            models[table]._base_manager.bulk_create([models[table](**one) for one in made], batch_size=500)
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models.values())):
            cursor.execute(statement)
