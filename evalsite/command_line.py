"""The command `touchstone`: the commands of this package under short names.

`touchstone rank`, `plan` and other commands that need only a file use neither a database nor settings of the
environment. `touchstone serve` and all others use the settings of `manage.py`.
"""

import argparse
import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

from evalsite.core.installation import PACKAGE, default_data_directory

if TYPE_CHECKING:
    from django.core.management.base import BaseCommand, CommandParser

BAD_INPUT = 2


@dataclass(frozen=True, slots=True)
class Named:
    """A command under its short name. `files_only`: it needs no database. `data`: its own folder of data."""

    command: str
    summary: str
    example: str
    files_only: bool = False
    data: str = ""


COMMANDS = {
    "rank": Named("rank", "Rank the chatbots of a file of votes.", "touchstone rank votes.csv", files_only=True),
    "replay": Named(
        "replay",
        "Simulate how fast a policy learns from the votes of a file.",
        "touchstone replay votes.csv --policy adaptive",
        files_only=True,
    ),
    "plan": Named(
        "plan_campaign",
        "Compute the votes that a campaign will need.",
        "touchstone plan --chatbots 8 --prompts 100 --target-se .15",
        files_only=True,
    ),
    "sample-size": Named(
        "sample_size",
        "Compute the turns that a live study needs.",
        "touchstone sample-size pm-soba --difference .1",
        files_only=True,
    ),
    "selections": Named(
        "selection_report",
        "Compute win rates and tests of selected replies.",
        "touchstone selections turns.csv",
        files_only=True,
    ),
    "scorecard": Named(
        "scorecard",
        "Compute the scorecard of a file of conversations.",
        "touchstone scorecard --conversations conversations.jsonl",
        files_only=True,
    ),
    "topics": Named(
        "topics", "Train or evaluate the classifier of topics.", "touchstone topics evaluate labels.csv", True
    ),
    "import": Named(
        "import_votes",
        "Import a file of votes as a campaign with a board.",
        "touchstone import votes.csv --campaign 'My votes'",
    ),
    "serve": Named("serve", "Serve a site on this machine.", "touchstone serve --port 8000"),
    "demo": Named("demo", "Show a campaign that judges itself.", "touchstone demo", data="touchstone-demo"),
}
SHELLS = ("bash", "zsh", "tcsh")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. The exit status is 2 if the input is wrong."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name in ("", "-h", "--help", "help"):
        print(_help())  # noqa: T201
    elif name == "--version":
        print(f"touchstone {metadata.version('touchstone-eval')}")  # noqa: T201
    elif name == "completion":
        _completion_print(rest[0])
    else:
        _run(name, rest[:-1])


def _help() -> str:
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {named.summary}" for name, named in COMMANDS.items()]
    examples = [f"  {named.example}" for named in COMMANDS.values()]
    return "\n".join(
        [
            "usage: touchstone COMMAND [options]",
            "",
            "Adaptive human evaluation of chatbots.",
            "",
            "Commands (touchstone COMMAND --help tells their options):",
            *lines,
            f"  {'completion':<{width}}  Print the completion of a shell: {', '.join(SHELLS)}.",
            "",
            "Every command of manage.py runs, too: touchstone backup FILE, touchstone setup_link.",
            "",
            "Examples:",
            *examples,
            "  touchstone completion bash > ~/.local/share/bash-completion/completions/touchstone",
        ]
    )


def _run(name: str, rest: Sequence[str]) -> None:
    if name not in COMMANDS and name not in (others := _other_commands()):
        near = difflib.get_close_matches(name, [*COMMANDS, *others], n=1)
        _refuse(
            f"There is no command {name!r}. " + (f"Did you mean {near[0]!r}?" if near else "See touchstone --help.")
        )
    named = COMMANDS.get(name, Named(name, "", ""))
    if named.data:
        os.environ.setdefault("TOUCHSTONE_DATA_DIR", str(Path.cwd() / named.data))
    with _no_database() if named.files_only else _data_directory():
        from evalsite.core.terminal import concise_errors

        with concise_errors():
            _command(named.command).run_from_argv(["touchstone", name, *rest])


def _other_commands() -> list[str]:
    """Return the names of all commands of `manage.py`, without settings."""
    import django
    from django.core.management import find_commands

    library = Path(django.__file__).parent
    parts = ["core", *(f"contrib/{app}" for app in ("auth", "sessions", "staticfiles"))]
    folders = [*PACKAGE.glob("*/management"), *(library / part / "management" for part in parts)]
    return [name for folder in folders for name in find_commands(str(folder))]


def _command(name: str) -> "BaseCommand":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    return load_command_class(str(get_commands()[name]), name)


@contextmanager
def _data_directory() -> Iterator[None]:
    """Remove the folder of data again if it is new and the command was refused before it began."""
    folder = Path(os.environ.get("TOUCHSTONE_DATA_DIR") or default_data_directory())
    existed = folder.exists()
    try:
        yield
    except SystemExit as end:
        if end.code == BAD_INPUT and not existed:
            shutil.rmtree(folder, ignore_errors=True)
        raise


@contextmanager
def _no_database() -> Iterator[None]:
    """Let the settings have an empty folder instead of the user's database, which the command must not touch."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as folder:
        for name in ("DATABASE_URL", "REDIS_URL"):
            os.environ.pop(name, None)
        os.environ["TOUCHSTONE_DATA_DIR"] = folder
        yield


def _refuse(message: str) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)  # noqa: T201
    raise SystemExit(BAD_INPUT)


def _completion_print(shell: str) -> None:
    """Print the completion of a shell, made out of the options of the commands with short names."""
    if shell not in SHELLS:
        _refuse(f"Name the shell: touchstone completion {'|'.join(SHELLS)}.")
    import shtab

    print(shtab.complete(_parser(), shell=shell))  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    """Return one parser over all commands with short names. Only completion uses it."""
    parser = argparse.ArgumentParser(prog="touchstone")
    parts = parser.add_subparsers()
    with _no_database():
        for name, named in COMMANDS.items():
            known = parts.add_parser(name, help=named.summary)
            _command(named.command).add_arguments(cast("CommandParser", known))
    return parser
