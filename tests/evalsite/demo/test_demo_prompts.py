"""The prompts of the demonstration campaign."""

from collections import Counter

from evalsite.demo.truth import DemoPrompt, load_prompts

PROMPTS = load_prompts()


def test_there_are_at_least_72_prompts_in_eight_categories() -> None:
    sizes = Counter(prompt.category for prompt in PROMPTS)
    assert len(PROMPTS) >= 72
    assert len(sizes) == 8
    assert min(sizes.values()) >= 8


def test_at_least_sixteen_have_earlier_turns() -> None:
    assert sum(len(prompt.turns) > 1 for prompt in PROMPTS) >= 16


def test_ids_and_conversations_are_unique() -> None:
    assert len({prompt.prompt_id for prompt in PROMPTS}) == len(PROMPTS)
    assert len({tuple(turn["text"] for turn in prompt.turns) for prompt in PROMPTS}) == len(PROMPTS)


def test_an_id_begins_with_its_category() -> None:
    assert all(prompt.prompt_id.startswith(prompt.category.replace(" ", "-") + "-") for prompt in PROMPTS)


def test_the_speakers_take_turns_and_the_user_has_the_last_word() -> None:
    assert all(_alternates(prompt) for prompt in PROMPTS)


def test_no_turn_is_empty_or_long() -> None:
    assert all(0 < len(turn["text"]) <= 120 for prompt in PROMPTS for turn in prompt.turns)


def test_a_turn_has_nothing_but_a_speaker_and_a_text() -> None:
    assert all(set(turn) == {"speaker", "text"} for prompt in PROMPTS for turn in prompt.turns)


def _alternates(prompt: DemoPrompt) -> bool:
    backwards = [turn["speaker"] for turn in prompt.turns][::-1]
    return backwards == [("user", "chatbot")[place % 2] for place in range(len(backwards))]
