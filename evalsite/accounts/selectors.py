"""What is read about accounts and their API tokens."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from evalsite.accounts.models import ApiToken, User

SHOWN_TOKENS = 100


@dataclass(frozen=True, slots=True)
class TokenRow:
    """An API token as its owner's page lists it. `state` is in_force, expired or revoked."""

    number: int
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    state: str


def api_tokens_of(user: User) -> list[TokenRow]:
    """Return this person's API tokens: those that are not revoked first, then the newest first."""
    now = timezone.now()
    rows = [_row(token, now) for token in ApiToken.objects.filter(user=user).order_by("-pk")[:SHOWN_TOKENS]]
    return sorted(rows, key=lambda row: row.state == "revoked")


def _row(token: ApiToken, now: datetime) -> TokenRow:
    state = "revoked" if token.revoked_at else "in_force" if token.expires_at > now else "expired"
    return TokenRow(
        token.pk, token.name, tuple(token.scopes), token.created_at, token.expires_at, token.last_used_at, state
    )
