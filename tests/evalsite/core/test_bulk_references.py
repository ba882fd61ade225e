"""Foreign keys of many new rows are checked together, or row by row: no row refers to nothing."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from evalsite.core.bulk_insert import rows_insert
from evalsite.core.bulk_references import references_check, references_together
from evalsite.judgments.models import Annotator, AnnotatorIdentity

pytestmark = [pytest.mark.django_db, pytest.mark.database]
NOBODY = 2_000_000_000


def identities(*annotators: int) -> list[int]:
    names = [f"person {annotator}" for annotator in annotators]
    return rows_insert(
        AnnotatorIdentity, len(names), same={"source": "file"}, annotator_id=list(annotators), external_id=names
    )


def test_new_row_without_its_target_is_found() -> None:
    (person,) = rows_insert(Annotator, 1)
    savepoint = transaction.savepoint()
    first, _second = identities(person, NOBODY)
    with pytest.raises(IntegrityError, match=f"annotator_id: there is no row {NOBODY}"):
        references_check(AnnotatorIdentity, after=first - 1)
    transaction.savepoint_rollback(savepoint)


def test_whole_rows_and_earlier_ones_pass() -> None:
    (person,) = rows_insert(Annotator, 1)
    last = identities(person)[-1]
    references_check(AnnotatorIdentity, after=last - 1)
    references_check(Annotator, after=0)
    savepoint = transaction.savepoint()
    references_check(AnnotatorIdentity, after=identities(NOBODY)[-1])
    transaction.savepoint_rollback(savepoint)
    assert AnnotatorIdentity.objects.count() == 1


def test_rows_of_a_block_refer_to_each_other() -> None:
    with transaction.atomic(), references_together([Annotator, AnnotatorIdentity]):
        identities(*rows_insert(Annotator, 3))
    assert AnnotatorIdentity.objects.filter(annotator__isnull=False).count() == 3


@pytest.mark.parametrize("fails", [False, True])
def test_triggers_work_again_after_a_block(fails: bool) -> None:
    if connection.vendor != "postgresql":
        assert connection.vendor == "sqlite", "which has no such setting"
        return
    try:
        with transaction.atomic(), references_together([Annotator]):
            rows_insert(Annotator, 1)
            assert not fails, "an error inside of the block"
    except AssertionError:
        assert fails
    with connection.cursor() as cursor:
        cursor.execute("SHOW session_replication_role")
        assert cursor.fetchone() == ("origin",)
