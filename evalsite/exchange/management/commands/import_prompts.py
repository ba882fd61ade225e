"""`manage.py import_prompts FILE --set NAME --organisation SLUG`: a prompt file, as the console takes it in."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.accounts.models import Organisation
from evalsite.core.db import write_transaction
from evalsite.core.errors import TouchstoneError
from evalsite.prompts.files import PromptReport, prompts_import
from evalsite.prompts.models import PromptSet


class Command(BaseCommand):
    help = "Add the prompts of a CSV, JSONL or text file to a set (made if there is none of this name)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--set", required=True, help="name of the prompt set")
        parser.add_argument("--organisation", required=True, help="its slug")
        parser.add_argument("--partly", action="store_true", help="take what can be taken even if rows are refused")

    def handle(self, *args: Any, **options: Any) -> None:
        organisation = Organisation.objects.filter(slug=options["organisation"]).first()
        if organisation is None:
            raise CommandError(f"There is no organisation {options['organisation']!r}.")
        try:
            content = options["file"].read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read ({error.strerror}).") from error
        try:
            report = self._take(organisation, content, options)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error
        self.stdout.write(f"{report.count('add')} added, {report.count('same')} there already")

    def _take(self, organisation: Organisation, content: bytes, options: dict[str, Any]) -> PromptReport:
        """All or nothing, unless `--partly`: a refused row undoes the rest."""
        with write_transaction():
            prompt_set, _ = PromptSet.objects.get_or_create(organisation=organisation, name=options["set"])
            report = prompts_import(prompt_set=prompt_set, content=content, name=options["file"].name)
            for row in report.rows:
                if row.fate == "refused":
                    self.stderr.write(f"line {row.line}: {row.key}: {row.problem}")
            if report.count("refused") and not options["partly"]:
                raise CommandError(f"{report.count('refused')} rows are refused; nothing was added.")
        return report
