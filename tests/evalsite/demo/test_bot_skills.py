"""What the single bots can do, each seen by what it says."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from evalsite.demo.bots.almanac import Almanac, entries, look_up
from evalsite.demo.bots.babbler import Babbler, chain
from evalsite.demo.bots.concierge import Concierge
from evalsite.demo.bots.deflector import topic_of
from evalsite.demo.bots.echo import Echo
from evalsite.demo.bots.reflector import Reflector
from evalsite.demo.bots.shelf import Retrieval, shelf
from evalsite.demo.bots.sums import work_out
from evalsite.demo.bots.text import clip, turned, words
from evalsite.demo.truth import load_prompts


def said(*texts: str) -> Sequence[dict[str, str]]:
    """A conversation that ends with the user: user, chatbot, user, ... counted from the end."""
    speakers = ["user" if (len(texts) - at) % 2 else "chatbot" for at in range(len(texts))]
    return [{"speaker": speaker, "text": text} for speaker, text in zip(speakers, texts, strict=True)]


@pytest.mark.parametrize(
    ("mine", "yours"),
    [
        ("I lost my keys", "you lost your keys"),
        ("you gave me a book", "I gave you a book"),
        ("I like you", "you like me"),
        ("I was late", "you were late"),
        ("it is yours, not mine", "it is mine, not yours"),
    ],
)
def test_a_sentence_is_turned_to_the_other_side(mine: str, yours: str) -> None:
    assert turned(mine) == yours


def test_a_long_text_is_cut_at_a_word() -> None:
    assert clip("one two three", 9) == "one two…"
    assert clip("short", 9) == "short"


def test_the_echo_says_what_it_heard() -> None:
    assert Echo().reply(said("hello", "yes?", "  good\n evening ")) == "good evening"


def test_the_mirror_asks_about_the_users_own_words() -> None:
    assert "your old boat" in Reflector().reply(said("I miss my old boat."))


def test_the_diplomat_finds_the_subject() -> None:
    assert topic_of("How do I repair a bicycle?") == "the bicycle"
    assert topic_of("Look at my nice old bicycle") == "your bicycle"
    assert topic_of("I quarrelled with my neighbour") == "your neighbour"
    assert topic_of("?!") == ""


def test_the_shelf_gives_the_closest_sentence() -> None:
    assert "spider" in Retrieval().reply(said("How many eyes does a spider have?"))


def test_the_shelf_offers_a_stray_line_when_nothing_is_close() -> None:
    reply = Retrieval().reply(said("qqqq zzzz"))
    assert reply not in shelf()
    assert any(line in reply for line in shelf())


def test_the_babbler_only_says_word_pairs_of_the_shelf() -> None:
    spoken = words(Babbler().reply(said("Tell me about the moon")))
    links = chain()
    assert all(after in links[word] for word, after in pairwise(spoken) if word in links)


def test_the_almanac_prefers_the_entry_that_matches_more_words() -> None:
    first, size = look_up("How long is light from the moon under way?")
    assert first is not None
    assert "1.3 seconds" in first.say
    assert size == len({"light", "from", "moon"})


def test_the_almanac_is_not_fooled_by_plural_or_past() -> None:
    assert look_up("spiders")[0] is look_up("a spider")[0] is not None


def test_every_entry_of_the_almanac_can_be_found() -> None:
    assert all(key for entry in entries() for key in entry.keys)
    assert all(entry.say and entry.ask for entry in entries())


def test_the_almanac_knows_most_of_the_prompts_but_not_all() -> None:
    known = [look_up(prompt.turns[-1]["text"])[0] is not None for prompt in load_prompts()]
    assert 0.6 < sum(known) / len(known) < 0.95


def test_the_almanac_does_not_remember_but_the_concierge_does() -> None:
    talk = said("My name is Odd.", "Hello!", "Do you remember my name?")
    assert "Odd" in Concierge().reply(talk)
    assert "Odd" not in Almanac().reply(talk)


@pytest.mark.parametrize(
    ("prompt_id", "answer"),
    [
        ("memory-01", "Ines"),
        ("memory-02", "walnuts"),
        ("memory-03", "platform six"),
        ("memory-04", "Tomas"),
        ("memory-05", "three children"),
        ("memory-06", "green"),
        ("memory-07", "lantern"),
        ("memory-08", "Thursday"),
        ("memory-09", "father"),
        ("memory-10", "blue jacket"),
        ("facts-09", "1.3 seconds"),
        ("practical-help-04", "21 each"),
    ],
)
def test_the_concierge_finds_the_answer_in_the_conversation(prompt_id: str, answer: str) -> None:
    prompt = next(prompt for prompt in load_prompts() if prompt.prompt_id == prompt_id)
    assert answer in Concierge().reply(prompt.turns)


def test_the_concierge_remembers_other_peoples_words_too() -> None:
    talk = said("I parked the car behind the school.", "Fine.", "It is raining.", "Oh.", "Where is my car again?")
    assert "behind the school" in Concierge().reply(talk)


def test_the_concierge_is_kind_before_it_is_clever() -> None:
    reply = Concierge().reply(said("I am nervous about speaking in front of people."))
    assert reply.startswith(("I am sorry", "That sounds hard", "Oh dear"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Three of us share a bill of 60.", "That makes 20 each."),
        ("Split 10 among 3", "That makes about 3.33 each."),
        ("What is 17 plus 25?", "That makes 42."),
        ("What is 6 times 7?", "That makes 42."),
        ("What is 5 minus eight?", "That makes -3."),
        ("Split 0 among 0", ""),
        ("I have 3 cats and 2 dogs and 1 bird", ""),
        ("I have 3 cats and 2 dogs", ""),
    ],
)
def test_small_sums_are_worked_out_and_others_left_alone(question: str, answer: str) -> None:
    assert work_out(question) == answer
