"""`manage.py import_votes FILE --campaign NAME`: import a vote file as a campaign with a board."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core import jobs
from evalsite.core.errors import TouchstoneError
from evalsite.core.tasks import owner
from evalsite.core.terminal import shown
from evalsite.exchange.makers import maker_argument, makers_read
from evalsite.exchange.progress import Bar
from evalsite.exchange.vote_arguments import (
    STANDARD_INPUT,
    condition,
    format_arguments,
    mapping_of,
    merge_turns_argument,
    vote_path,
)
from evalsite.exchange.vote_import import Imported, votes_import

_BAD_INPUT = 2
_ORGANISATION = "Imported votes"
FIT_NOW = 100_000  # Votes. The fit of more takes minutes, and memory that an import does not.


class Command(BaseCommand):
    help = "Import a vote file as a campaign. Importing the same file again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="the votes, or - (formats: see rank)")
        parser.add_argument("--campaign", required=True, metavar="NAME", help="name of the new campaign")
        parser.add_argument("--source", default="", help="the source's name (default: the file's)")
        parser.add_argument(
            "--organisation", default=_ORGANISATION, help="slug or name of the owner (created if it does not exist)"
        )
        parser.add_argument(
            "--visibility",
            choices=Campaign.Visibility.values,
            help="who sees the board (default for a new one: everybody with the link)",
        )
        parser.add_argument(
            "--where", metavar="COLUMN=VALUE", action="append", default=[], type=condition, help="as in rank"
        )
        merge_turns_argument(parser)
        format_arguments(parser)
        parser.add_argument(
            "--made-by",
            metavar="CHATBOT=SLUG",
            action="append",
            default=[],
            type=maker_argument,
            help="the organisation that made a chatbot: its members do not judge it (may be repeated)",
        )
        parser.add_argument(
            "--makers",
            metavar="FILE",
            type=Path,
            help="makers of several chatbots: a CSV file with the columns chatbot, organisation",
        )

        parser.add_argument(
            "--fit",
            choices=["now", "later"],
            help=f"make the board at once, or leave it to a worker (default: now, for up to {FIT_NOW:,} votes)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with vote_path(options["file"]) as path, Bar(self.stderr, "Importing") as bar:
                imported = votes_import(
                    path=path,
                    name=options["campaign"],
                    organisation=options["organisation"],
                    visibility=Campaign.Visibility(options["visibility"]) if options["visibility"] else None,
                    source=options["source"] or _source_name(options["file"]),
                    where=options["where"],
                    merge_turns=options["merge_turns"],
                    encoding=options.get("encoding"),
                    mapping=mapping_of(options),
                    made_by=[*(makers_read(options["makers"]) if options["makers"] else ()), *options["made_by"]],
                    progress=bar,
                )
        except TouchstoneError as error:
            message = str(error) if not error.hint or error.hint in str(error) else f"{error.message} {error.hint}"
            raise CommandError(shown(message), returncode=_BAD_INPUT) from error
        later = options.get("fit") == "later" or (options.get("fit") is None and imported.votes > FIT_NOW)
        if not later:
            self._fit(imported)
        self._tell(imported)
        if later and imported.created:
            self.stdout.write("A worker will make the board (manage.py worker, or serve).")

    def _fit(self, imported: Imported) -> None:
        """Fit immediately, so that the page has content even without a worker."""
        campaign = imported.board.default_of
        if campaign is not None:
            jobs.job_run_now(key=refit_key(campaign), owner=owner())

    def _tell(self, imported: Imported) -> None:
        self.stderr.write(f"The file looks like {imported.looks_like}.")
        for warning in (*imported.warnings, *_parts(imported)):
            self.stderr.write(f"Warning: {shown(warning)}", self.style.WARNING)
        what = "Imported" if imported.created else "Already there, unchanged:"
        self.stdout.write(f"{what} {imported.votes:,} votes.")
        if imported.new_owner:
            self.stdout.write(f"Created its owner: {shown(imported.new_owner.name)} ({imported.new_owner.slug}).")
        self.stdout.write(f"Board: /boards/{imported.board.public_id}/")


def _source_name(file: Path) -> str:
    return "standard input" if str(file) == STANDARD_INPUT else file.name


def _parts(imported: Imported) -> Iterator[str]:
    """Return a warning if comparisons do not connect all chatbots of the board, even through others."""
    snapshot = snapshot_current(imported.board)
    parts = max((row["group"] for row in snapshot.rows), default=0) if snapshot else 0
    if parts > 1:
        yield (
            f"The comparisons fall into {parts:,} separate parts, which are ranked separately "
            "and cannot be compared with each other."
        )
