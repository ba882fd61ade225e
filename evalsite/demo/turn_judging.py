"""How simulated annotators judge the replies of one turn in a live conversation.

Notation, in logits as in `truth`: q_k is the quality of reply k, T the annotator's temperature, h the value of being
first.

    best reply          argmax of (q_k + h_k) / T + G_k, with G_k ~ Gumbel(0, 1): a multinomial logit choice
    appropriate reply   P(select k) = sigma((q_k + h_k) / T - APPROPRIATE_AT)

A reply whose author is unknown has quality 0. Careless annotators ignore the qualities, adversarial ones negate them.
"""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from evalsite.demo.annotators import (
    NOISY_TEMPERATURE,
    SIDE_PREFERENCE,
    AnnotatorKind,
    JsonObject,
    SimulatedAnnotator,
)
from evalsite.demo.bots import BOTS
from evalsite.demo.truth import sigma

APPROPRIATE_AT = -0.5
WRITTEN = "I do not know the answer. Could you tell me a little more about it?"


def turn_answers(annotator: SimulatedAnnotator, conversation: JsonObject, rng: random.Random) -> dict[str, Any]:
    """Return the answers to the released turn of a conversation, in the format of the API."""
    turn = conversation["turn"]
    values = reply_values(annotator, conversation)
    answers = [_answer(aspect, values, annotator, rng) for aspect in turn["aspects"]]
    body: dict[str, Any] = {"answers": answers}
    if conversation["setting"] == "sata_written" and answers[0].get("selected") == []:
        body["written"] = WRITTEN
    return body


def reply_values(annotator: SimulatedAnnotator, conversation: JsonObject) -> dict[str, float]:
    """Return the value of each reply to this annotator, by its label."""
    turn, careless = conversation["turn"], annotator.kind is AnnotatorKind.CARELESS
    sign = -1.0 if annotator.kind is AnnotatorKind.ADVERSARIAL else 1.0
    first = SIDE_PREFERENCE if annotator.kind is AnnotatorKind.SIDE_PREFERRING else 0.0
    temperature = NOISY_TEMPERATURE if annotator.kind is AnnotatorKind.NOISY else 1.0
    qualities = reply_qualities(annotator, conversation)
    return {
        reply["label"]: 0.0
        if careless
        else (sign * qualities[reply["label"]] + (first if place == 0 else 0.0)) / temperature
        for place, reply in enumerate(turn["candidates"])
    }


def reply_qualities(annotator: SimulatedAnnotator, conversation: JsonObject) -> dict[str, float]:
    """Return the true quality of each reply, by its label. The bots have no state, so their texts tell the author."""
    turn = conversation["turn"]
    turns = [{"speaker": one["speaker"], "text": one["text"]} for one in conversation["messages"]]
    turns.append({"speaker": "user", "text": turn["text"]})
    authors: dict[str, str] = {}
    for bot in BOTS:
        authors.setdefault(bot.reply(turns), bot.key)
    known = {reply["label"]: authors.get(reply["text"]) for reply in turn["candidates"]}
    return {
        label: annotator.truth.quality_at(author, turn["text"]) if author else 0.0 for label, author in known.items()
    }


def rating_of(qualities: Sequence[float]) -> int:
    """Return a rating from 1 to 5 for a conversation, by the best quality of each turn."""
    mean = sum(qualities) / len(qualities) if qualities else 0.0
    return 1 + round(4 * sigma(mean))


def _answer(
    aspect: JsonObject, values: Mapping[str, float], annotator: SimulatedAnnotator, rng: random.Random
) -> dict[str, Any]:
    key, kind, each = aspect["key"], aspect["kind"], aspect["scope"] == "candidate"
    if kind == "choose_one":
        return {"aspect": key, "choice": _best(aspect["choices"], values, rng)}
    if kind == "select_any":
        at = APPROPRIATE_AT if annotator.kind is not AnnotatorKind.CARELESS else 0.0
        return {"aspect": key, "selected": [one for one in values if rng.random() < sigma(values[one] - at)]}
    if kind == "rating":
        low, high = aspect["minimum"], aspect["maximum"]
        rated = {one: low + round((high - low) * sigma(value)) for one, value in values.items()}
        return {"aspect": key, "ratings": rated} if each else {"aspect": key, "rating": max(rated.values())}
    return {"aspect": key, "labels_of": {one: [] for one in values}} if each else {"aspect": key, "labels": []}


def _best(choices: Sequence[str], values: Mapping[str, float], rng: random.Random) -> str:
    def utility(choice: str) -> float:
        gumbel = -math.log(-math.log(max(rng.random(), 1e-12)))
        return values.get(choice, 0.0) + gumbel

    return max(choices, key=utility)
