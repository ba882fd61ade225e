"""The template databases of tests: equal to what migrations make, and never used half made."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from tests import templates
from tests.databases import connected, empty_postgresql, empty_sqlite
from tests.environment import PRODUCTION

SCHEMA = {
    "sqlite": ["SELECT type, name, sql FROM sqlite_master ORDER BY type, name"],
    "postgresql": [
        """SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
        WHERE table_schema = 'public' ORDER BY table_name, column_name""",
        """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2""",
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
        "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname",
    ],
}


def schema() -> list[Any]:
    """Return the tables, indexes, constraints and triggers of this process's database, and its migrations."""
    found: list[Any] = []
    with connection.cursor() as cursor:
        for query in [*SCHEMA[connection.vendor], "SELECT app, name FROM django_migrations ORDER BY app, name"]:
            cursor.execute(query)
            found += cursor.fetchall()
    return found


def rows() -> dict[str, Any]:
    """Return how many rows each table has, and the permissions, which refer to all content types."""
    counts: dict[str, Any] = {model._meta.label: model._default_manager.count() for model in apps.get_models()}
    permissions = apps.get_model("auth", "Permission").objects.order_by("content_type__model", "codename")
    named = permissions.values_list("content_type__app_label", "content_type__model", "codename")
    return counts | {"permissions": list(named)}


@pytest.mark.database
def test_template_equals_what_migrating_from_zero_makes(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> None:
    """The one test of each database that migrates from zero."""
    empty = empty_postgresql() if PRODUCTION else empty_sqlite(tmp_path)
    migrated = templates.migrated_postgresql() if PRODUCTION else templates.migrated_sqlite(tmp_path)
    with django_db_blocker.unblock():
        with empty as database, connected(database):
            call_command("migrate", verbosity=0, interactive=False)
            expected, expected_rows = schema(), rows()
        with migrated as database, connected(database):
            assert schema() == expected
            assert rows() == expected_rows
    assert any("TRIGGER" in str(row) for row in expected)
    assert expected_rows["permissions"]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where templates were made, in a cache of the test's own; each is a database with one table."""
    folders: list[Path] = []

    def migrate(folder: Path) -> None:
        folders.append(folder)
        with closing(connect(folder / templates.FILE)) as database:
            database.execute("CREATE TABLE whole (id)")

    monkeypatch.setattr(templates, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(templates, "migrate", migrate)
    return folders


def tables(file: Path) -> list[str]:
    with closing(connect(file)) as database:
        return [name for (name,) in database.execute("SELECT name FROM sqlite_master")]


def test_template_is_made_once_by_those_who_want_it_together(made: list[Path], tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        files = list(pool.map(templates.seed, [tmp_path / str(number) for number in range(4)]))
    assert [tables(file) for file in files] == [["whole"]] * 4
    assert len(made) == 1


def test_half_made_template_is_not_used(made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks_off(folder: Path) -> None:
        (folder / templates.FILE).write_bytes(b"half")
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(templates, "migrate", breaks_off)
        with pytest.raises(RuntimeError):
            templates.seed(tmp_path / "first")
    assert tables(templates.seed(tmp_path / "second")) == ["whole"]


def test_other_migrations_have_another_template(
    made: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates.seed(tmp_path / "first")
    monkeypatch.setattr(templates, "state", lambda: "another")
    templates.seed(tmp_path / "second")
    assert len(made) == 2


def test_database_that_a_site_has_is_left_alone(made: list[Path], tmp_path: Path) -> None:
    (tmp_path / templates.FILE).write_bytes(b"its own")
    assert templates.seed(tmp_path).read_bytes() == b"its own"
    assert made == []
