"""`manage.py api_token`: issue or revoke an API key for a person's programs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue, api_token_revoke
from evalsite.core.errors import TouchstoneError


class Command(BaseCommand):
    help = "Print a new API token for a person (shown only once), or revoke one by its name."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", required=True, help="what the token is for")
        parser.add_argument("--scope", action="append", choices=ApiToken.Scope.values, help="once for each")
        parser.add_argument("--days", type=int, default=90, help="until it expires (default 90)")
        parser.add_argument("--revoke", action="store_true", help="end the token of this name at once")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account called {options['username']!r}.")
        try:
            self._do(user, options)
        except TouchstoneError as error:
            raise CommandError(f"{error.message} {error.hint}".strip()) from error

    def _do(self, user: User, options: dict[str, Any]) -> None:
        if options["revoke"]:
            api_token_revoke(user=user, name=options["name"])
            self.stdout.write(f"Revoked: {options['name']}")
            return
        scopes = options["scope"] or [ApiToken.Scope.CAMPAIGNS]
        self.stdout.write(api_token_issue(user=user, name=options["name"], scopes=scopes, days=options["days"]))
