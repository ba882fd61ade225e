"""What other people wrote reaches a terminal as text that it neither obeys nor hides."""

import pytest

from evalsite.core.terminal import shown


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("gpt\u202e4", r"gpt\u202e4"),
        ("\u2066a\u2069", r"\u2066a\u2069"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J\x07", r"\x9b2J\x07"),
        ("two\nlines\ta\rb", r"two\nlines\ta\rb"),
        ("a\u200bb\u00adc\ufeffd\u2060e", r"a\u200bb\xadc\ufeffd\u2060e"),
        ("a\u200db\u200e\u200f\u061c", r"a\u200db\u200e\u200f\u061c"),
        ("\u2028\u2029\U000e0041", r"\u2028\u2029\U000e0041"),
        ("\ud800", r"\ud800"),
        ("a\u3164b", r"a\u3164b"),
    ],
)
def test_what_a_terminal_obeys_or_hides_is_written_as_its_escape(text: str, seen: str) -> None:
    assert shown(text) == seen


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gpt-4 (\u00e9t\u00e9)",
        "\u6a21\u578b\u3000\u4e00",
        "\u0645\u06cc\u200c\u062e",
        "\U0001f469\u200d\U0001f4bb",
        "\u05e9\u05dc",
        "e\u0301",
    ],
)
def test_all_other_text_stays_as_it_is(text: str) -> None:
    assert shown(text) == text
