"""`manage.py import_prompts FILE --set NAME --organisation SLUG`: import a prompt file, as the console does."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsite.accounts.models import Organisation
from evalsite.exchange.management.import_command import ImportCommand
from evalsite.exchange.prompt_topics import prompt_topics
from evalsite.prompts.files import prompt_set_import


class Command(ImportCommand):
    help = "Add the prompts of a CSV, JSONL or text file to a set (created if it does not exist)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--set", required=True, help="name of the prompt set")
        parser.add_argument("--organisation", required=True, help="its slug")
        parser.add_argument("--partly", action="store_true", help="import the valid rows even if others are rejected")
        parser.add_argument(
            "--topics", action="store_true", help="fill missing categories with domains by the classifier of topics"
        )
        self.encoding_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        organisation = Organisation.objects.filter(slug=options["organisation"]).first()
        if organisation is None:
            raise CommandError(f"There is no organisation {options['organisation']!r}.")
        _prompt_set, report = self.taken(
            options["file"],
            lambda content: prompt_set_import(
                organisation=organisation,
                set_name=options["set"],
                content=content,
                name=options["file"].name,
                partly=options["partly"],
                categorise=prompt_topics if options["topics"] else None,
            ),
            encoding=options.get("encoding") or "",
        )
        self.tell_refused(report.rows)
        self.stdout.write(f"{report.count('add')} added, {report.count('same')} there already")
