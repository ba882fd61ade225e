"""`manage.py load_demonstration`: the demonstration campaign in this database, which may be production."""

from typing import Any

from django.core.management.base import BaseCommand

from evalsite.demo.services import OPEN_SLUG, demonstration_load, open_campaign_load


class Command(BaseCommand):
    help = "Load the demonstration campaign and the standing one beside it. A second call changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        board = demonstration_load()
        open_campaign_load()
        self.stdout.write(f"Board: /boards/{board.slug}/")
        self.stdout.write(f"Judge:       /judge/{OPEN_SLUG}/")
