"""What pages read about accounts: API tokens, organisations, members and invitations."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet
from django.utils import timezone

from evalsite.accounts.models import ApiToken, Membership, Organisation, User
from evalsite.core.composed import composed

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


@composed
def api_tokens_in_force(sha256: str, now: datetime) -> QuerySet[ApiToken, ApiToken]:
    """Return the token with this hash, with its person, if it is in force."""
    tokens = ApiToken.objects.filter(sha256=sha256, revoked_at=None, expires_at__gt=now, user__is_active=True)
    return tokens.select_related("user")


@composed
def membership_roles(user: int, organisation: int) -> QuerySet[Membership, str]:
    """Return the role of a person in an organisation (keys of both): a list of one, or none."""
    return Membership.objects.filter(user=user, organisation=organisation).values_list("role", flat=True)


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


@dataclass(frozen=True, slots=True)
class OrganisationRow:
    """An organisation as its member's page lists it."""

    slug: str
    name: str
    verified: bool
    role: str
    members: int


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of an organisation. Other members never see the person's e-mail address."""

    public_id: uuid.UUID
    name: str
    role: str
    role_text: str
    since: datetime


@dataclass(frozen=True, slots=True)
class InvitationRow:
    """An open invitation, which owners see."""

    public_id: uuid.UUID
    email: str
    role_text: str
    expires_at: datetime
    expired: bool


def organisations_of(user: User) -> list[OrganisationRow]:
    """Return the organisations of this person, without the personal ones."""
    held = Membership.objects.filter(user=user, organisation__personal_of=None).select_related("organisation")
    counted = held.annotate(members=Count("organisation__memberships")).order_by("organisation__name", "pk")
    return [
        OrganisationRow(
            one.organisation.slug,
            one.organisation.name,
            one.organisation.verified_at is not None,
            one.get_role_display(),
            one.members,
        )
        for one in counted
    ]


def members_of(organisation: Organisation) -> list[MemberRow]:
    """Return the members of an organisation, the earliest first."""
    rows = organisation.memberships.select_related("user").order_by("pk")
    return [
        MemberRow(one.user.public_id, one.user.get_username(), one.role, one.get_role_display(), one.created_at)
        for one in rows
    ]


def member_invitations_of(organisation: Organisation) -> list[InvitationRow]:
    """Return the open invitations of an organisation, the newest first, with the expired ones."""
    now = timezone.now()
    rows = organisation.member_invitations.exclude(email="").order_by("-pk")
    return [
        InvitationRow(one.public_id, one.email, one.get_role_display(), one.expires_at, one.expires_at <= now)
        for one in rows
    ]
