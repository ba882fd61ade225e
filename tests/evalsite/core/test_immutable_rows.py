"""What is a fact is neither changed nor deleted, whoever asks: the database itself refuses."""

import threading
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet

from evalsite.boards.models import Decision, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply, Version
from evalsite.core.db import write_transaction
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.judgments.models import Annotator, Answer, Candidate, Judgment
from evalsite.prompts.models import Prompt
from tests.evalsite.cast import judge, run_jobs
from tests.processes import ROOT

pytestmark = pytest.mark.database

IMMUTABLE = {
    "core_auditentry",
    "campaigns_retirement",
    "campaigns_golditem",
    "campaigns_goldwithdrawal",
    "prompts_prompt",
    "campaigns_aspect",
    "chatbots_version",
    "chatbots_reply",
    "endpoints_call",
    "judgments_candidate",
    "judgments_judgment",
    "judgments_answer",
    "judgments_judgmentreason",
    "judgments_skip",
    "judgments_exclusion",
    "judgments_payment",
    "judgments_bonus",
    "adaptive_snapshot",
    "adaptive_decision",
    "boards_publiclogentry",
    "boards_publiclogcontent",
    "dialogues_continuation",
    "submissions_submissionevent",
}


STAYING = IMMUTABLE - {"campaigns_aspect"}  # what a draft asks is written anew; what was answered holds its aspect


@pytest.mark.django_db
@pytest.mark.parametrize(("kind", "tables"), [("UPDATE", IMMUTABLE), ("DELETE", STAYING)])
def test_every_table_of_facts_has_its_triggers(kind: str, tables: set[str]) -> None:
    query = {
        "sqlite": "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND INSTR(sql, ' BEFORE ' || %s || ' ')",
        "postgresql": "SELECT event_object_table FROM information_schema.triggers WHERE event_manipulation = %s",
    }[connection.vendor]
    with connection.cursor() as cursor:
        cursor.execute(query, [kind])
        assert {row[0] for row in cursor.fetchall()} == tables


def test_a_judgment_and_what_it_rests_on_cannot_be_edited(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    changes: list[tuple[QuerySet, dict[str, Any]]] = [
        (Judgment.objects.all(), {"late": True}),
        (Answer.objects.all(), {"value": "tie"}),
        (Reply.objects.all(), {"text": "better"}),
        (Prompt.objects.all(), {"category": "other"}),
        (Version.objects.all(), {"label": "2"}),
    ]
    for rows, change in changes:
        assert rows.exists()
        with pytest.raises(IntegrityError, match="immutable"), transaction.atomic():
            rows.update(**change)


def test_no_fact_is_deleted_whoever_asks(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob, blocks=4)
    run_jobs()
    for kind in (Answer, Judgment, Candidate, Reply, Version, Prompt, Decision, Snapshot):
        rows = kind._base_manager.all()
        before = rows.count()
        assert before, kind
        with pytest.raises(IntegrityError, match="stay"), transaction.atomic():
            rows._raw_delete(connection.alias)  # as SQL does: the ORM would name what leads there
        assert rows.count() == before


def test_a_permit_is_over_with_what_it_was_for(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    with deletion_permitted():
        Answer.objects.all()[0].delete()
    with pytest.raises(IntegrityError, match="stay"), transaction.atomic():
        Answer.objects.all().delete()
    assert Answer.objects.count() == 2


def test_rollback_restores_deleted_rows_and_withdraws_the_permit(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    with pytest.raises(LookupError), deletion_permitted():
        _delete_and_break_off()
    with pytest.raises(IntegrityError, match="stay"), transaction.atomic():
        Answer.objects.all().delete()
    assert Answer.objects.count() == 3


def _delete_and_break_off() -> None:
    Answer.objects.all().delete()
    raise LookupError


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "rows", ["('a', 'never')", "('a', 'a')", "('never', 'never')", "('a', 'b'), ('b', 'a')", "('a', NULL)"]
)
def test_no_transaction_ends_with_a_permit(rows: str) -> None:
    """Written by hand and forgotten, it would be one for everybody from then on."""
    with pytest.raises(IntegrityError), write_transaction(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO core_permit (id, names) VALUES {rows}")  # noqa: S608  rows of ours
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM core_permit")
        assert cursor.fetchone() == (0,)


@pytest.mark.skipif(connection.vendor == "sqlite", reason="who writes has SQLite alone")
@pytest.mark.django_db(transaction=True)
def test_nobody_deletes_by_the_permit_of_another(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    refused: list[Exception] = []

    def elsewhere() -> None:
        try:
            Answer.objects.all().delete()
        except IntegrityError as error:
            refused.append(error)
        connection.close()

    with deletion_permitted():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert Answer.objects.count() == 3


def test_only_erasures_and_flush_get_deletion_permits() -> None:
    users = {path.name for path in (ROOT / "evalsite").rglob("*.py") if "deletion_permitted()" in path.read_text()}
    assert users == {"deletion_guard.py", "flush.py", "judgment_removal.py", "public_log.py", "third_parties.py"}


@pytest.mark.django_db(transaction=True)
def test_the_whole_database_can_be_emptied(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    call_command("flush", interactive=False, verbosity=0)
    assert not Judgment.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("answer", "left"), [("yes", 0), ("y", 3), ("", 3)])
def test_who_empties_it_is_asked_first_while_everybody_may_write(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    judge(campaign, bob)
    asked: list[bool] = []

    def answers(question: str) -> str:
        assert f"every row of {connection.settings_dict['NAME']}" in question
        asked.append(connection.in_atomic_block)
        return answer

    monkeypatch.setattr("builtins.input", answers)
    call_command("flush", verbosity=0)
    assert asked == [False]
    assert Judgment.objects.count() == left
