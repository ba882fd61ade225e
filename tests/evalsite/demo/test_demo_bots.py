"""What every bot of the demonstration keeps: a new one passes by standing in BOTS."""

import json
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalsite.demo.bots import BOTS, Bot
from evalsite.demo.bots.base import MAX_REPLY
from evalsite.demo.truth import load_prompts
from tests.environment import FULL

PROMPTS = load_prompts()
each_bot = pytest.mark.parametrize("bot", BOTS, ids=lambda bot: bot.key)

# Words that reach the rules; any character at all comes beside them, lone surrogates and controls included.
_RULED = "i feel |my name is |you |what |who |allergic to |cake|again|remind me |split |84 |four |0|two "
_HOSTILE = "?|. |: |{0}|{topic}|%s|\\|'|<b>|\x00|\ud800"
_PIECES = st.sampled_from(f"{_RULED}|{_HOSTILE}".split("|"))
TEXTS = st.one_of(st.text(st.characters(), max_size=80), st.lists(_PIECES, max_size=12).map("".join))
TURNS = st.lists(st.fixed_dictionaries({"speaker": st.sampled_from(["user", "chatbot"]), "text": TEXTS}), max_size=5)


def assert_well_formed(reply: str) -> None:
    assert reply.strip()
    assert len(reply) <= MAX_REPLY
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in reply)


@each_bot
def test_it_replies_well_formed_and_the_same_again_to_every_prompt(bot: Bot) -> None:
    for prompt in PROMPTS:
        reply = bot.reply(prompt.turns)
        assert_well_formed(reply)
        assert bot.reply(prompt.turns) == reply


@each_bot
@settings(max_examples=60 if FULL else 15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(turns=TURNS)
def test_no_text_breaks_it(bot: Bot, turns: list[Mapping[str, str]]) -> None:
    assert_well_formed(bot.reply(turns))


@each_bot
@pytest.mark.parametrize("unit", ["a", "you ", "i feel ", "((((", "What? ", "my name is: ", "\x00", "1 plus "])
def test_a_very_long_text_is_taken(bot: Bot, unit: str) -> None:
    said = {"speaker": "user", "text": unit * 50_000}
    assert_well_formed(bot.reply([said] * 200))


@each_bot
def test_it_takes_a_conversation_without_turns(bot: Bot) -> None:
    assert_well_formed(bot.reply([]))


def test_there_are_eight_with_keys_and_names_of_their_own() -> None:
    assert len({bot.key for bot in BOTS}) == len({bot.name for bot in BOTS}) == len(BOTS) == 8
    assert all(bot.description.endswith(".") for bot in BOTS)


def test_different_bots_seldom_say_the_same() -> None:
    pairs = [
        first.reply(prompt.turns) == second.reply(prompt.turns)
        for first, second in combinations(BOTS, 2)
        for prompt in PROMPTS
    ]
    assert sum(pairs) <= len(pairs) / 10


def test_another_process_with_another_hash_seed_gets_the_same_replies() -> None:
    program = (
        "import json; from evalsite.demo.bots import BOTS; from evalsite.demo.truth import load_prompts; "
        "import sys; sys.stdout.write(json.dumps([[b.reply(p.turns) for b in BOTS] for p in load_prompts()]))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONHASHSEED": "12345", "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        check=True,
    )
    assert json.loads(elsewhere.stdout) == [[bot.reply(prompt.turns) for bot in BOTS] for prompt in PROMPTS]
