"""Databases as an earlier version left them: its schema, then its rows; and what a database consists of."""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from django.apps.registry import Apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from evalsite.core.migration_history import squashed

FOLDER = Path(__file__).parent
MANIFEST = "manifest.json"

Row = dict[str, Any]


def read(backup: Path) -> dict[str, list[Row]]:
    """Return the rows of each table, as the backup has them."""
    with zipfile.ZipFile(backup) as archive:
        return {name.removesuffix(".jsonl"): _rows(archive, name) for name in archive.namelist() if name != MANIFEST}


def _rows(archive: zipfile.ZipFile, name: str) -> list[Row]:
    with archive.open(name) as binary, io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as lines:
        columns = json.loads(next(lines))
        return [dict(zip(columns, json.loads(line), strict=True)) for line in lines]


def migrations_of(backup: Path) -> list[tuple[str, str]]:
    """Return the migrations that its database had, as (app, name)."""
    with zipfile.ZipFile(backup) as archive:
        names: list[str] = json.loads(archive.read(MANIFEST))["migrations"]
    return [(app, name) for app, _, name in (one.partition(".") for one in names)]


def fill(backup: Path) -> None:
    """Give the empty database of this process the schema of the backup's time, and all of its rows."""
    script = backup.with_suffix(f".{connection.vendor}.sql").read_text(encoding="utf-8")
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executescript(script)
        else:
            cursor.execute(script)
    recorder = MigrationRecorder(connection)
    for app, name in migrations_of(backup):
        recorder.record_applied(app, name)
    _fill(_models_then(backup), read(backup))
    ContentType.objects.clear_cache()


def _models_then(backup: Path) -> Apps:
    """Return the models of the backup's time."""
    loader = MigrationLoader(connection)
    had = squashed(migrations_of(backup))
    nodes = loader.graph.nodes
    return loader.project_state([node for node in nodes if node in had]).apps


def _fill(apps: Apps, tables: dict[str, list[Row]]) -> None:
    """Store all rows at once: references are checked at the end, so their order does not matter."""
    models = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    with transaction.atomic(), connection.cursor() as cursor:
        for table, rows in tables.items():
            fields = {field.attname: field for field in models[table]._meta.concrete_fields}
            made = ({name: fields[name].to_python(value) for name, value in row.items()} for row in rows)
            models[table]._base_manager.bulk_create([models[table](**one) for one in made], batch_size=500)
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models.values())):
            cursor.execute(statement)


# What a database consists of ----------------------------------------------------------------------------


def permissions() -> set[tuple[str, str, str, str]]:
    """Return (app, model, codename, name) of every permission."""
    rows = Permission.objects.values_list("content_type__app_label", "content_type__model", "codename", "name")
    return set(rows)


def structure() -> dict[str, set[str]]:
    """Return what stands in the schema by kind, in words that do not depend on the order in which it was made."""
    parts = _sqlite_parts() if connection.vendor == "sqlite" else _postgresql_parts()
    found: dict[str, set[str]] = {}
    for kind, text in parts:
        assert text not in found.setdefault(kind, set())
        found[kind].add(text)
    return found


def _sqlite_parts() -> list[tuple[str, str]]:
    parts = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        for kind, table, sql in cursor.fetchall():
            text = " ".join(sql.split())
            if kind == "table":
                body = text[text.index("(") + 1 : text.rindex(")")]
                parts += [("column or constraint", f"{table}: {one}") for one in _split(body)]
            else:
                parts.append((kind, text))
    return parts


def _split(body: str) -> list[str]:
    """Split at commas that stand in no parentheses and no text."""
    parts, depth = [""], 0
    for token in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|.", body):
        depth += (token == "(") - (token == ")")
        if token == "," and not depth:
            parts.append("")
        else:
            parts[-1] += token
    return [part.strip() for part in parts]


_POSTGRESQL = {
    "column": """
        SELECT concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod),
            CASE WHEN attnotnull THEN 'NOT NULL' END, 'identity=' || attidentity::text, pg_get_expr(adbin, adrelid))
        FROM pg_attribute
        JOIN pg_class ON pg_class.oid = attrelid AND relkind = 'r' AND relnamespace = 'public'::regnamespace
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE attnum > 0 AND NOT attisdropped
    """,
    "constraint": """
        SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype <> 't'
    """,
    "index": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "trigger": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "function": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "sequence": """
        SELECT concat_ws(' ', sequencename, data_type, start_value, increment_by, max_value, cycle)
        FROM pg_sequences WHERE schemaname = 'public'
    """,
}


def _postgresql_parts() -> list[tuple[str, str]]:
    parts = []
    with connection.cursor() as cursor:
        for kind, statement in _POSTGRESQL.items():
            cursor.execute(statement)
            parts += [(kind, _as_first_made(text)) for (text,) in cursor.fetchall()]
    return parts


def _as_first_made(text: str) -> str:
    """PostgreSQL writes the casts of a list of texts in another place once the list was dumped and loaded."""
    text = re.sub(r"\(('[^']*'::character varying)\)::text", r"\1", text)
    return " ".join(re.sub(r"\((ARRAY\[[^\]]*\])\)::text\[\]", r"\1", text).split())
