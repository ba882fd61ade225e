"""The panel of simulated annotators."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.demo.annotators import PANEL_OF_TWELVE, AnnotatorKind, SimulatedAnnotator, offered, panel
from evalsite.demo.bots import BOTS
from evalsite.demo.truth import SimulatedTruth, VerdictOdds, load_prompts

PROMPTS = load_prompts()
TRUTH = SimulatedTruth.of(PROMPTS)
ALL = ("A", "tie", "B", "both_bad")
DRAWS = 4000


def assignment(
    a: str, b: str, *, prompt: int = 0, choices: Sequence[str] = ALL, a_first: bool = True
) -> dict[str, Any]:
    by_key = {bot.key: bot for bot in BOTS}
    turns = PROMPTS[prompt].turns
    sides = [
        {"position": int(not a_first), "label": "A", "text": by_key[a].reply(turns)},
        {"position": int(a_first), "label": "B", "text": by_key[b].reply(turns)},
    ]
    return {
        "id": "1",
        "context": {"prompt": PROMPTS[prompt].prompt_id, "turns": list(turns)},
        "candidates": sides,
        "aspects": [{"key": "overall", "question": "?", "kind": "choose_one", "choices": list(choices)}],
    }


def member(kind: AnnotatorKind) -> SimulatedAnnotator:
    return SimulatedAnnotator("bob", kind, TRUTH)


def odds_of(kind: AnnotatorKind, task: dict[str, Any]) -> VerdictOdds:
    odds = member(kind).odds(task)
    assert odds is not None
    return odds


def frequencies(kind: AnnotatorKind, task: dict[str, Any]) -> Counter[str]:
    rng = random.Random(7)
    return Counter(member(kind).judge(task, rng) for _ in range(DRAWS))


@pytest.mark.parametrize("kind", [kind for kind in AnnotatorKind if kind is not AnnotatorKind.CARELESS])
def test_verdicts_come_as_often_as_the_model_says(kind: AnnotatorKind) -> None:
    task = assignment("mirror", "shrug")
    seen = frequencies(kind, task)
    for choice, probability in odds_of(kind, task).by_choice().items():
        four_sigma = 4 * (probability * (1 - probability) * DRAWS) ** 0.5
        assert abs(seen[choice] - probability * DRAWS) <= four_sigma


def test_the_adversary_is_the_mirror_of_the_careful_one() -> None:
    for prompt in range(len(PROMPTS)):
        task = assignment("almanac", "babbler", prompt=prompt)
        assert odds_of(AnnotatorKind.ADVERSARIAL, task) == odds_of(AnnotatorKind.CAREFUL, task).mirrored()
    task = assignment("concierge", "babbler")
    assert frequencies(AnnotatorKind.CAREFUL, task)["A"] > 0.8 * DRAWS
    assert frequencies(AnnotatorKind.ADVERSARIAL, task)["B"] > 0.8 * DRAWS


def test_the_noisy_one_is_less_sure_than_the_careful_one() -> None:
    task = assignment("concierge", "babbler")
    assert odds_of(AnnotatorKind.NOISY, task).a < odds_of(AnnotatorKind.CAREFUL, task).a


@pytest.mark.parametrize("a_first", [True, False])
def test_the_side_preferring_one_likes_the_first_whatever_its_label(a_first: bool) -> None:
    task = assignment("mirror", "diplomat", a_first=a_first)
    careful, leaning = odds_of(AnnotatorKind.CAREFUL, task), odds_of(AnnotatorKind.SIDE_PREFERRING, task)
    assert (leaning.a > careful.a) is a_first


def test_the_careless_one_picks_any_choice() -> None:
    seen = frequencies(AnnotatorKind.CARELESS, assignment("concierge", "babbler"))
    assert all(abs(seen[choice] - DRAWS / 4) < 4 * (DRAWS * 3 / 16) ** 0.5 for choice in ALL)


def test_an_unknown_text_is_guessed_by_chance() -> None:
    task = assignment("concierge", "babbler")
    task["candidates"][0]["text"] = "Something a visitor's own chatbot says."
    assert not member(AnnotatorKind.CAREFUL).recognises(task)
    assert set(frequencies(AnnotatorKind.CAREFUL, task)) == set(ALL)


@given(
    st.sampled_from(sorted(AnnotatorKind)),
    st.lists(st.sampled_from(ALL), unique=True).map(lambda extra: sorted({"A", "B", *extra})),
    st.integers(0, 10**6),
)
def test_only_choices_on_offer_are_taken(kind: AnnotatorKind, choices: list[str], seed: int) -> None:
    task = assignment("parrot", "babbler", choices=choices)
    assert member(kind).judge(task, random.Random(seed)) in choices


@pytest.mark.parametrize("choices", [ALL, ("A", "tie", "B"), ("A", "B"), ("A", "B", "both_bad")])
def test_what_is_not_on_offer_is_given_to_the_rest(choices: Sequence[str]) -> None:
    weights = offered(VerdictOdds(a=0.4, tie=0.2, b=0.3, both_bad=0.1), choices)
    assert set(weights) == set(choices)
    assert sum(weights.values()) == pytest.approx(1.0)


def test_every_question_gets_an_answer() -> None:
    task = assignment("almanac", "mirror")
    task["aspects"].append({**task["aspects"][0], "key": "warmth", "choices": ["A", "B"]})
    answers = member(AnnotatorKind.CAREFUL).answers(task, random.Random(1))
    assert [answer["aspect"] for answer in answers] == ["overall", "warmth"]
    assert answers[1]["choice"] in {"A", "B"}


def test_the_same_generator_gives_the_same_verdicts() -> None:
    task = assignment("mirror", "diplomat")
    first, second = (
        [member(AnnotatorKind.NOISY).judge(task, rng) for _ in range(50)] for rng in map(random.Random, (3, 3))
    )
    assert first == second


def test_twelve_are_the_documented_twelve() -> None:
    assert Counter(member.kind for member in panel(12, 1, TRUTH)) == Counter(PANEL_OF_TWELVE)


@given(st.integers(1, 60), st.integers(0, 1000))
def test_any_panel_keeps_the_shares_within_one_person(count: int, seed: int) -> None:
    members = panel(count, seed, TRUTH)
    kinds = Counter(member.kind for member in members)
    assert len(members) == len({member.name for member in members}) == count
    assert all(abs(kinds[kind] - count * share / 12) < 1 for kind, share in PANEL_OF_TWELVE.items())
    assert members == panel(count, seed, TRUTH)


def test_a_panel_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        panel(0, 1, TRUTH)
