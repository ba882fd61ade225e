"""`manage.py campaign export SLUG | import FILE --organisation SLUG | validate FILE`: a campaign as one YAML file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign, Study
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.exchange.campaign_file import (
    CampaignFile,
    CampaignFileError,
    campaign_read,
    campaign_take,
    campaign_write,
)
from evalsite.operations.studies import study_address

_BAD_INPUT = 2


class Command(BaseCommand):
    help = "A campaign as one YAML file: write it, make a draft of it, or only check it (errors by line and key)."

    def add_arguments(self, parser: CommandParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True)
        out = acts.add_parser("export", help="print the campaign as YAML")
        out.add_argument("slug")
        taken = acts.add_parser("import", help="make a draft of the file")
        taken.add_argument("file", type=Path)
        taken.add_argument("--organisation", required=True, help="its slug")
        checked = acts.add_parser("validate", help="say what is wrong with the file, and change nothing")
        checked.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        acts = {"export": self._export, "import": self._import, "validate": self._validate}
        acts[options["act"]](options)

    def _export(self, options: dict[str, Any]) -> None:
        campaign = Campaign.objects.filter(slug=options["slug"]).select_related("stopping").first()
        if campaign is None:
            raise CommandError(f"There is no campaign {options['slug']!r}.")
        self.stdout.write(campaign_write(campaign), ending="")

    def _import(self, options: dict[str, Any]) -> None:
        organisation = Organisation.objects.filter(slug=options["organisation"]).first()
        if organisation is None:
            raise CommandError(f"There is no organisation {options['organisation']!r}.")
        given = self._read(options["file"])
        try:
            campaign = campaign_take(organisation=organisation, given=given)
        except TouchstoneError as error:
            raise CommandError(shown(f"{error.message} {error.hint}".strip()), returncode=_BAD_INPUT) from error
        self.stdout.write(f"{campaign.slug}: a draft of {len(given.prompts)} prompts, {len(given.chatbots)} chatbots")
        if given.study is not None:
            study = Study.objects.get(arms__campaign=campaign)
            self.stdout.write(shown(f"{study.name}: a study of {study.arms.count()} arms, {study_address(study)}"))

    def _validate(self, options: dict[str, Any]) -> None:
        given = self._read(options["file"])
        self.stdout.write(f"right: {len(given.prompts)} prompts, {len(given.chatbots)} chatbots")

    def _read(self, path: Path) -> CampaignFile:
        try:
            return campaign_read(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror}).", returncode=_BAD_INPUT) from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not UTF-8.", returncode=_BAD_INPUT) from error
        except CampaignFileError as error:
            lines = "\n".join(shown(str(problem)) for problem in error.problems)
            raise CommandError(f"{path}:\n{lines}", returncode=_BAD_INPUT) from error
