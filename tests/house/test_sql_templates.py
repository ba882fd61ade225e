"""SQL templates are the same however the two databases spell a statement."""

from pathlib import Path

import pytest

from tests.house.sql_templates import compare, template

SAME = [
    ("SELECT a FROM t WHERE id IN (%s, %s)", "SELECT a FROM t WHERE id IN (%s)"),
    ("SELECT a FROM t WHERE id = %s", "SELECT a FROM t WHERE id = %s FOR NO KEY UPDATE"),
    ("SELECT a FROM t WHERE n = 7 LIMIT 21", "SELECT a FROM t WHERE n = %s::integer LIMIT 1"),
    ("SELECT a FROM t WHERE name = 'x'", "SELECT a FROM t WHERE name = 'it''s'"),
    ("INSERT INTO t (a, b) VALUES (%s, %s), (%s, NULL)", "INSERT INTO t (a, b) VALUES (%s, %s)"),
    ("INSERT INTO t (a) VALUES (%s)", "INSERT INTO t (a) SELECT * FROM UNNEST((%s)::integer[])"),
    ("INSERT OR IGNORE INTO t (a) VALUES (%s)", "INSERT INTO t (a) VALUES (%s) ON CONFLICT DO NOTHING"),
    ("SELECT a FROM t WHERE a LIKE %s ESCAPE '\\'", "SELECT a FROM t WHERE UPPER(a::text) LIKE UPPER(%s)"),
]


@pytest.mark.parametrize(("sqlite", "postgresql"), SAME)
def test_spellings_of_a_statement_are_one_template(sqlite: str, postgresql: str) -> None:
    assert template(sqlite) == template(postgresql) != ""


def test_other_columns_make_another_template() -> None:
    assert template("SELECT a FROM t WHERE id = %s") != template("SELECT b FROM t WHERE id = %s")


@pytest.mark.parametrize("sql", ['SAVEPOINT "s1"', "PRAGMA foreign_keys", "SELECT name FROM sqlite_master"])
def test_transactions_and_schema_are_left_out(sql: str) -> None:
    assert template(sql) == ""


def test_templates_of_one_run_only_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("SELECT ?\nDELETE FROM t\n")
    second.write_text("SELECT ?\n")
    assert compare(first, second) == [
        "only first.txt: DELETE FROM t",
        "in both: 1, only first.txt: 1, only second.txt: 0",
    ]
