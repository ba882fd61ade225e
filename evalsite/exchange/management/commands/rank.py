"""`manage.py rank FILE`: rank a vote file without a server or a database."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.terminal import shown
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.file_ranking import Ranking, rank_votes
from evalsite.exchange.management.output import write_result
from evalsite.exchange.presenters import as_csv, as_json
from evalsite.exchange.progress import Bar
from evalsite.exchange.text_tables import ASCII, UNICODE, as_table
from evalsite.exchange.vote_arguments import condition, format_arguments, mapping_of, merge_turns_argument, vote_path
from evalsite.exchange.vote_file import read_votes
from irt_engine.errors import DidNotConverge, EngineError

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it.
_EPILOG = """\
The file has the columns system_a, system_b, outcome (-1: A better, 0: tie, 1: B better) or model_a, model_b, winner
(model_a, model_b, tie, both_bad); prompt and annotator if known. docs/formats.md lists the other formats. For anything
else, name the columns: --a COLUMN --b COLUMN --winner COLUMN --map LABEL=model_a.
The exit status is 2 if the file cannot be used; standard error says why.
"""


class Command(BaseCommand):
    help = "Rank the chatbots of a file of votes. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the votes; - for standard input")
        parser.add_argument(
            "--model",
            choices=["board", "pair"],
            default="board",
            help="board: one ability for each chatbot; pair: each comparison separately (default: board)",
        )
        parser.add_argument("--by", metavar="COLUMN", help="treat each value of the column as a separate comparison")
        parser.add_argument(
            "--where",
            metavar="COLUMN=VALUE",
            action="append",
            default=[],
            type=condition,
            help="only rows with this value; repeat it for other columns, or for other values of one column",
        )
        merge_turns_argument(parser)
        format_arguments(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="print the complete result as JSON")
        form.add_argument("--csv", action="store_true", help="chatbots (board) or comparisons (pair), as CSV")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            ranking = self._rank(options)
            for warning in ranking.warnings:
                self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
            self._show(ranking, options)
        except DidNotConverge as error:  # The file is not the cause.
            raise CommandError(shown(str(error)), returncode=1) from error
        except (VoteFileError, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            raise SystemExit(_INTERRUPTED) from None

    def _rank(self, options: dict[str, Any]) -> Ranking:
        with vote_path(options["file"]) as path, Bar(self.stderr, "Reading") as bar:
            votes = read_votes(
                path,
                by=options["by"],
                where=options["where"],
                merge_turns=options["merge_turns"],
                encoding=options.get("encoding"),
                mapping=mapping_of(options),
                progress=bar,
            )
        self.stderr.write(f"The file looks like {votes.looks_like}.")
        with Bar(self.stderr, "Fitting") as bar:
            return rank_votes(votes, model=options["model"], progress=bar)

    def _show(self, ranking: Ranking, options: dict[str, Any]) -> None:
        if options["json"]:
            text = as_json(ranking)
        elif options["csv"]:
            text = as_csv(ranking)
        else:
            text = as_table(ranking, width=self._width(), pen=UNICODE if self._draws_lines() else ASCII)
        write_result(self.stdout, text)

    def _width(self) -> int:
        return shutil.get_terminal_size((100, 24)).columns if self.stdout.isatty() else 100

    def _draws_lines(self) -> bool:
        encoding = getattr(self.stdout, "encoding", None) or "utf-8"
        return "utf" in encoding.lower()
