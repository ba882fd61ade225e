"""Proposals to leave conversations out."""

import pytest

from irt_engine.selections import ConversationFacts, SampleSizes, cleaning_proposals


@pytest.mark.parametrize(
    ("facts", "reasons"),
    [
        (ConversationFacts("c", ("10",) * 5, (3, 3)), ("fixed_pattern",)),
        (ConversationFacts("c", ("10",) * 4, (3, 3)), ()),
        (ConversationFacts("c", ("10",) * 9 + ("01",), (3, 3)), ()),
        (ConversationFacts("c", ("1",) * 10, (3, 3)), ()),
        (ConversationFacts("c", ("10", "01"), (1, 2)), ("short_messages",)),
        (ConversationFacts("c", ("10", "01"), (2, 2)), ()),
        (ConversationFacts("c", ("10", "01"), ()), ()),
        (
            ConversationFacts("c", ("11",) * 6, (1,), names_maker=True),
            ("fixed_pattern", "short_messages", "names_maker"),
        ),
    ],
    ids=["fixed", "too few turns", "one other", "single chatbot", "short", "two tokens", "erased", "all three"],
)
def test_conversations_are_proposed_for_their_reasons(facts: ConversationFacts, reasons: tuple[str, ...]) -> None:
    assert [one.reasons for one in cleaning_proposals([facts])] == ([reasons] if reasons else [])


def test_sizes_give_means_and_removed_shares() -> None:
    before, after = SampleSizes(10, 100), SampleSizes(8, 70)
    assert (before.mean_turns, after.mean_turns) == (10.0, 8.75)
    assert after.removed_from(before) == (0.2, 0.3)
    assert SampleSizes(0, 0).mean_turns is None
    assert SampleSizes(0, 0).removed_from(SampleSizes(0, 0)) == (0.0, 0.0)
