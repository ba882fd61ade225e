"""Conversations by the API: the whole way, repeated requests, polling, and what is refused."""

from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.core.models import IdempotencyKey
from evalsite.endpoints.models import CallRequest
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol, token_issue
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.dialogues.steps import answer_all

pytestmark = pytest.mark.django_db
START = "/api/v1/campaigns/soba/conversations"


@pytest.fixture
def api(emma: Annotator) -> Api:
    return Api(token_issue(annotator=emma))


@pytest.fixture
def there(api: Api) -> str:
    """The address of a new conversation."""
    answer = api.post(START)
    assert answer.status_code == 201
    return f"/api/v1/conversations/{answer.json()['conversation']['id']}"


def judged(api: Api, there: str, number: int, choice: str = "A") -> Any:
    body = {"answers": [{"aspect": "best", "choice": choice}], "client_ms": 900}
    return api.post(f"{there}/turns/{number}/judgment", body)


def test_whole_conversation(api: Api, there: str) -> None:
    for number in (1, 2):
        sent = api.post(f"{there}/messages", {"text": f"Message {number}"}, key=f"m{number}")
        assert sent.status_code == 201
        waiting = sent.json()["turn"]
        assert (waiting["state"], waiting["candidates"], waiting["aspects"]) == ("waiting", [], [])
        answer_all()
        turn = api.get(there).json()["turn"]
        assert [one["label"] for one in turn["candidates"]] == ["A", "B"]
        assert turn["aspects"][0]["choices"] == ["A", "B"]
        assert judged(api, there, number).status_code == 201
    conversation = api.get(there).json()
    assert (conversation["turns_done"], conversation["can_end"], conversation["turn"]) == (2, True, None)
    assert [one["how"] for one in conversation["messages"]] == [None, "chosen", None, "chosen"]
    ended = api.post(f"{there}/end", {"rating": 5, "feedback": "Fine."})
    assert (ended.status_code, ended.json()["state"]) == (200, "ended")


def test_nothing_names_a_chatbot(api: Api, there: str) -> None:
    api.post(f"{there}/messages", {"text": "Hello"}, key="m1")
    answer_all()
    turn = api.get(there).json()["turn"]
    assert all(set(one) == {"label", "text", "cut_off"} for one in turn["candidates"])
    assert "speaker" not in api.get(there).content.decode().replace('"speaker"', "")


def test_polling_is_answered_304_until_something_changes(api: Api, there: str) -> None:
    sent = api.post(f"{there}/messages", {"text": "Hello"}, key="m1")
    headers = {**api.headers, "If-None-Match": sent["ETag"]}
    assert api.client.get(there, headers=headers).status_code == 304
    answer_all()
    assert api.client.get(there, headers=headers).status_code == 200


def test_repeated_requests_do_nothing_twice(api: Api, there: str) -> None:
    codes = [api.post(f"{there}/messages", {"text": "Hello"}, key="m1").status_code for _ in range(2)]
    assert codes == [201, 200]
    assert CallRequest.objects.filter(turn_reply__isnull=False).count() == 2
    answer_all()
    assert [judged(api, there, 1).status_code for _ in range(2)] == [201, 200]
    assert error_of(judged(api, there, 1, "B"))["code"] == "answered"
    assert not IdempotencyKey.objects.exists()  # stored answers would keep texts that are erased elsewhere


def test_message_needs_a_key_and_a_fit_text(api: Api, there: str) -> None:
    assert error_of(api.post(f"{there}/messages", {"text": "Hello"}))["code"] == "no_key"
    too_long = error_of(api.post(f"{there}/messages", {"text": "x" * 100_000}, key="m1"))
    assert (too_long["code"], too_long["field"]) == ("too_long", "text")
    assert "4,000" in too_long["message"]
    assert api.get(there).json()["turn"] is None


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [{"aspect": "best"}],
        [{"aspect": "best", "choice": "C"}],
        [{"aspect": "best", "selected": ["A"]}],
        [{"aspect": "best", "choice": "A", "rating": 3}],
        [{"aspect": "worst", "choice": "A"}],
    ],
)
def test_unfit_answers_are_refused(api: Api, there: str, answers: Any) -> None:
    api.post(f"{there}/messages", {"text": "Hello"}, key="m1")
    answer_all()
    assert api.post(f"{there}/turns/1/judgment", {"answers": answers}).status_code == 400
    assert api.get(there).json()["turn"]["state"] == "released"


def test_refused_start_says_why(api: Api, soba: Campaign) -> None:
    Campaign.objects.filter(pk=soba.pk).update(state="paused")
    answer = api.post(START)
    assert answer.status_code == 200
    body = answer.json()
    assert (body["conversation"], body["refusal"]) == (None, "paused")
    assert body["hint"]


def test_conversation_of_somebody_else_is_not_found(soba: Campaign, there: str) -> None:
    other = Api(token_issue(annotator=annotator_enrol(campaign=soba)))
    for answer in (
        other.get(there),
        other.post(f"{there}/messages", {"text": "Hello"}, key="k"),
        other.post(f"{there}/end", {"rating": 1}),
        other.post(f"{there}/departure"),
    ):
        assert answer.status_code == 404


def test_skip_report_and_departure(api: Api, there: str) -> None:
    api.post(f"{there}/messages", {"text": "Hello"}, key="m1")
    answer_all()
    report = {"candidate": "B", "reason": "harmful"}
    assert api.post(f"{there}/turns/1/reports", report).status_code == 200
    assert api.post(f"{there}/turns/1/skip", {"reason": "offensive"}).json()["turns_done"] == 1
    assert api.post(f"{there}/departure").json()["state"] == "left"


def test_claim_points_to_conversations(api: Api) -> None:
    assert api.post("/api/v1/campaigns/soba/claims").json()["campaign"]["reason"] == "conversation"
