"""The page docs/commands.md, made from the parsers of the commands.

    python -m tests.house.command_reference

writes it anew (`make reference`).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import django
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from evalsite.command_line import COMMANDS

FILE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
PROJECT = "evalsite."
HEAD = """\
# Commands

For everybody who works on the command line. The page lists every command with its arguments and options.

An installed package has the command `touchstone`: `touchstone rank votes.csv`. A checkout has `manage.py`:
`python manage.py rank votes.csv`. Both run every command below. Some commands also have a short name with `touchstone`.
`touchstone COMMAND --help` prints the same list. `touchstone completion bash` prints completion for a shell.

The exit status is 0 if the command succeeded, 2 if its input is wrong, and 1 for any other failure. Results go to
standard output, messages to standard error. Every command also has the options of Django, for example `--verbosity`
and `--traceback`."""
SUBJECTS = {
    "Votes and boards": "rank replay import_votes export_data verify_board",
    "Plans": "plan_campaign forecast_campaign sample_size selection_report",
    "Campaigns": "campaign study import_prompts import_chatbot collect_replies invite api_token roles",
    "Conversations": "import_conversations annotate_conversations scorecard predict_ratings topics",
    "Sites": "serve setup_link migrate backup restore rotate_endpoint_keys flush",
    "Processes": "web worker call_endpoints metrics",
    "Demonstration": "demo load_demonstration simulate_annotators serve_chatbots",
}
SUMMARIES = {
    "migrate": "Create or update the tables of the database. A command of Django.",
    "flush": "Delete all data of the database. A command of Django.",
}


def page() -> str:
    """Return the page in Markdown."""
    short = {named.command: name for name, named in COMMANDS.items() if name != named.command}
    lines = [HEAD]
    for subject, names in SUBJECTS.items():
        lines.append(f"\n## {subject}")
        for name in names.split():
            lines += _command(name, short.get(name, ""))
    return "\n".join(lines) + "\n"


@cache
def parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Return name -> parser of each command of the project."""
    return {
        name: load_command_class(app, name).create_parser("manage.py", name)
        for name, app in sorted(get_commands().items())
        if app.startswith(PROJECT)
    }


def _command(name: str, short: str) -> Iterator[str]:
    parser = parsers()[name]
    yield f"\n### `{name}`\n"
    yield _prose(SUMMARIES.get(name) or parser.description or "")
    if short:
        yield f"\nShort name: `touchstone {short}`."
    yield from _part(parser, name)


def _part(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    """Yield the table of a parser, then those of its subcommands."""
    usual = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    rows, inner = [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            inner += [(f"{name} {word}", part, helps.get(word, "")) for word, part in action.choices.items()]
        elif action.help != argparse.SUPPRESS and not usual.issuperset(action.option_strings or ["-"]):
            rows.append(f"| {_words(action)} | {_help(parser, action)} |")
    if rows:
        yield from ("", "| argument or option | meaning |", "|---|---|", *rows)
    for full, part, text in inner:
        yield f"\n`{full}`: {_cell(text)}."
        yield from _part(part, full)


def _words(action: argparse.Action) -> str:
    value = action.metavar or action.dest.upper()
    if action.choices:
        value = " or ".join(str(choice) for choice in action.choices)
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    return f"`{', '.join(action.option_strings)}{'' if action.nargs == 0 else f' {value}'}`"


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = _cell(parser._get_formatter()._expand_help(action)) if action.help else ""
    if action.default not in (None, False, argparse.SUPPRESS, "", [], ()) and "default" not in text:
        text = f"{text} (default: {action.default})".strip()
    return f"{text}{' (required)' if action.required and action.option_strings else ''}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")


def _prose(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    django.setup()
    FILE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
