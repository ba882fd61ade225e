"""The quality model behind the simulated annotators."""

import math
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.demo.bots import BOTS
from evalsite.demo.truth import (
    DISCRIMINATION_SD,
    QUALITY,
    REPLY_SD,
    TIE_WIDTH,
    SimulatedTruth,
    discrimination,
    graded,
    load_prompts,
    tie_width,
)

PROMPTS = load_prompts()
TRUTH = SimulatedTruth.of(PROMPTS)
IDS = [prompt.prompt_id for prompt in PROMPTS]

bots = st.sampled_from(sorted(QUALITY))
prompts = st.sampled_from(IDS)
etas = st.floats(-800, 800)
widths = st.floats(1e-6, 20)


def test_every_bot_has_a_quality_and_their_mean_is_zero() -> None:
    assert set(QUALITY) == {bot.key for bot in BOTS}
    assert math.isclose(sum(QUALITY.values()), 0.0, abs_tol=1e-12)


def test_two_or_three_neighbours_are_close_and_the_rest_clearly_apart() -> None:
    ranked = sorted(QUALITY.values())
    gaps = [round(upper - lower, 6) for lower, upper in pairwise(ranked)]
    assert 2 <= sum(gap <= 0.45 for gap in gaps) <= 3
    assert all(gap >= 0.7 for gap in gaps if gap > 0.45)


@given(etas, widths)
def test_the_three_probabilities_are_positive_and_sum_to_one(eta: float, width: float) -> None:
    p_a, p_tie, p_b = graded(eta, width)
    assert min(p_a, p_tie, p_b) >= 0
    assert math.isclose(p_a + p_tie + p_b, 1.0, abs_tol=1e-9)


@given(etas, etas, widths)
def test_a_better_b_is_never_chosen_less(one: float, other: float, width: float) -> None:
    worse, better = graded(min(one, other), width), graded(max(one, other), width)
    assert better[2] >= worse[2]
    assert better[0] <= worse[0]


@given(st.floats(-20, 20), widths)
def test_exchanging_the_sides_exchanges_the_probabilities(eta: float, width: float) -> None:
    assert graded(eta, width) == pytest.approx(graded(-eta, width)[::-1])


@given(bots, bots, prompts)
def test_the_four_verdicts_sum_to_one_and_do_not_depend_on_the_sides(a: str, b: str, prompt: str) -> None:
    odds = TRUTH.odds(a, b, prompt)
    assert math.isclose(sum(odds.by_choice().values()), 1.0, abs_tol=1e-9)
    assert list(TRUTH.odds(b, a, prompt).mirrored().by_choice().values()) == pytest.approx(
        list(odds.by_choice().values())
    )


@given(bots, bots, prompts, st.floats(0.01, 3))
def test_being_first_helps_the_first(a: str, b: str, prompt: str, side: float) -> None:
    assert TRUTH.odds(a, b, prompt, side=side).a > TRUTH.odds(a, b, prompt).a


@given(bots, bots, prompts)
def test_heat_brings_the_two_sides_closer(a: str, b: str, prompt: str) -> None:
    cool, hot = TRUTH.odds(a, b, prompt), TRUTH.odds(a, b, prompt, temperature=3)
    assert abs(hot.a - hot.b) <= abs(cool.a - cool.b)


def test_both_bad_is_said_of_the_worst_and_hardly_of_the_best() -> None:
    worst = [TRUTH.odds("babbler", "parrot", prompt) for prompt in IDS]
    best = [TRUTH.odds("concierge", "almanac", prompt) for prompt in IDS]
    assert np.mean([odds.both_bad / (odds.tie + odds.both_bad) for odds in worst]) > 0.6
    assert np.mean([odds.both_bad / (odds.tie + odds.both_bad) for odds in best]) < 0.05


def test_prompts_and_replies_are_spread_as_documented() -> None:
    logs = np.log([discrimination(prompt) for prompt in IDS])
    replies = np.array([TRUTH.quality_at(bot, prompt) - QUALITY[bot] for bot in QUALITY for prompt in IDS])
    assert abs(logs.mean()) < 4 * DISCRIMINATION_SD / math.sqrt(len(IDS))
    assert logs.std() == pytest.approx(DISCRIMINATION_SD, rel=0.35)
    assert replies.std() == pytest.approx(REPLY_SD, rel=0.15)
    assert np.median([tie_width(prompt) for prompt in IDS]) == pytest.approx(TIE_WIDTH, rel=0.2)


def test_on_these_prompts_the_replies_rank_the_bots_as_their_qualities_do() -> None:
    realised = {bot: np.mean([TRUTH.quality_at(bot, prompt) for prompt in IDS]) for bot in QUALITY}
    assert sorted(realised, key=lambda bot: realised[bot]) == sorted(QUALITY, key=lambda bot: QUALITY[bot])


def test_the_truth_does_not_change_between_machines() -> None:
    # Written down from a first run: a change of these would change every demonstration that was ever shown.
    assert discrimination("facts-01") == pytest.approx(1.1402799696763546, abs=1e-12)
    assert TRUTH.quality_at("mirror", "facts-01") == pytest.approx(-0.2310096480468396, abs=1e-12)


def test_it_knows_who_said_what() -> None:
    register = Counter[str]()
    for prompt in PROMPTS:
        for bot in BOTS:
            register[bot.key] += TRUTH.identify(prompt.prompt_id, bot.reply(prompt.turns)) == bot.key
    assert all(register[bot.key] >= 0.9 * len(PROMPTS) for bot in BOTS)


def test_it_does_not_know_a_text_that_no_bot_said_there() -> None:
    reply = BOTS[0].reply(PROMPTS[0].turns)
    assert TRUTH.identify(PROMPTS[0].prompt_id, reply + "!") is None
    assert TRUTH.identify("no such prompt", reply) is None


def test_where_two_bots_say_the_same_the_first_is_named() -> None:
    class Twin:
        key, name, description = "shrug", "Twin", "Says what the parrot says."

        def reply(self, turns: object) -> str:
            return parrot.reply(PROMPTS[0].turns)

    parrot = next(bot for bot in BOTS if bot.key == "parrot")
    truth = SimulatedTruth.of(PROMPTS[:1], (parrot, Twin()))
    assert truth.identify(PROMPTS[0].prompt_id, parrot.reply(PROMPTS[0].turns)) == "parrot"


def test_all_pairs_have_odds_on_all_prompts() -> None:
    pairs = list(combinations(sorted(QUALITY), 2))
    assert len(pairs) == len(QUALITY) * (len(QUALITY) - 1) / 2 > 0
    for a, b in pairs:
        assert all(min(TRUTH.odds(a, b, prompt).by_choice().values()) > 0 for prompt in IDS)
