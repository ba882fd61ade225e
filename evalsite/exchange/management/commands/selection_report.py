"""`manage.py selection_report FILE`: win rates and tests of selections, without a server or a database."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.boards.selection_reports import ReportOptions
from evalsite.core.terminal import shown
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.management.commands.plan_campaign import number
from evalsite.exchange.management.output import write_result
from evalsite.exchange.progress import Bar
from evalsite.exchange.selection_file import read_selections
from evalsite.exchange.selection_presenters import report_as_json
from evalsite.exchange.selection_reports import SelectionReport, report_selections
from evalsite.exchange.selection_tables import report_as_table
from irt_engine.errors import EngineError

_BAD_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it.
_EPILOG = """\
The file is CSV with the columns conversation_id, turn, setting, chatbot, position, selected (one row for each reply
shown in a turn), or JSON {"chatbots": [...], setting: {pattern: count}} with patterns such as 0110; plain or gzipped.
The exit status is 2 if the file cannot be used; standard error says why.
"""


class Command(BaseCommand):
    help = "Report win rates, ties and tests of replies that were selected turn by turn. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the selections")
        parser.add_argument(
            "--interval", choices=["wilson", "wald"], default="wilson", help="intervals of win rates (default: wilson)"
        )
        parser.add_argument(
            "--mcnemar",
            choices=["chi_square", "corrected", "exact"],
            default="chi_square",
            help="McNemar's test: without or with continuity correction, or exact (default: chi_square)",
        )
        parser.add_argument(
            "--baseline",
            type=number,
            default=0.8,
            metavar="P",
            help="share that a single chatbot is tested against (default: 0.8)",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = self._report(options)
        except (VoteFileError, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        except KeyboardInterrupt:
            self.stderr.write("Interrupted.")
            raise SystemExit(_INTERRUPTED) from None
        for warning in report.warnings:
            self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
        write_result(self.stdout, report_as_json(report) if options["json"] else report_as_table(report))

    def _report(self, options: dict[str, Any]) -> SelectionReport:
        with Bar(self.stderr, "Reading") as bar:
            file = read_selections(options["file"], progress=bar)
        return report_selections(file, ReportOptions(options["interval"], options["mcnemar"], options["baseline"]))
