"""`manage.py import_chatbot FILE --name NAME --set NAME --organisation SLUG`: a reply file, as by the console."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.chatbots.files import ReplyReport, chatbot_import
from evalsite.core.db import write_transaction
from evalsite.core.errors import TouchstoneError
from evalsite.prompts.models import PromptSet


class Command(BaseCommand):
    help = "Make a chatbot's version of a CSV or JSONL file of its replies to a prompt set."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", required=True, help="of the chatbot")
        parser.add_argument("--label", help="of the version (default: the next number)")
        parser.add_argument("--set", required=True, help="name of the prompt set")
        parser.add_argument("--organisation", required=True, help="its slug")
        parser.add_argument("--partly", action="store_true", help="take what can be taken even if rows are refused")

    def handle(self, *args: Any, **options: Any) -> None:
        sets = PromptSet.objects.filter(organisation__slug=options["organisation"], name=options["set"])
        prompt_set = sets.select_related("organisation").first()
        if prompt_set is None:
            raise CommandError(f"The organisation has no prompt set {options['set']!r}.")
        try:
            content = options["file"].read_bytes()
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read ({error.strerror}).") from error
        try:
            report = self._take(prompt_set, content, options)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error
        if report.missing:
            self.stderr.write(f"without a reply: {', '.join(report.missing)}")
        self.stdout.write(f"{report.count('add')} replies to {report.prompts} prompts")

    def _take(self, prompt_set: PromptSet, content: bytes, options: dict[str, Any]) -> ReplyReport:
        """All or nothing, unless `--partly`."""
        with write_transaction():
            _version, report = chatbot_import(
                organisation=prompt_set.organisation,
                prompt_set=prompt_set,
                name=options["name"],
                label=options["label"],
                content=content,
                filename=options["file"].name,
            )
            for row in report.refused:
                self.stderr.write(f"line {row.line}: {row.problem}")
            if report.refused and not options["partly"]:
                raise CommandError(f"{len(report.refused)} rows are refused; nothing was added.")
        return report
