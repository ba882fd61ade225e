"""`manage.py replay FILE --policy P`: simulate how fast a policy learns from the votes of a file."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.terminal import shown
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.presenters import replay_as_json
from evalsite.exchange.progress import Bar
from evalsite.exchange.replays import Replay, ReplaySettings, replay_simulated, replay_votes
from evalsite.exchange.text_tables import replay_as_table
from evalsite.exchange.vote_arguments import condition, merge_turns_argument
from evalsite.exchange.vote_file import read_votes
from irt_engine.errors import DidNotConverge, EngineError
from scheduler import ALL_POLICIES, SchedulerError
from scheduler.tiers import TIERS

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it.
_MOST_ITEMS = 2_000_000  # Pairs on prompts of a simulation. Three votes of each are drawn beforehand.
_EPILOG = """\
The file has the format of `rank`. The policy draws its votes one by one. After every few votes, the board is fitted
again and compared with the board of all votes. Rows with the note same_output are left out.
"""


class Command(BaseCommand):
    help = "Replay the votes of a file in the order that a policy chooses. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("file", metavar="FILE", nargs="?", help="the votes")
        source.add_argument(
            "--simulate",
            metavar="CHATBOTSxPROMPTS",
            type=size,
            help="votes drawn from known parameters instead of a file, for example 10x100",
        )
        parser.add_argument("--policy", choices=sorted(ALL_POLICIES), default="adaptive", help="(default: adaptive)")
        parser.add_argument("--budget", type=positive, default=1000, metavar="N", help="votes (default: 1000)")
        parser.add_argument(
            "--every", type=positive, default=100, metavar="K", help="votes between refits (default: 100)"
        )
        parser.add_argument("--seed", type=natural, default=0, metavar="S", help="(default: 0)")
        parser.add_argument(
            "--tiers",
            type=positive,
            default=TIERS,
            metavar="T",
            help="tiers of chatbots, in which a prompt may discriminate differently, for six chatbots or more; 1: none "
            f"(default: {TIERS})",
        )
        parser.add_argument(
            "--where",
            metavar="COLUMN=VALUE",
            action="append",
            default=[],
            type=condition,
            help="only rows with this value; repeat it for other columns, or for other values of one column",
        )
        merge_turns_argument(parser)
        parser.add_argument("--json", action="store_true", help="print the complete result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = self._replay(options)
        except DidNotConverge as error:  # The file is not the cause.
            raise CommandError(shown(str(error)), returncode=1) from error
        except (VoteFileError, EngineError, SchedulerError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            raise SystemExit(_INTERRUPTED) from None
        for warning in found.warnings:
            self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
        self.stdout.write(replay_as_json(found) if options["json"] else replay_as_table(found))

    def _replay(self, options: dict[str, Any]) -> Replay:
        run = ReplaySettings(options["policy"], options["budget"], options["every"], options["seed"], options["tiers"])
        if options["simulate"]:
            chatbots, prompts = options["simulate"]
            if options["where"]:
                raise CommandError("Use --where with a file, not with --simulate.", returncode=_BAD_INPUT)
            with Bar(self.stderr, "Replaying") as bar:
                return replay_simulated(chatbots, prompts, run, progress=bar)
        with Bar(self.stderr, "Reading") as bar:
            votes = read_votes(
                options["file"],
                where=options["where"],
                without=SAME_OUTPUT,
                merge_turns=options["merge_turns"],
                progress=bar,
            )
        with Bar(self.stderr, "Replaying") as bar:
            return replay_votes(votes, run, progress=bar)


SAME_OUTPUT = [("note", "same_output")]  # Ties of equal texts, which nobody judged.


def size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)[xX](\d+)", text.strip())
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not CHATBOTSxPROMPTS, for example 10x100")
    chatbots, prompts = int(found[1]), int(found[2])
    if chatbots < 2 or prompts < 1:
        raise ArgumentTypeError(f"{text!r}: at least 2 chatbots and 1 prompt are needed")
    if chatbots * (chatbots - 1) // 2 * prompts > _MOST_ITEMS:
        raise ArgumentTypeError(f"{text!r} has more than {_MOST_ITEMS:,} pairs on prompts")
    return chatbots, prompts


def positive(text: str) -> int:
    return _whole(text, 1)


def natural(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise ArgumentTypeError(f"{number} is less than {least}")
    return number
