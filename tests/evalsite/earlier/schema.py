"""Write the schema of an empty migrated database as SQL: run it at the commit whose schema later ones are to update.

    TOUCHSTONE_DATA_DIR=$(mktemp -d) python -m tests.evalsite.earlier.schema tests/evalsite/earlier/<commit>

writes `<commit>.sqlite.sql`. With DATABASE_URL of an empty PostgreSQL database (and what production needs) it writes
`<commit>.postgresql.sql` by `pg_dump`. Rows, those of django_migrations too, stand in the backup beside them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import django

NEVER_LOADED = re.compile(r"(--.*|SET .*|SELECT pg_catalog.set_config.*|\\(un)?restrict .*|CREATE SCHEMA public;)?\n")


def main(stem: Path) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0, interactive=False)
    text = _sqlite() if connection.vendor == "sqlite" else _postgresql()
    stem.with_suffix(f".{connection.vendor}.sql").write_text(text, encoding="utf-8")


def _sqlite() -> str:
    """Tables first, then what belongs to them."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%%' ESCAPE '\\' "
            "ORDER BY type <> 'table', name"
        )
        return "".join(f"{statement};\n" for (statement,) in cursor.fetchall())


def _postgresql() -> str:
    """Without comments and settings, which differ from server to server."""
    command = ["pg_dump", "--schema-only", "--no-owner", "--no-privileges", os.environ["DATABASE_URL"]]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(line for line in dumped.splitlines(keepends=True) if not NEVER_LOADED.fullmatch(line))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
