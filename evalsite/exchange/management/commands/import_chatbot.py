"""`manage.py import_chatbot FILE --name NAME --set NAME --organisation SLUG`: import replies, as the console does."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from evalsite.chatbots.files import chatbot_import
from evalsite.core.terminal import shown
from evalsite.exchange.management.import_command import ImportCommand
from evalsite.prompts.models import PromptSet


class Command(ImportCommand):
    help = "Create a chatbot version from a CSV or JSONL file with its replies to a prompt set."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", required=True, help="name of the chatbot")
        parser.add_argument("--label", help="label of the version (default: the next number)")
        parser.add_argument("--set", required=True, help="name of the prompt set")
        parser.add_argument("--organisation", required=True, help="its slug")
        parser.add_argument(
            "--made-by", default="", metavar="SLUG", help="organisation that made it, if it is another one"
        )
        parser.add_argument("--partly", action="store_true", help="import the valid rows even if others are rejected")
        self.encoding_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        sets = PromptSet.objects.filter(organisation__slug=options["organisation"], name=options["set"])
        prompt_set = sets.select_related("organisation").first()
        if prompt_set is None:
            raise CommandError(f"The organisation has no prompt set {options['set']!r}.")
        _version, report = self.taken(
            options["file"],
            lambda content: chatbot_import(
                organisation=prompt_set.organisation,
                prompt_set=prompt_set,
                name=options["name"],
                label=options["label"],
                content=content,
                filename=options["file"].name,
                partly=options["partly"],
                made_by=options["made_by"],
            ),
            encoding=options.get("encoding") or "",
        )
        self.tell_refused(report.rows)
        if report.missing:
            self.stderr.write(f"without a reply: {', '.join(map(shown, report.missing))}")
        self.stdout.write(f"{report.count('add')} replies to {report.prompts} prompts")
