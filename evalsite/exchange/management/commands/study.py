"""`manage.py study`: a study of several live campaigns, made out of a draft."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.campaigns.models import Campaign, Entrant, Study
from evalsite.campaigns.studies import MOST_REPETITIONS, SETTINGS, Arms
from evalsite.core.db import write_transaction
from evalsite.core.errors import TouchstoneError
from evalsite.core.terminal import shown
from evalsite.operations.studies import study_address, study_build, study_open


class Command(BaseCommand):
    help = (
        "Make a study out of a live draft: one campaign for each setting, set of chatbots and repetition. "
        "Annotators who open its address are allocated to one of them at random."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("campaign", help="slug of the draft, which becomes the first arm")
        parser.add_argument("--name", required=True, help="name of the study; annotators see it")
        parser.add_argument(
            "--setting", action="append", choices=tuple(SETTINGS), required=True, help="may be given several times"
        )
        parser.add_argument(
            "--chatbots",
            action="append",
            metavar="NAME,NAME",
            default=[],
            help="a set of chatbots by their names; may be given several times (default: one set of all chatbots)",
        )
        parser.add_argument("--repetitions", type=_repetitions, default=1, help=f"1 to {MOST_REPETITIONS}")
        parser.add_argument("--launch", action="store_true", help="launch all arms at once")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(slug=options["campaign"]).first()
        if campaign is None:
            raise CommandError(f"There is no campaign {shown(options['campaign'])}. Check its slug.")
        sets = [_members(campaign, names) for names in options["chatbots"]]
        arms = Arms(options["setting"], sets, options["repetitions"])
        try:
            with write_transaction():
                study = study_build(campaign=campaign, name=options["name"], arms=arms)
                if options["launch"]:
                    study_open(study=study)
        except TouchstoneError as error:
            raise CommandError(f"{shown(error.message)} {error.hint}".strip()) from error
        self._tell(study)

    def _tell(self, study: Study) -> None:
        for arm in Campaign.objects.filter(live__study=study).select_related("live").order_by("pk"):
            chatbots = Entrant.objects.filter(campaign=arm, state=Entrant.State.ACTIVE)
            names = ", ".join(shown(name) for name in chatbots.values_list("version__chatbot__name", flat=True))
            self.stdout.write(
                f"{arm.slug}: {arm.live.setting}, repetition {arm.live.repetition}, {arm.state} ({names})"
            )
        self.stdout.write(f"Address for annotators: {study_address(study)}")


def _repetitions(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 3 and 1 <= int(text) <= MOST_REPETITIONS):
        raise ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_REPETITIONS}")
    return int(text)


def _members(campaign: Campaign, names: str) -> list[int]:
    """Return the entrants with these names. Raises CommandError for a name that no chatbot of the draft has."""
    own = dict(campaign.entrants.filter(state=Entrant.State.ACTIVE).values_list("version__chatbot__name", "pk"))
    wanted = [name.strip() for name in names.split(",")]
    if unknown := [name for name in wanted if name not in own]:
        raise CommandError(f"The draft has no chatbot {shown(unknown[0])!r}. It has: {', '.join(map(shown, own))}.")
    return [own[name] for name in wanted]
