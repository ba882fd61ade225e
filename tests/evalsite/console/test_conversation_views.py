"""Imported conversations in the console: upload, report, scorecard, weights, erasure, and for whom."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsite.accounts.models import Membership, User
from evalsite.scorecards.computing import scorecard_compute
from evalsite.scorecards.models import ConversationSet, ErasedUser, ImportedConversation, ImportedRating
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

TURNS = [{"speaker": "user", "text": "do you like films?"}, {"speaker": "chatbot", "text": "i love jazz music"}]


def lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def rows(count: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "conversation_id": f"c{number}",
            "chatbot": f"bot {number % 3}",
            "user_id": f"u{number % 4}",
            "turns": TURNS * (1 + number % 3),
            "rating": 1 + number % 5,
        }
        for number in range(count)
    ]


def send(client: Client, content: bytes, name: str = "talks.jsonl", **more: str) -> Any:
    data = {"set": "Talks", "file": SimpleUploadedFile(name, content), **more}
    return client.post("/console/conversations/import/", data)


def music(pairs: Sequence[tuple[str, str]]) -> list[str]:
    return ["music" if "jazz" in utterance else "movies_tv" for _, utterance in pairs]


@shared
def talks(alice: User) -> ConversationSet:
    assert send(logged_in(alice), lines(rows())).status_code == 302
    found = ConversationSet.objects.get(name="Talks")
    scorecard_compute(conversation_set=found, classify=music)
    return found


@shared
def viewer(talks: ConversationSet) -> Client:
    """A member of the organisation who may look only."""
    user = User.objects.create_user(username="vera", email="vera@example.org")
    Membership.objects.create(user=user, organisation=talks.organisation, role=Membership.Role.VIEWER)
    return logged_in(user)


@shared
def outsider() -> Client:
    return logged_in(User.objects.create_user(username="otto", email="otto@example.org"))


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_upload_leads_to_the_set(owner: Client) -> None:
    answer = send(owner, lines(rows(3)))
    found = ConversationSet.objects.get()
    assert answer.url == f"/console/conversations/{found.public_id}/"
    assert "3 conversations" in words(owner.get(answer.url))


def test_wrong_rows_are_reported_and_nothing_is_imported(owner: Client) -> None:
    bad = [{**rows(1)[0], "rating": 7}, {**rows(2)[1], "turns": []}]
    answer = send(owner, lines([*bad, rows(3)[2]]))
    assert answer.status_code == 400
    text = words(answer)
    assert "2 rows are wrong. Nothing was imported." in text
    assert "7 is not between 1 and 5" in text
    assert not ImportedConversation.objects.exists()


def test_check_changes_nothing(owner: Client) -> None:
    answer = send(owner, lines(rows(2)), check="yes")
    assert "2 new rows" in words(answer)
    assert not ImportedConversation.objects.exists()


def test_ratings_file_is_imported_into_the_set(owner: Client, talks: ConversationSet) -> None:
    file = b"conversation_id,criterion,value\nc1,overall,4\n"
    assert send(owner, file, "more.csv").status_code == 302
    assert ImportedRating.objects.get(source="more.csv").value == 4


def test_scorecard_shows_metrics_of_every_chatbot(owner: Client, talks: ConversationSet) -> None:
    text = words(owner.get(f"/console/conversations/{talks.public_id}/"))
    for name in ("bot 0", "bot 1", "bot 2", "Median turns", "Stack rank"):
        assert name in text


@pytest.mark.database
def test_topics_are_classified_once_and_stored(owner: Client, talks: ConversationSet) -> None:
    found = owner.get(f"/console/conversations/{talks.public_id}/scorecard.json").json()
    assert found["domains"]["bot 0"] == {"movies_tv": 4, "music": 4}
    assert found["metrics"]["depth"]["bot 0"]["value"] == 1
    assert not talks.conversations.filter(domains__isnull=True).exists()


def test_weights_of_the_address_change_the_order(owner: Client, talks: ConversationSet) -> None:
    page = f"/console/conversations/{talks.public_id}/scorecard.json"
    names = owner.get(page).json()
    assert names["unified"]["stack_rank"]["bot 0"]["n"] > 1
    only = "&".join(
        f"weight_{name}=0"
        for name in ("rating", "frequent_user_rating", "r_cov", "depth", "vocabulary", "topic_frequency")
    )
    found = owner.get(f"{page}?{only}&weight_median_turns=2").json()
    best = max(found["metrics"]["median_turns"], key=lambda one: found["metrics"]["median_turns"][one]["value"])
    assert found["unified"]["stack_rank"][found["chatbots"][0]]["value"] == 2 * min(
        one["value"] / 2 for one in found["unified"]["stack_rank"].values()
    )
    assert (
        found["unified"]["stack_rank"][best]["value"] <= found["unified"]["stack_rank"][found["chatbots"][-1]]["value"]
    )


def test_wrong_weight_is_refused_with_its_field(owner: Client, talks: ConversationSet) -> None:
    assert owner.get(f"/console/conversations/{talks.public_id}/?weight_rating=many").status_code == 400


def test_csv_has_a_row_for_each_metric_and_chatbot(owner: Client, talks: ConversationSet) -> None:
    text = owner.get(f"/console/conversations/{talks.public_id}/scorecard.csv").content.decode().splitlines()
    assert text[0] == "metric,chatbot,value,lower,upper,n,band"
    assert sum(line.startswith("median_turns,") for line in text) == 3


def test_chatbot_has_a_page_with_example_conversations(owner: Client, talks: ConversationSet) -> None:
    page = f"/console/conversations/{talks.public_id}/chatbot/"
    text = words(owner.get(page, {"name": "bot 1"}))
    assert "i love jazz music" in text
    assert owner.get(page, {"name": "nobody"}).status_code == 404


def test_erased_user_is_gone_and_does_not_come_back(owner: Client, talks: ConversationSet) -> None:
    owner.post(f"/console/conversations/{talks.public_id}/erase/", {"user_id": "u1"})
    assert not ImportedConversation.objects.filter(user_key="u1").exists()
    assert not ImportedRating.objects.filter(user_key="u1").exists()
    assert "u1" not in ErasedUser.objects.get().hmac
    send(owner, lines(rows()))
    assert not ImportedConversation.objects.filter(user_key="u1").exists()


def test_set_is_deleted_after_its_name_was_typed(owner: Client, talks: ConversationSet) -> None:
    page = f"/console/conversations/{talks.public_id}/delete/"
    owner.post(page, {"confirm": "other"})
    assert ConversationSet.objects.exists()
    owner.post(page, {"confirm": "Talks"})
    assert not ConversationSet.objects.exists()


@pytest.mark.parametrize("page", ["", "chatbot/?name=bot 1", "scorecard.csv", "scorecard.json"])
def test_strangers_find_no_set(outsider: Client, talks: ConversationSet, page: str) -> None:
    assert outsider.get(f"/console/conversations/{talks.public_id}/{page}").status_code == 404


@pytest.mark.parametrize("act", ["erase", "compute", "delete"])
def test_viewers_see_a_set_but_may_not_change_it(viewer: Client, talks: ConversationSet, act: str) -> None:
    assert viewer.get(f"/console/conversations/{talks.public_id}/").status_code == 200
    assert viewer.post(f"/console/conversations/{talks.public_id}/{act}/", {}).status_code == 403


def test_viewers_may_not_import(viewer: Client, talks: ConversationSet) -> None:
    answer = send(viewer, lines(rows(20)), organisation=str(talks.organisation.public_id))
    assert answer.status_code == 404
    assert talks.conversations.count() == 12
