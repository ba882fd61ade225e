"""`manage.py roles > docs/roles.md`: the table of roles and acts."""

from typing import Any

from django.core.management.base import BaseCommand

from evalsite.campaigns.permissions import as_markdown


class Command(BaseCommand):
    help = "Print which role may do what in a campaign (docs/roles.md)."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(as_markdown(), ending="")
