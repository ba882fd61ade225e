"""Redaction: contact data, long numbers and listed names are replaced, and nothing else."""

import time

import pytest

from evalsite.dialogues.redaction import names_pattern, redacted

NAMES = {"chatbot": names_pattern(["GPT-X", "Al"]), "name": names_pattern(["eva"])}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Write to eva.m+x@mail.example.co.uk.", "Write to [e-mail]."),
        ("Call +43 660 123 45 67 now", "Call [number] now"),
        ("Pay to DE89 3704 0044 0532 0130 00, please", "Pay to [account number], please"),
        ("See https://a.example/b?c=d or www.x.example", "See [link] or [link]"),
        ("I am @eva_m, 12 years old", "I am [account], 12 years old"),
        ("I am gpt-x, Eva. Eval is a word.", "I am [chatbot], [name]. Eval is a word."),
        ("In 1999 about 12,000 people, 3.14159 or 24/7", "In 1999 about 12,000 people, 3.14159 or 24/7"),
        ("Also: Al is too short a name", "Also: Al is too short a name"),
    ],
)
def test_it_replaces_what_leads_to_a_person(text: str, shown: str) -> None:
    assert redacted(text, NAMES) == shown


@pytest.mark.parametrize(
    "text", ["a." * 50_000, "1 " * 50_000, "@" * 100_000, "DE12" + " ABCD" * 20_000, "www." * 25_000]
)
def test_hostile_texts_take_no_long_time(text: str) -> None:
    start = time.process_time()
    redacted(text, NAMES)
    assert time.process_time() - start < 5.0
