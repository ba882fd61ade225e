"""`manage.py migrate`: Django's command. It first refuses databases whose migrations are no longer in the code."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections

from evalsite.core.errors import Conflict
from evalsite.core.migration_history import older_state_refuse


class Command(MigrateCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            older_state_refuse(connections[options["database"]])
        except Conflict as error:
            raise CommandError(f"{error.message} {error.hint}") from error
        super().handle(*args, **options)
