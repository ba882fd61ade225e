"""`manage.py setup_link`: print the link that creates the first administrator."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from evalsite.accounts.first_administrator import administrator_exists, setup_link_issue
from evalsite.core.errors import TouchstoneError


class Command(BaseCommand):
    help = "Print a link that creates the first administrator: once, within a day. A new link replaces the earlier one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--site", default="", help="address of the site (default: SITE_URL)")
        parser.add_argument("--if-needed", action="store_true", help="print nothing if an administrator exists")

    def handle(self, *args: Any, site: str = "", if_needed: bool = False, **options: Any) -> None:
        if if_needed and administrator_exists():
            return
        try:
            secret = setup_link_issue()
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error
        link = f"{site or settings.SITE_URL}{reverse('setup_link', args=[secret])}"
        self.stdout.write(f"This site has no administrator. Create the first one here, within a day:\n  {link}")
