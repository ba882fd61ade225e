"""Commands of docs/operator.md: each is one that there is, with options that it knows.

tests/journey runs those of the production form.
"""

import re
import shlex

import click
import pytest
from celery.bin.celery import celery
from django.core.management import CommandError, get_commands, load_command_class
from granian.cli import cli as granian

from tests.processes import ROOT

GUIDE = (ROOT / "docs" / "operator.md").read_text()
BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def commands_of(heading: str) -> list[list[str]]:
    """Return the words of each command below a heading of the guide."""
    section = GUIDE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return _commands(BLOCK.findall(section))


def _commands(blocks: list[str]) -> list[list[str]]:
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [words for words in lines if words]


ALL = _commands(BLOCK.findall(GUIDE))


def check(words: list[str]) -> None:
    """Fail unless the command is known, and understands its arguments."""
    program, *arguments = words
    if program == "python":
        assert arguments[0] == "manage.py"
        command = load_command_class(get_commands()[arguments[1]], arguments[1])
        command.create_parser("manage.py", arguments[1]).parse_args(arguments[2:])
    elif program == "celery":
        assert arguments[:2] == ["-A", "evalsite"]
        part = celery.commands[arguments[2]]
        part.make_parser(click.Context(part)).parse_args(arguments[3:])
    elif program == "granian":
        granian.make_parser(click.Context(granian)).parse_args(arguments)
    elif program == "make":
        assert f"\n{arguments[0]}:" in (ROOT / "Makefile").read_text()
    elif program == "pip":
        assert all((ROOT / word).exists() for word in arguments if word.startswith("requirements/"))
    else:
        assert program in {"export", "python3", ".", "cd", "docker"}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_command_of_the_guide_is_understood(words: list[str]) -> None:
    check(words)


@pytest.mark.parametrize(
    "text",
    ["python manage.py backup", "celery -A evalsite worker --queue x", "granian --thread 4", "make dem", "touchstone"],
)
def test_wrong_command_is_seen(text: str) -> None:
    with pytest.raises((AssertionError, SystemExit, CommandError, click.UsageError)):
        check(shlex.split(text))


def test_guide_has_the_commands_of_both_forms() -> None:
    programs = [words[0] for words in commands_of("PostgreSQL and Redis")]
    assert programs.count("celery") == 5
    assert {"python", "granian", "export"} < set(programs)
    assert len(ALL) > 10
