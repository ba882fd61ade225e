"""Nobody judges their own chatbots where others see the board: what that leaves for somebody with an account."""

from collections.abc import Collection
from typing import Any

from django.db.models import Count, Q, QuerySet

from evalsite.accounts.models import Membership, User
from evalsite.campaigns.models import Campaign, Entrant


def own_entrants(campaign: Campaign, users: Collection[int]) -> set[int]:
    """Entrants that these people (their keys) may not judge: those of the organisations that they are members of.

    One is at the device; others were logged in there before, as far as it remembers.

    In a private campaign its own organisation's members do judge its chatbots: nobody else sees the board, and often
    there is nobody else to judge. Who has no account is a pseudonym, of whom nobody knows the organisations.
    """
    if not users:
        return set()
    theirs = Membership.objects.filter(user__in=users).values("organisation")
    own = Entrant.objects.filter(_of(theirs), campaign=campaign)
    if campaign.visibility == Campaign.Visibility.PRIVATE:
        own = own.exclude(version__chatbot__organisation=campaign.organisation_id)
    return set(own.values_list("pk", flat=True))


def _of(organisations: Any) -> Q:
    """Entrants that belong to organisations, or that were made by them and are kept by another one."""
    return Q(version__chatbot__organisation__in=organisations) | Q(version__chatbot__made_by__in=organisations)


def is_left_out(campaign: Campaign, user: User | None, *, users: Collection[int] = ()) -> bool:
    """Whether this person, or who was logged in on their device (`users`), can be asked nothing here: fewer than two of
    those that take part are not their own."""
    own = own_entrants(campaign, {*users, *([user.pk] if user is not None else [])})
    return bool(own) and not leaves_a_pair(campaign, own)


def members_are_left_out(campaign: Campaign) -> bool:
    """Whether the campaign is judged by members alone and can ask them nothing: all but one of the chatbots are its
    organisation's, and others see the board."""
    return campaign.visibility != Campaign.Visibility.PRIVATE and members_would_be_left_out(campaign)


def members_would_be_left_out(campaign: Campaign) -> bool:
    """As `members_are_left_out`, if others saw the board."""
    if campaign.admission != Campaign.Admission.MEMBERS:
        return False
    own = Entrant.objects.filter(_of([campaign.organisation_id]), campaign=campaign)
    keys = set(own.values_list("pk", flat=True))
    return bool(keys) and not leaves_a_pair(campaign, keys)


def leaves_a_pair(campaign: Campaign, own: set[int]) -> bool:
    """Whether without these entrants there are two to compare."""
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE)
    return active.exclude(pk__in=own).count() >= 2


def campaigns_with_others(user: User) -> QuerySet[Entrant]:
    """Keys of campaigns in which two or more of those that take part are of no organisation of this person's."""
    theirs = Membership.objects.filter(user=user).values("organisation")
    others = Entrant.objects.filter(state=Entrant.State.ACTIVE).exclude(_of(theirs))
    pairs = others.order_by().values("campaign").annotate(count=Count("pk")).filter(count__gte=2)
    return pairs.values("campaign")  # type: ignore[return-value]
