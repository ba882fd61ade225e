"""`manage.py import_conversations FILE`: conversations and their ratings into a set of the database."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from evalsite.accounts.models import Organisation
from evalsite.accounts.services import organisation_create
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.exchange.conversation_import import OUTCOMES, ImportReport, RowReport, file_import
from evalsite.exchange.progress import Bar
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.services import Scale, conversation_set_delete, conversation_set_open, user_erase

_BAD_INPUT = 2
_MOST_SHOWN = 20
_ORGANISATION = "Imported conversations"


class Command(BaseCommand):
    help = (
        "Import conversations into a set, or ratings of its conversations. Importing a file again changes nothing. "
        "A file with a wrong row is not imported; wrong rows are reported. docs/scorecards.md describes the formats."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, nargs="?", help="conversations, or ratings and labels")
        parser.add_argument("--set", metavar="NAME", help="name of the set (default: that of the file)")
        parser.add_argument(
            "--organisation", default=_ORGANISATION, help="slug or name of the owner (created if it does not exist)"
        )
        parser.add_argument("--ratings", type=Path, metavar="FILE", help="ratings that are imported afterwards")
        parser.add_argument("--source", default="", help="name of a file of ratings (default: its own)")
        parser.add_argument("--chatbot", default="", help="chatbot of conversations that name none")
        parser.add_argument("--criterion", help="the criterion that is the rating (default: rating or overall)")
        parser.add_argument("--scale", nargs=2, type=float, metavar=("LOW", "HIGH"), help="scale of the rating (1 5)")
        parser.add_argument("--check", action="store_true", help="report what would be imported, and change nothing")
        parser.add_argument("--report", type=Path, metavar="CSV", help="write what became of each row into this file")
        parser.add_argument("--json", action="store_true", help="print the counts and problems as JSON")
        parser.add_argument("--erase-user", metavar="ID", help="delete a user's conversations and ratings from --set")
        parser.add_argument("--delete-set", action="store_true", help="delete --set with everything in it")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._handle(options)
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip()), returncode=_BAD_INPUT) from error

    def _handle(self, options: dict[str, Any]) -> None:
        if options["erase_user"] or options["delete_set"]:
            self._erase(options)
            return
        if options["file"] is None:
            raise CommandError("Name a file.", returncode=_BAD_INPUT)
        name = options["set"] or options["file"].name.split(".")[0]
        into = conversation_set_open(organisation=_owner(options["organisation"]), name=name, scale=_scale(options))
        files = [options["file"], *([options["ratings"]] if options["ratings"] else [])]
        with ExitStack() as stack:
            report = None
            if options["report"]:
                file = stack.enter_context(options["report"].open("w", encoding="utf-8", newline=""))
                report = RowReport(file)
            found = [self._one(path, into, options, report) for path in files]
        if options["json"]:
            self.stdout.write(
                json.dumps([_values(path, one) for path, one in zip(files, found, strict=True)], indent=2)
            )
        if any(one.problems for one in found):
            raise CommandError("A file was not imported.", returncode=_BAD_INPUT)

    def _one(
        self, path: Path, into: ConversationSet, options: dict[str, Any], report: RowReport | None
    ) -> ImportReport:
        with Bar(self.stderr, "Reading") as bar:
            found = file_import(
                path=path,
                conversation_set=into,
                source=options["source"],
                chatbot=options["chatbot"],
                check=options["check"],
                report=report,
                progress=bar,
            )
        for problem in found.problems[:_MOST_SHOWN]:
            self.stderr.write(shown(f"{path.name}: {problem}"), self.style.ERROR)
        if found.counts["problem"] > _MOST_SHOWN:
            self.stderr.write(f"{path.name}: and {found.counts['problem'] - _MOST_SHOWN:,} more")
        if not options["json"] and not found.problems:
            verb = "would be " if options["check"] else ""
            counts = ", ".join(f"{found.counts[name]:,} {name}" for name in OUTCOMES if name != "problem")
            self.stdout.write(f"{shown(path.name)}: {found.what} {verb}imported into {shown(into.name)}: {counts}")
        return found

    def _erase(self, options: dict[str, Any]) -> None:
        owner = Organisation.objects.filter(slug=options["organisation"]).first()
        owner = owner or Organisation.objects.filter(name=options["organisation"]).first()
        found = ConversationSet.objects.filter(organisation=owner, name=options["set"] or "").first()
        if found is None:
            raise CommandError("There is no such set. Give --set and --organisation.", returncode=_BAD_INPUT)
        if options["delete_set"]:
            self.stdout.write(f"Deleted {conversation_set_delete(conversation_set=found):,} conversations.")
            return
        conversations, ratings = user_erase(conversation_set=found, user_id=options["erase_user"])
        self.stdout.write(f"Deleted {conversations:,} conversations and {ratings:,} ratings of the user.")


def _owner(name: str) -> Organisation:
    found = Organisation.objects.filter(slug=name).first() or Organisation.objects.filter(name=name).first()
    return found or organisation_create(name=name)


def _scale(options: dict[str, Any]) -> Scale | None:
    if options["scale"] is None and options["criterion"] is None:
        return None
    low, high = options["scale"] or (1, 5)
    if not low < high:
        raise CommandError("The scale has to ascend, such as --scale 1 5.", returncode=_BAD_INPUT)
    return Scale(options["criterion"] or "", low, high)


def _values(path: Path, found: ImportReport) -> dict[str, object]:
    return {
        "file": path.name,
        "what": found.what,
        "imported": not found.problems,
        **{name: found.counts[name] for name in OUTCOMES},
        "problems": [
            {"row": one.row, "field": one.field, "message": one.message, "hint": one.hint} for one in found.problems
        ],
    }
