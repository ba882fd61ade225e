"""The demonstration's live campaign: its chatbots' address, and the simulated people who judge turns."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.core.env import networks
from evalsite.core.errors import InvalidInput
from evalsite.demo.annotators import AnnotatorKind, SimulatedAnnotator
from evalsite.demo.bots import BOTS
from evalsite.demo.live_campaign import SPEAKERS, chatbot_host, live_campaign_load, live_chatbots
from evalsite.demo.services import LIVE_SLUG, demonstration_load
from evalsite.demo.truth import SimulatedTruth, load_prompts
from evalsite.demo.turn_judging import WRITTEN, rating_of, reply_qualities, turn_answers
from evalsite.endpoints.models import Endpoint

PROMPTS = load_prompts()
CAREFUL = SimulatedAnnotator("careful-01", AnnotatorKind.CAREFUL, SimulatedTruth.of(PROMPTS[:1]))
HISTORY = [{"speaker": "user", "text": "Hello!"}, {"speaker": "chatbot", "text": "Good day."}]


def conversation(aspects: list[dict[str, Any]], setting: str = "sata_random") -> dict[str, Any]:
    """A conversation whose second turn shows the replies of the best and the worst chatbot."""
    text = "What is 3 plus 4?"
    by_key = {bot.key: bot for bot in BOTS}
    turns = [*HISTORY, {"speaker": "user", "text": text}]
    shown = [{"label": label, "text": by_key[key].reply(turns)} for label, key in zip("AB", SPEAKERS[::3], strict=True)]
    turn = {"number": 2, "text": text, "candidates": shown, "aspects": aspects}
    return {"setting": setting, "messages": HISTORY, "turn": turn}


def aspect(kind: str, scope: str = "candidate", **more: Any) -> dict[str, Any]:
    return {"key": kind, "kind": kind, "scope": scope, "choices": ["A", "B"], **more}


def test_authors_of_replies_are_known_by_their_texts() -> None:
    shown = conversation([])
    qualities = reply_qualities(CAREFUL, shown)
    assert qualities["A"] > 1 > -1 > qualities["B"]
    shown["turn"]["candidates"][0]["text"] = "A text of nobody."
    assert reply_qualities(CAREFUL, shown)["A"] == 0


@pytest.mark.parametrize(("kind", "better"), [("careful", True), ("noisy", True), ("adversarial", False)])
def test_people_judge_turns_by_the_hidden_quality(kind: str, better: bool) -> None:
    person, rng = replace(CAREFUL, kind=AnnotatorKind(kind)), random.Random(1)
    shown = conversation([aspect("choose_one"), aspect("select_any")])
    said = [turn_answers(person, shown, rng)["answers"] for _ in range(100)]
    best = Counter(one["choice"] for one, _ in said)
    selected = Counter(label for _, many in said for label in many["selected"])
    assert (best["A"] > 70, selected["A"] > selected["B"] + 20) == (better, better)


def test_nobody_selected_needs_a_written_reply_only_where_it_is_asked() -> None:
    nobody = replace(CAREFUL, kind=AnnotatorKind.ADVERSARIAL)
    for setting, written in (("sata_written", WRITTEN), ("sata_random", None)):
        shown = conversation([aspect("select_any")], setting)
        shown["turn"]["candidates"] = shown["turn"]["candidates"][:1]
        bodies = [turn_answers(nobody, shown, random.Random(seed)) for seed in range(20)]
        empty = [body for body in bodies if body["answers"][0]["selected"] == []]
        assert empty
        assert {body.get("written") for body in empty} == {written}


def test_every_kind_of_question_gets_an_answer_of_its_form() -> None:
    bounds: dict[str, Any] = {"minimum": 1, "maximum": 5}
    asked = [aspect("rating", **bounds), aspect("rating", "turn", **bounds), aspect("label"), aspect("label", "turn")]
    answers = turn_answers(CAREFUL, conversation(asked), random.Random(1))["answers"]
    assert answers[0]["ratings"]["A"] > answers[0]["ratings"]["B"]
    assert answers[1]["rating"] == answers[0]["ratings"]["A"]
    assert answers[2]["labels_of"] == {"A": [], "B": []}
    assert answers[3]["labels"] == []
    assert (rating_of([]), rating_of([9.0]), rating_of([-9.0])) == (3, 5, 1)


@pytest.mark.django_db
def test_the_next_start_goes_on_at_the_chatbots_present_address(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    demonstration_load()
    monkeypatch.setenv("TOUCHSTONE_ENDPOINT_NETWORKS", chatbot_host())
    settings.ENDPOINT_NETWORKS = ()
    with live_chatbots() as server:
        with pytest.raises(InvalidInput):
            live_campaign_load(url=server.url)
        assert not Campaign.objects.filter(slug=LIVE_SLUG).exists()
        settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
        campaign = live_campaign_load(url=server.url)
        assert campaign.collecting
        first = server.url
        with live_chatbots() as other:
            assert other.url != first, "the port is in use"
            assert live_campaign_load(url=other.url) == campaign
        assert set(Endpoint.objects.values_list("url", "model")) == {(other.url, key) for key in SPEAKERS}
        live_campaign_load(url=first)
    with live_chatbots() as again:
        assert again.url == first
