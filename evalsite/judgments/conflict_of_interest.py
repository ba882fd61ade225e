"""Conflicts of interest: if others see the board, nobody judges their own chatbots."""

from collections.abc import Collection
from typing import Any

from django.db.models import Count, Q, QuerySet

from evalsite.accounts.models import Membership, User
from evalsite.campaigns.models import Campaign, Entrant


def own_entrants(campaign: Campaign, users: Collection[int]) -> set[int]:
    """Return the entrants of these people's (keys) organisations, which they may not judge.

    One of the people uses the device; others were logged in there before, as far as the device remembers.

    In a private campaign, members of its organisation do judge its chatbots: nobody else sees the board, and often
    there are no other annotators. Annotators without an account are pseudonyms, whose organisations are unknown.
    """
    if not users:
        return set()
    theirs = Membership.objects.filter(user__in=users).values("organisation")
    own = Entrant.objects.filter(_owned_or_made_by(theirs), campaign=campaign)
    if campaign.visibility == Campaign.Visibility.PRIVATE:
        own = own.exclude(version__chatbot__organisation=campaign.organisation_id)
    return set(own.values_list("pk", flat=True))


def _owned_or_made_by(organisations: Any) -> Q:
    """Match entrants that these organisations own or made."""
    return Q(version__chatbot__organisation__in=organisations) | Q(version__chatbot__made_by__in=organisations)


def is_left_out(campaign: Campaign, user: User | None, *, users: Collection[int] = ()) -> bool:
    """Return whether conflicts of interest leave this person no pair to compare.

    `users` are others who were logged in on the device.
    """
    own = own_entrants(campaign, {*users, *([user.pk] if user is not None else [])})
    return bool(own) and not leaves_a_pair(campaign, own)


def members_are_left_out(campaign: Campaign) -> bool:
    """Return whether a campaign for members only has no pair for any member.

    This is so if its organisation owns all but one of the chatbots and others see the board.
    """
    return campaign.visibility != Campaign.Visibility.PRIVATE and members_would_be_left_out(campaign)


def members_would_be_left_out(campaign: Campaign) -> bool:
    """Return the result of `members_are_left_out` if others could see the board."""
    if campaign.admission != Campaign.Admission.MEMBERS:
        return False
    own = Entrant.objects.filter(_owned_or_made_by([campaign.organisation_id]), campaign=campaign)
    keys = set(own.values_list("pk", flat=True))
    return bool(keys) and not leaves_a_pair(campaign, keys)


def leaves_a_pair(campaign: Campaign, own: set[int]) -> bool:
    """Return whether enough entrants remain without these: two, or one where replies are judged one at a time."""
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE)
    return active.exclude(pk__in=own).count() >= (1 if campaign.is_single else 2)


def campaigns_with_others(user: User) -> QuerySet[Entrant]:
    """Return keys of campaigns with at least two active entrants of other organisations."""
    theirs = Membership.objects.filter(user=user).values("organisation")
    others = Entrant.objects.filter(state=Entrant.State.ACTIVE).exclude(_owned_or_made_by(theirs))
    pairs = others.order_by().values("campaign").annotate(count=Count("pk")).filter(count__gte=2)
    return pairs.values("campaign")  # type: ignore[return-value]
