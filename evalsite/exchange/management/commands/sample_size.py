"""`manage.py sample_size SETTING --difference D`: the turns that a live study needs, without a server or a database."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.core.terminal import shown
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.management.commands.plan_campaign import number
from evalsite.exchange.management.commands.replay import positive
from evalsite.exchange.management.output import write_result
from evalsite.exchange.selection_presenters import size_as_json
from evalsite.exchange.selection_reports import size_of_study
from evalsite.exchange.selection_tables import size_as_table
from irt_engine.errors import EngineError
from irt_engine.selections import SETTINGS, TurnDesign, TurnSize

_BAD_INPUT = 2
_EPILOG = """\
Settings: pm-soba and pm-sata compare two chatbots, mm-soba and mm-sata several, sm tests a single one. SOBA: one best
reply is selected in each turn; SATA: all appropriate ones. mm-soba and mm-sata need a pilot, or the number of chatbots.
"""


class Command(BaseCommand):
    help = "Compute how many turns a study of selections needs. " + _EPILOG
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("setting", metavar="SETTING", choices=SETTINGS, help=", ".join(SETTINGS))
        parser.add_argument(
            "--difference",
            type=number,
            required=True,
            metavar="D",
            help="smallest difference that matters: of win rates; pm-soba: from 0.5; sm: from the baseline",
        )
        parser.add_argument("--alpha", type=number, default=0.05, metavar="P", help="two-sided level (default: 0.05)")
        parser.add_argument("--power", type=number, default=0.8, metavar="P", help="(default: 0.8)")
        parser.add_argument("--baseline", type=number, metavar="P", help="sm: share under the null (default: 0.8)")
        parser.add_argument(
            "--discordance",
            type=number,
            metavar="P",
            help="pm-sata: share of turns in which one of the two alone is selected (default: 0.85)",
        )
        parser.add_argument("--chatbots", type=positive, metavar="K", help="mm-soba, mm-sata: without a pilot")
        parser.add_argument("--pilot", metavar="FILE", help="selections of a pilot, as for selection_report")
        parser.add_argument(
            "--pilot-setting", metavar="NAME", help="the pilot's setting (default: all that are like SETTING, pooled)"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["pilot_setting"] is not None and options["pilot"] is None:
            raise CommandError("Use --pilot-setting with --pilot.", returncode=_BAD_INPUT)
        try:
            size = _size(options)
        except (VoteFileError, EngineError) as error:
            raise CommandError(shown(str(error)), returncode=_BAD_INPUT) from error
        write_result(self.stdout, size_as_json(size) if options["json"] else size_as_table(size))


def _size(options: dict[str, Any]) -> TurnSize:
    names = ("difference", "alpha", "power", "baseline", "discordance", "chatbots")
    design = TurnDesign(**{name: options[name] for name in names})
    return size_of_study(options["setting"], design, pilot=options["pilot"], pilot_setting=options["pilot_setting"])
