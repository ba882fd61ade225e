"""Most queries of each step of a live turn. They count with the two that open and end its transaction."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.models import Organisation
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.queue import calls_claim
from evalsite.endpoints.recording import CallResult, calls_record
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol, token_issue
from tests.evalsite.api.client import Api
from tests.evalsite.dialogues.steps import live_campaign_make, said

pytestmark = [pytest.mark.django_db, pytest.mark.database]
ANSWER = {"answers": [{"aspect": "best", "choice": "A"}]}


class Talk:
    """A conversation by the API of which each step counts its queries."""

    def __init__(self, annotator: Annotator) -> None:
        self.api = Api(token_issue(annotator=annotator))
        begun = self.api.post("/api/v1/campaigns/chat/conversations").json()["conversation"]
        self.home, self.counts = f"/api/v1/conversations/{begun['id']}", dict[str, int]()

    def step(self, name: str, act: Callable[[], Any], status: int = 200) -> Any:
        with CaptureQueriesContext(connection) as queries:
            done = act()
        assert getattr(done, "status_code", status) == status
        self.counts[name] = len(queries)
        return done

    def turn(self, number: int) -> None:
        message = {"text": f"Message {number}"}
        sent = self.step("message", lambda: self.api.post(f"{self.home}/messages", message, key=f"m{number}"), 201)
        headers = {**self.api.headers, "If-None-Match": sent["ETag"]}
        self.step("poll", lambda: self.api.client.get(self.home, headers=headers), 304)
        room = dict.fromkeys(Endpoint.objects.values_list("pk", flat=True), 10)
        first, last = self.step("claim", lambda: calls_claim(owner="here:1", room=room))
        self.step("first reply", lambda: calls_record([CallResult(first, said("One."))]))
        self.step("last reply", lambda: calls_record([CallResult(last, said("Two."))]))
        self.step("poll with replies", lambda: self.api.client.get(self.home, headers=headers))
        self.step("judgment", lambda: self.api.post(f"{self.home}/turns/{number}/judgment", ANSWER), 201)


@pytest.fixture
def talk(organisation: Organisation) -> Talk:
    campaign = live_campaign_make(organisation=organisation, chatbots=2)
    campaign.batch_size = 50
    campaign.save()
    return Talk(annotator_enrol(campaign=campaign))


def test_steps_of_a_turn_keep_to_their_queries(talk: Talk) -> None:
    talk.turn(1)
    talk.turn(2)  # the first calls and judgments of a campaign create rows that later ones add to
    limits = {
        "message": 13,
        "poll": 2,
        "claim": 10,
        "first reply": 18,
        "last reply": 24,
        "poll with replies": 7,
        "judgment": 19,
    }
    above = {name: count for name, count in talk.counts.items() if count > limits[name]}
    assert (set(talk.counts), above) == (set(limits), {})


def test_later_turns_need_no_more_queries(talk: Talk) -> None:
    talk.turn(1)
    talk.turn(2)
    before = dict(talk.counts)
    talk.turn(3)
    assert talk.counts == before


def test_poll_of_the_page_reads_little(organisation: Organisation, client: Client) -> None:
    live_campaign_make(organisation=organisation)
    client.post("/judge/chat/begin/")
    client.post("/chat/chat/begin/", {"key": "start"})
    seen = client.get("/chat/chat/").context["stage"]["stamp"]
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/chat/chat/", {"seen": seen}).status_code == 204
    assert len(queries) <= 6
