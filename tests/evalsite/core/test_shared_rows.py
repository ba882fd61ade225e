"""Shared rows that a process has built before are written again by their statements (tests/shared.py)."""

from typing import Any

import pytest
from django.db import connection, transaction

from evalsite.accounts.models import Membership, Organisation, User
from evalsite.accounts.services import user_create
from tests.environment import PRODUCTION
from tests.shared import Statement, sequences, write_again, written_into

pytestmark = [pytest.mark.django_db, pytest.mark.skipif(PRODUCTION, reason="PostgreSQL gives no id a second time")]


def rows() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (User, Organisation, Membership)]


def test_rows_written_again_are_those_that_were_built() -> None:
    statements: list[Statement] = []
    before = sequences()
    with transaction.atomic():
        with written_into(statements):
            user_create(username="alice", password="correct horse battery")
        built = rows()
        transaction.set_rollback(True)
    assert (rows(), sequences()) == ([[], [], []], before)
    write_again(statements)
    assert rows() == built
    assert len(built[0]) == len(built[1]) == len(built[2]) == 1


def test_queries_are_not_repeated() -> None:
    statements: list[Statement] = []
    with written_into(statements), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        User.objects.count()
    assert statements == []
