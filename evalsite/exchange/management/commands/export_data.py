"""`manage.py export_data votes SLUG | turns SLUG | log SLUG | prompts | replies | card | board`: data as files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.boards.public_log import log_lines
from evalsite.boards.selectors import board_state_get
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.files import replies_csv, replies_jsonl
from evalsite.chatbots.models import Version
from evalsite.exchange import data_export
from evalsite.exchange.board_export import board_csv
from evalsite.exchange.management.output import write_result
from evalsite.exchange.turn_export import turns_csv
from evalsite.judgments.selectors import tally
from evalsite.prompts.files import prompts_csv, prompts_jsonl
from evalsite.prompts.models import PromptSet

Write = Callable[[Campaign], Iterator[str]]


class Command(BaseCommand):
    help = "Write data to standard output. The imports read votes, prompts and replies again as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        kinds = parser.add_subparsers(dest="kind", required=True)
        for kind, what in (
            ("votes", "the votes that the ranking counts"),
            ("preferences", "the preferred and the other reply of each item (DPO), as JSON lines"),
            ("turns", "the judged turns of a live campaign as CSV, which selection_report reads"),
            ("card", "the card of the data: licence and fields"),
            ("board", "the board as CSV"),
            ("log", "the public log of the board as JSON lines, with all that was not erased"),
        ):
            found = kinds.add_parser(kind, help=what)
            found.add_argument("campaign", help="its slug")
        kinds.choices["votes"].add_argument("--format", choices=["csv", "jsonl", "parquet"], default="csv")
        for kind in ("prompts", "replies"):
            found = kinds.add_parser(kind, help=f"the {kind} of a set")
            found.add_argument("--organisation", required=True, help="slug of the owner")
            found.add_argument("--set", required=True, help="name of the prompt set")
            found.add_argument("--format", choices=["csv", "jsonl"], default="jsonl")
        kinds.choices["replies"].add_argument("--name", required=True, help="of the chatbot")
        kinds.choices["replies"].add_argument("--label", required=True, help="of its version")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["kind"] in {"prompts", "replies"}:
            self._write(_library(options))
            return
        campaign = Campaign.objects.filter(slug=options["campaign"]).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {options['campaign']!r}.")
        if options.get("format") == "parquet":
            with data_export.as_parquet(data_export.vote_rows(campaign)) as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            return
        self._write(_WRITERS[options.get("format") or options["kind"]](campaign))

    def _write(self, pieces: Iterator[str]) -> None:
        self.stdout.ending = ""
        for piece in pieces:
            write_result(self.stdout, piece)


def _card(campaign: Campaign) -> Iterator[str]:
    address = f"{settings.SITE_URL}/boards/{campaign.slug}/"
    yield data_export.data_card(campaign, address=address, count=lambda: tally([campaign]).judgments)


def _board(campaign: Campaign) -> Iterator[str]:
    yield board_csv(board_state_get(board_default(campaign=campaign)))


def _log(campaign: Campaign) -> Iterator[str]:
    return data_export.json_lines(log_lines(board_default(campaign=campaign), with_judgments=True))


_WRITERS: Mapping[str, Write] = {
    "csv": lambda campaign: data_export.as_csv(data_export.vote_rows(campaign)),
    "jsonl": lambda campaign: data_export.as_jsonl(data_export.vote_rows(campaign)),
    "preferences": lambda campaign: data_export.json_lines(data_export.preference_rows(campaign)),
    "turns": turns_csv,
    "card": _card,
    "board": _board,
    "log": _log,
}


def _library(options: Mapping[str, Any]) -> Iterator[str]:
    found = PromptSet.objects.filter(organisation__slug=options["organisation"], name=options["set"]).first()
    if found is None:
        raise CommandError(f"There is no prompt set {options['set']!r} of {options['organisation']!r}.")
    if options["kind"] == "prompts":
        return prompts_csv(found) if options["format"] == "csv" else prompts_jsonl(found)
    version = Version.objects.filter(
        chatbot__organisation__slug=options["organisation"], chatbot__name=options["name"], label=options["label"]
    ).first()
    if version is None:
        raise CommandError(f"There is no version {options['label']!r} of {options['name']!r}.")
    return replies_csv(version, found) if options["format"] == "csv" else replies_jsonl(version, found)
