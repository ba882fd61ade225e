"""`manage.py import_conversations`: every row or none, once, and erasable."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from evalsite.core.models import Job
from evalsite.scorecards.models import ConversationSet, ImportedConversation, ImportedRating
from evalsite.scorecards.services import SCORECARD_JOB

pytestmark = pytest.mark.django_db
TURNS = [{"speaker": "user", "text": "hi"}, {"speaker": "chatbot", "text": "hello"}]


def talk(name: str = "c1", **more: Any) -> dict[str, Any]:
    return {"conversation_id": name, "chatbot": "Ada", "turns": TURNS, **more}


def written(folder: Path, *rows: Any, name: str = "talks.jsonl") -> Path:
    path = folder / name
    path.write_bytes(b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows))
    return path


def run(*arguments: Any, **options: Any) -> str:
    out = StringIO()
    call_command("import_conversations", *map(str, arguments), stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def refused(*arguments: Any) -> list[dict[str, Any]]:
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("import_conversations", *map(str, arguments), "--json", stdout=out, stderr=StringIO())
    assert error.value.returncode == 2
    return [problem for file in json.loads(out.getvalue()) for problem in file["problems"]]


def test_conversations_come_with_ratings_and_a_scorecard_is_queued(tmp_path: Path) -> None:
    more: dict[str, Any] = {"user_id": "u1", "rating": 4, "feedback": "nice", "started_at": "2026-05-01T10:00:00Z"}
    run(written(tmp_path, talk(**more)))
    found = ImportedConversation.objects.get()
    assert (found.key, found.chatbot, found.user_key, found.replies, found.feedback) == ("c1", "Ada", "u1", 1, "nice")
    assert found.conversation_set.name == "talks"
    assert (found.ratings.get().criterion, found.ratings.get().value) == ("rating", 4)
    assert Job.objects.filter(kind=SCORECARD_JOB).count() == 1


def test_importing_again_changes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, talk(rating=4), talk("c2"))
    run(path)
    assert "0 added, 2 unchanged" in run(path)
    assert ImportedRating.objects.count() == 1


LAYOUTS: dict[str, Any] = {
    "dstc9": {"prompt_id": "d1", "system": "Ada", "turns": ["User: hi", "System: hello", "more of it", ""]},
    "conture": {"prompt_id": "d1", "system": "Ada", "turns": ["User: hi", "Chatbot: hello"]},
    "fed": {"prompt_id": "d1", "system": "Ada", "level": "turn", "text": "User: hi\nSystem: hello"},
    "acute": {
        "dialogue_dicts": [
            {
                "id": "d1",
                "speakers": ["human_evaluator", "Ada"],
                "dialogue": [{"id": "human_evaluator", "text": "hi"}, {"id": "Ada", "text": "hello"}],
            }
        ]
    },
    "openai": {
        "id": "d1",
        "model": "Ada",
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"},
                     {"role": "assistant", "content": "hello"}],
    },
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_others_are_read(tmp_path: Path, layout: str) -> None:
    run(written(tmp_path, LAYOUTS[layout]))
    found = ImportedConversation.objects.get()
    assert (found.key, found.chatbot, found.replies) == ("d1", "Ada", 1)
    assert [turn[0] for turn in found.turns] == ["user", "chatbot"]


def test_messages_without_names_take_the_chatbot_given(tmp_path: Path) -> None:
    row = {"messages": LAYOUTS["openai"]["messages"]}
    run(written(tmp_path, row), "--chatbot", "Bob")
    assert ImportedConversation.objects.get().chatbot == "Bob"
    assert "1 unchanged" in run(written(tmp_path, row), "--chatbot", "Bob")


def many_turns() -> dict[str, Any]:
    return talk(turns=TURNS * 50_000)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "rating of 7": (lambda: talk(rating=7), "rating"),
    "no turns": (lambda: talk(turns=[]), "turns"),
    "one speaker": (lambda: talk(turns=TURNS[:1]), "turns"),
    "times backwards": (lambda: talk(started_at=100, ended_at=50), "ended_at"),
    "100,000 turns": (many_turns, "turns"),
    "two chatbots": (lambda: talk(chatbot=["Ada", "Bob"]), "chatbot"),
    "another chatbot in a turn": (lambda: talk(turns=[*TURNS, {**TURNS[1], "chatbot": "Bob"}]), "turns[2].chatbot"),
    "unknown encoding": (lambda: b'{"conversation_id": "caf\xe9"}', ""),
    "no JSON": (lambda: b"hello", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_row_is_reported_and_nothing_is_imported(tmp_path: Path, name: str) -> None:
    bad, field = BAD[name]
    problems = refused(written(tmp_path, talk("good"), bad(), talk("also good")))
    assert [(one["row"], one["field"]) for one in problems] == [(2, field)]
    assert problems[0]["hint"]
    assert not ImportedConversation.objects.exists()


@pytest.mark.parametrize("other", [{"turns": TURNS * 2}, {"chatbot": "Bob"}], ids=["text", "chatbot"])
def test_duplicate_id_with_other_content_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    problems = refused(written(tmp_path, talk(), talk("c2"), talk(**other)))
    assert [one["row"] for one in problems] == [3]
    assert not ImportedConversation.objects.exists()
    run(written(tmp_path, talk()))
    assert [one["row"] for one in refused(written(tmp_path, talk("c3"), talk(**other)))] == [2]
    assert ImportedConversation.objects.count() == 1


def test_every_wrong_row_is_in_the_report(tmp_path: Path) -> None:
    report = tmp_path / "report.csv"
    refused(written(tmp_path, talk(rating=7), talk("c2"), talk("c3", turns=[])), "--report", report)
    with report.open() as file:
        assert [(row["row"], row["outcome"]) for row in csv.DictReader(file)] == [("1", "problem"), ("3", "problem")]


def test_empty_file_is_refused(tmp_path: Path) -> None:
    assert refused(written(tmp_path, b"\n"))[0]["hint"] == "Give one conversation in each line."


def test_check_changes_nothing(tmp_path: Path) -> None:
    assert "would be imported" in run(written(tmp_path, talk()), "--check")
    assert not ImportedConversation.objects.exists()


def test_ratings_and_labels_come_from_a_file(tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    table.write_text(
        "prompt_id,system,criterion,rating,turn\nc1,Ada,overall,5,\nc1,Ada,quality,0,1\nc1,,kind,incorrect,1\n"
    )
    run(written(tmp_path, talk()), "--ratings", table)
    assert "0 added, 3 unchanged" in run(table, "--set", "talks")
    found = ImportedRating.objects.order_by("row").values_list("criterion", "value", "label", "turn")
    assert list(found) == [("overall", 5, "", None), ("quality", 0, "", 1), ("kind", None, "incorrect", 1)]


BAD_RATINGS = {
    "value": "c1,Ada,overall,7,\n",
    "conversation": "c9,Ada,overall,4,\n",
    "chatbot": "c1,Bob,overall,4,\n",
    "turn": "c1,Ada,quality,1,2\n",
}


@pytest.mark.parametrize("name", BAD_RATINGS)
def test_bad_rating_is_reported_and_none_is_imported(tmp_path: Path, name: str) -> None:
    run(written(tmp_path, talk()))
    table = tmp_path / "ratings.csv"
    table.write_text("conversation_id,chatbot,criterion,value,turn\nc1,Ada,overall,5,\n" + BAD_RATINGS[name])
    problems = refused(table, "--set", "talks")
    assert [one["row"] for one in problems] == [2]
    assert not ImportedRating.objects.exists()


def test_changed_rating_of_a_source_is_refused(tmp_path: Path) -> None:
    run(written(tmp_path, talk()))
    table = tmp_path / "ratings.csv"
    table.write_text("conversation_id,value\nc1,4\n")
    run(table, "--set", "talks")
    table.write_text("conversation_id,value\nc1,5\n")
    assert "another rating" in refused(table, "--set", "talks")[0]["message"]
    assert ImportedRating.objects.get().value == 4


def test_erased_user_stays_away(tmp_path: Path) -> None:
    path = written(tmp_path, talk(user_id="u1", rating=3), talk("c2", user_id="u2"))
    run(path)
    owner = ConversationSet.objects.get().organisation.name
    assert "1 conversations and 1 ratings" in run("--set", "talks", "--organisation", owner, "--erase-user", "u1")
    assert "1 unchanged, 1 erased" in run(path)
    assert list(ImportedConversation.objects.values_list("user_key", flat=True)) == ["u2"]


def test_set_is_deleted_with_everything_in_it(tmp_path: Path) -> None:
    run(written(tmp_path, talk(rating=3)))
    owner = ConversationSet.objects.get().organisation.name
    run("--set", "talks", "--organisation", owner, "--delete-set")
    assert not ImportedConversation.objects.exists()
    assert not ImportedRating.objects.exists()
