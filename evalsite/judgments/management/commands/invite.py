"""`manage.py invite`: create or revoke an invitation link to a campaign."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from evalsite.campaigns.models import Campaign
from evalsite.core.errors import TouchstoneError
from evalsite.judgments.arrivals import invitation_issue, invitation_revoke


class Command(BaseCommand):
    help = "Print the link of a new invitation to a campaign (shown only once), or revoke one by its name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("campaign", help="its slug")
        parser.add_argument("--name", required=True, help="whom it is for")
        parser.add_argument("--at-most", type=int, help="annotators that it admits (default: any number)")
        parser.add_argument("--days", type=int, default=30, help="until it expires (default 30)")
        parser.add_argument("--revoke", action="store_true", help="end the invitations of this name at once")

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = Campaign.objects.filter(slug=options["campaign"]).first()
        if campaign is None:
            raise CommandError(f"There is no campaign called {options['campaign']!r}.")
        try:
            self._do(campaign, options)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error

    def _do(self, campaign: Campaign, options: dict[str, Any]) -> None:
        if options["revoke"]:
            invitation_revoke(campaign=campaign, name=options["name"])
            self.stdout.write(f"Revoked: {options['name']}")
            return
        secret = invitation_issue(
            campaign=campaign, name=options["name"], at_most=options["at_most"], days=options["days"]
        )
        self.stdout.write(settings.SITE_URL + reverse("join", args=[secret]))
