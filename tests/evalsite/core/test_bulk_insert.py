"""Rows that are inserted in bulk are those that the ORM would have written."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import connection, connections, transaction

from evalsite.core.bulk_insert import keys_reserve, rows_insert, rows_prepare
from evalsite.judgments.models import Annotator, AnnotatorIdentity

pytestmark = [pytest.mark.django_db, pytest.mark.database]

KIND = {"kind": Annotator.Kind.UNKNOWN.value}


def test_keys_that_wait_for_their_rows_are_not_reserved_again() -> None:
    first, second = keys_reserve(Annotator, 3), keys_reserve(Annotator, 2)
    rows_prepare(connections[connection.alias], Annotator, second, same=KIND).insert()
    third = rows_insert(Annotator, 2, same=KIND)
    assert len({*first, *second, *third}) == 7
    assert {*Annotator.objects.values_list("pk", flat=True)} >= {*second, *third}


def test_rows_prepared_by_another_thread_are_inserted_here() -> None:
    keys, database = keys_reserve(Annotator, 2), connections[connection.alias]
    prepared = []
    thread = threading.Thread(target=lambda: prepared.append(rows_prepare(database, Annotator, keys, same=KIND)))
    thread.start()
    thread.join()
    prepared[0].insert()
    assert list(Annotator.objects.filter(pk__in=keys).order_by("pk").values_list("pk", flat=True)) == keys


def test_names_of_any_signs_are_stored_as_they_are() -> None:
    names = ["a\tb", "back\\slash", "two\nlines", "\\N", "ö 漢"]
    people = rows_insert(Annotator, len(names), same=KIND)
    rows_insert(AnnotatorIdentity, len(names), same={"source": "file"}, annotator_id=people, external_id=names)
    stored = dict(AnnotatorIdentity.objects.values_list("annotator_id", "external_id"))
    assert [stored[key] for key in people] == names


def test_public_ids_are_random_ones_of_version_4() -> None:
    keys = rows_insert(Annotator, 50, same=KIND)
    found = set(Annotator.objects.filter(pk__in=keys).values_list("public_id", flat=True))
    assert len(found) == 50
    assert {one.version for one in found} == {4}
    assert {one.variant for one in found} == {uuid.RFC_4122}


def test_no_rows_give_no_keys() -> None:
    with transaction.atomic():
        assert rows_insert(Annotator, 0, same=KIND) == []
