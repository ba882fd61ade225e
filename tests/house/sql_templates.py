"""Record which SQL templates a test run executes, and compare two runs.

    TEST_SQL_REPORT=sqlite.txt python -m pytest -p tests.house.sql_templates tests/evalsite
    TEST_SQL_REPORT=postgresql.txt TEST_FORM=production python -m pytest -p tests.house.sql_templates tests/evalsite
    python -m tests.house.sql_templates sqlite.txt postgresql.txt

A template is a statement without its values: parameters and literals are `?`, lists of values are one `?`, and what
the two databases spell differently (casts, row locks, case-insensitive comparison) is left out. Each process of a run
appends its templates to the file.
"""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.signals import connection_created

REPORT = os.environ.get("TEST_SQL_REPORT", "")
# Transactions and settings of the connection, questions about the schema, and how a database is emptied and filled.
LEFT_OUT = re.compile(
    r"(SAVEPOINT|RELEASE|ROLLBACK|BEGIN|COMMIT|PRAGMA|EXPLAIN|SET|RESET|VACUUM|ANALYZE|CREATE|ALTER|DROP|TRUNCATE|DO)\b"
    r"|SELECT setval\(|DELETE FROM \"\w+\"$"
    r"|.*\b(sqlite_master|sqlite_sequence|pg_catalog|pg_class|pg_prepared_statements|information_schema)\b",
    re.IGNORECASE,
)
VALUE = r"(?:\?|NULL|DEFAULT)"
STEPS: tuple[tuple[str, str], ...] = (
    (r"\s+", " "),
    (r" ESCAPE '\\'", ""),
    (r"'(?:[^']|'')*'", "?"),
    (r"%s|%\(\w+\)s", "?"),
    (r"::[a-z]+(?:\(\d+\))?(?:\[\])?", ""),
    (r"(?<![\w\".])\d+(?:\.\d+)?\b", "?"),
    (r" FOR (?:NO KEY )?UPDATE(?: OF [\w\", .]+?)?(?: SKIP LOCKED| NOWAIT)?(?=$|[ )])", ""),
    (r"INSERT OR IGNORE INTO", "INSERT INTO"),
    (r" ON CONFLICT DO NOTHING", ""),
    (r"\bGREATEST\(", "MAX("),
    (r"\bLEAST\(", "MIN("),
    (r"\b(?:UPPER|LOWER)\(([^()]*)\)", r"\1"),
    (r"\((\?)\)(?!,)", r"\1"),
    (rf"\({VALUE}(?:, {VALUE})*\)(?:, \({VALUE}(?:, {VALUE})*\))*", "(?)"),
    (r"SELECT \* FROM UNNEST\([^()]*(?:\([^()]*\)[^()]*)*\)", "VALUES (?)"),
    (rf"\bIN (?:{VALUE}(?!\w)|\({VALUE}(?:, {VALUE})*\))", "IN (?)"),
    (r"\bVALUES \?", "VALUES (?)"),
    (r'SAVEPOINT "\w+"', "SAVEPOINT"),
)


def template(sql: str) -> str:
    """Return the statement without its values; the empty text for one that is not compared."""
    text = sql.strip().rstrip(";")
    if LEFT_OUT.match(text.replace("\n", " ")):
        return ""
    for pattern, by in STEPS:
        text = re.sub(pattern, by, text)
    return text.strip()


class Recorder:
    """The plugin: listens to every connection of this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: set[str] = set()
        self._seen: set[str] = set()  # statements as they were sent: most come again
        connection_created.connect(self._listen)

    def _listen(self, connection: Any, **_: Any) -> None:
        if self._record not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._record)

    def _record(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(sql, str) and sql not in self._seen:
            self._seen.add(sql)
            self.found.add(template(sql))
        return execute(sql, params, many, context)

    def pytest_sessionfinish(self) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{one}\n" for one in sorted(self.found - {""}))


def pytest_configure(config: pytest.Config) -> None:
    if REPORT:
        config.pluginmanager.register(Recorder(Path(REPORT)), "sql-templates")


def compare(first: Path, second: Path) -> list[str]:
    """Return a line for each template that only one of two runs has executed."""
    one, other = (set(path.read_text(encoding="utf-8").splitlines()) for path in (first, second))
    return [
        *(f"only {first.name}: {sql}" for sql in sorted(one - other)),
        *(f"only {second.name}: {sql}" for sql in sorted(other - one)),
        f"in both: {len(one & other)}, only {first.name}: {len(one - other)}, only {second.name}: {len(other - one)}",
    ]


if __name__ == "__main__":
    print("\n".join(compare(Path(sys.argv[1]), Path(sys.argv[2]))))  # noqa: T201
