"""Read queries on campaigns."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.library import prompt_sets_owned
from evalsite.campaigns.models import Aspect, Campaign, Entrant, GoldItem, Onboarding
from evalsite.chatbots.models import Reply, Version
from evalsite.chatbots.selectors import replies_counted
from evalsite.core.audit import audit_of
from evalsite.core.composed import composed
from evalsite.core.errors import NotAllowed, NotFound
from evalsite.prompts.models import PromptSet

ModelT = TypeVar("ModelT", bound=Model)


def as_uuid(key: str) -> uuid.UUID | None:
    """Return the key as a public id, or None for a slug.

    Only the canonical spelling is accepted. Otherwise caches by address would store one entry for each spelling.
    """
    try:
        found = uuid.UUID(key)
    except ValueError:
        return None
    return found if str(found) == key else None


def visible_to(user: User | None, *, by_link: bool) -> Q:
    """Return the condition for campaigns that this person can see, with or without a secret link."""
    allowed = open_to_anybody(by_link=by_link) | Q(pk__in=Campaign.objects.of(user))
    return allowed | Q(pk__isnull=False) if user is not None and user.is_staff else allowed


def open_to_anybody(*, by_link: bool) -> Q:
    """Return the condition for campaigns that every reader can see, with or without a secret link."""
    open_to = [Campaign.Visibility.PUBLIC, *([Campaign.Visibility.LINK] if by_link else [])]
    return Q(visibility__in=open_to) & ~Q(state=Campaign.State.DRAFT)


def campaign_get(*, key: str, user: User | None) -> Campaign:
    """Return the campaign at this address if this person may see it. Raises NotFound, also for hidden ones."""
    for found in campaigns_at(key, user):
        return found
    raise NotFound(
        gettext("There is no such campaign."),
        hint=gettext("Check the address; a private campaign needs you to log in."),
    )


def campaigns_at(key: str, user: User | None) -> list[Campaign]:
    """Return the campaign at a public address, or nothing if this person may not see it.

    A public id is a secret link: it opens public and link-only campaigns. A slug can be guessed: it opens only public
    ones. Drafts are hidden from others, whatever their later visibility. Members of the organisation open all of its
    campaigns either way, and staff open every campaign.
    """
    public_id = as_uuid(key)
    if user is None or not user.is_authenticated:
        return _open_by_link(public_id) if public_id else _open_by_slug(key)
    if user.is_staff:
        return _any_by_link(public_id) if public_id else _any_by_slug(key)
    return _seen_by_link(user.pk, public_id) if public_id else _seen_by_slug(user.pk, key)


@composed
def _open_by_link(public_id: uuid.UUID) -> QuerySet[Campaign, Campaign]:
    return _at(open_to_anybody(by_link=True) & Q(public_id=public_id))


@composed
def _open_by_slug(slug: str) -> QuerySet[Campaign, Campaign]:
    return _at(open_to_anybody(by_link=False) & Q(slug=slug))


@composed
def _any_by_link(public_id: uuid.UUID) -> QuerySet[Campaign, Campaign]:
    return _at(Q(public_id=public_id))


@composed
def _any_by_slug(slug: str) -> QuerySet[Campaign, Campaign]:
    return _at(Q(slug=slug))


@composed
def _seen_by_link(user: int, public_id: uuid.UUID) -> QuerySet[Campaign, Campaign]:
    return _at((open_to_anybody(by_link=True) | _of_person(user)) & Q(public_id=public_id))


@composed
def _seen_by_slug(user: int, slug: str) -> QuerySet[Campaign, Campaign]:
    return _at((open_to_anybody(by_link=False) | _of_person(user)) & Q(slug=slug))


def _of_person(user: int) -> Q:
    return Q(pk__in=Campaign.objects.of_key(user))


def _at(seen: Q) -> QuerySet[Campaign, Campaign]:
    return Campaign.objects.filter(seen).select_related("organisation", "rubric")


def stopped_by_hand(campaign: Campaign) -> bool:
    """Return whether a person ended the campaign, which is final."""
    last = audit_of(campaign.public_id).filter(act="stop").first()
    return campaign.state == Campaign.State.STOPPED and last is not None and last.actor is not None


def gold_in_use(campaign: Campaign) -> QuerySet[GoldItem]:
    """Return the campaign's gold items that are not withdrawn."""
    return GoldItem.objects.filter(campaign=campaign, withdrawal__isnull=True).order_by("pk")


def gold_misfits(campaign: Campaign) -> tuple[list[str], list[str]]:
    """Return keys of unusable gold items, in two lists.

    The first lists items that no answer, or every answer, to the question passes. The second lists items on prompts of
    another set.
    """
    choices = set(aspect_primary(campaign).choices)
    sets = {campaign.prompt_set_id, campaign.gold_set_id}
    rows = list(gold_in_use(campaign).values_list("key", "right", "prompt__prompt_set"))
    telling_nothing = [key for key, right, _ in rows if not choices & set(right) or choices <= set(right)]
    return telling_nothing, [key for key, _, prompt_set in rows if prompt_set not in sets]


def qualification_misfits(campaign: Campaign) -> list[int]:
    """Return the numbers (from 1) of qualification items whose correct answer the question does not offer."""
    choices = aspect_primary(campaign).choices
    found = campaign.qualification_items.exclude(right__in=choices).order_by("position")
    return [position + 1 for position in found.values_list("position", flat=True)]


def campaigns_listed(user: User | None) -> QuerySet[Campaign]:
    """Return the campaigns that this person finds without a link: started public ones, and all of their own."""
    if user is not None and user.is_staff:
        return Campaign.objects.all()
    begun = Q(visibility=Campaign.Visibility.PUBLIC) & ~Q(state=Campaign.State.DRAFT)
    return Campaign.objects.filter(begun | Q(pk__in=Campaign.objects.of(user)))


def campaigns_open_beside(campaign: Campaign) -> list[Campaign]:
    """Return up to three other public campaigns of the organisation that accept anybody's judgments, newest first."""
    crowd = Q(onboarding__platform__isnull=False) & ~Q(onboarding__platform=Onboarding.Platform.NONE)
    found = Campaign.objects.filter(
        organisation=campaign.organisation_id,
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        state__in=Campaign.COLLECTING,
    )
    return list(found.exclude(crowd).exclude(pk=campaign.pk).order_by("-pk")[:3])


def campaign_of_member(*, key: str, user: User | None) -> Campaign:
    """Return the campaign at this address for members of its organisation. Raises NotFound, NotAllowed."""
    campaign = campaign_get(key=key, user=user)
    is_staff = user is not None and user.is_staff
    if not is_staff and not Campaign.objects.of(user).filter(pk=campaign.pk).exists():
        raise NotAllowed(
            gettext("Only members of the campaign's organisation see this."), hint=gettext("Use a member's token.")
        )
    return campaign


def aspect_primary(campaign: Campaign) -> Aspect:
    """Return the primary question of the campaign."""
    (primary,) = _aspects_first(campaign.rubric_id)
    return primary


@composed
def _aspects_first(rubric: int) -> QuerySet[Aspect, Aspect]:
    return Aspect.objects.filter(rubric=rubric, position=0)


@composed
def aspects_of(campaign: int) -> QuerySet[Aspect, Aspect]:
    """Return the aspects of a campaign (its key), the primary one first."""
    return Aspect.objects.filter(rubric__campaigns=campaign).order_by("position")


def onboarding_of(campaign: Campaign) -> Onboarding:
    """Return the campaign's onboarding, or the defaults."""
    for found in _onboardings(campaign.pk):
        found.campaign = campaign
        return found
    return Onboarding(campaign=campaign)


@composed
def _onboardings(campaign: int) -> QuerySet[Onboarding, Onboarding]:
    return Onboarding.objects.filter(campaign=campaign)


def campaigns_to_judge() -> QuerySet[Campaign]:
    """Return the public campaigns where anybody may judge now, newest first."""
    return Campaign.objects.filter(
        visibility=Campaign.Visibility.PUBLIC,
        admission=Campaign.Admission.OPEN,
        state__in=[Campaign.State.PILOT, Campaign.State.RUNNING],
    ).order_by("-pk")


def entrants_active(campaign: Campaign) -> QuerySet[Entrant]:
    """Return the active entrants in the order of joining."""
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE)
    return active.select_related("version__chatbot").order_by("pk")


def versions_withdrawn(campaigns: Iterable[Campaign]) -> dict[str, str]:
    """Return public ids of versions that are active in none of these campaigns, with the latest reason."""
    entrants = Entrant.objects.filter(campaign__in=list(campaigns))
    gone = entrants.filter(state=Entrant.State.WITHDRAWN).order_by("pk")
    reasons = dict(gone.values_list("version", "withdrawn_reason"))
    if not reasons:
        return {}
    still = entrants.filter(state=Entrant.State.ACTIVE, version__in=reasons).values_list("version", flat=True)
    kept = Version.objects.filter(pk__in=reasons.keys() - set(still))
    return {str(public_id): reasons[pk] for pk, public_id in kept.values_list("pk", "public_id")}


def chatbots_verified(campaigns: Iterable[Campaign]) -> frozenset[str]:
    """Return public ids of the chatbots in these campaigns whose organisation staff have verified."""
    verified = Entrant.objects.filter(
        campaign__in=list(campaigns), version__chatbot__organisation__verified_at__isnull=False
    )
    return frozenset(map(str, verified.values_list("version__chatbot__public_id", flat=True)))


@dataclass(frozen=True, slots=True)
class Taking:
    """A version with its status in a campaign, and its number of replies to the campaign's prompts."""

    version: Version
    entrant: Entrant | None
    replies: int
    missing: int


def entrants_with_replies(campaign: Campaign) -> tuple[list[Taking], list[Taking], int]:
    """Return all entrants ever, other versions of the organisation (most replies first), and the prompt count."""
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    has = replies_counted(campaign.prompt_set)
    part = {one.version_id: one for one in campaign.entrants.select_related("version__chatbot").order_by("pk")}
    taking = [
        Taking(entrant.version, entrant, has.get(pk, 0), prompts - has.get(pk, 0)) for pk, entrant in part.items()
    ]
    best = Version.objects.filter(chatbot__organisation=campaign.organisation_id, pk__in=has.keys() - part.keys())
    other = sorted(best.select_related("chatbot"), key=lambda one: (-has[one.pk], one.pk))
    could = [Taking(one, None, has[one.pk], prompts - has[one.pk]) for one in other[:100]]
    return taking, could, prompts


def replies_to_judge(campaign: Campaign) -> int:
    """Return the number of replies of active chatbots to the campaign's prompts, wherever their texts are stored."""
    active = campaign.entrants.filter(state=Entrant.State.ACTIVE).values("version")
    found = Reply.objects.filter(version__in=active, prompt__prompt_set=campaign.prompt_set_id, sample=1)
    return found.filter(corrected_by__isnull=True, prompt__corrected_by__isnull=True).count()


def prompt_sets_to_use(campaign: Campaign, user: User) -> list[PromptSet]:
    """Return usable prompt sets of the organisation with their `size`, newest first.

    Empty sets and sets of gold are left out, and so is the campaign's own set. Only members of the organisation and
    staff get a list: a role in a campaign gives no access to other data of the organisation.
    """
    sets = prompt_sets_owned(user).filter(organisation=campaign.organisation_id)
    size = Count("prompts", filter=Q(prompts__corrected_by__isnull=True))
    found = sets.exclude(pk=campaign.prompt_set_id).annotate(size=size).filter(size__gt=0)
    return list(found.order_by("-pk")[:100])


def asked_by(prompt_set: PromptSet, user: User) -> tuple[bool, str]:
    """Return whether a started campaign uses these prompts, and its name if this person may know of it."""
    asking = Campaign.objects.filter(prompt_set=prompt_set).exclude(state=Campaign.State.DRAFT)
    known = campaigns_listed(user).filter(pk__in=asking).order_by("pk").values_list("name", flat=True).first()
    return known is not None or asking.exists(), known or ""


def prompts_lacking(campaign: Campaign, versions: Sequence[Version], at_most: int) -> list[tuple[str, list[bool]]]:
    """Return the first prompt keys without a reply of some version, each with the versions that have one; one query."""
    if not versions:
        return []
    shown = Reply.objects.shown().filter(prompt=OuterRef("pk"))
    has = {f"has_{one.pk}": Exists(shown.filter(version=one)) for one in versions}
    lacks = Q(pk__in=[])
    for name in has:
        lacks |= Q(**{name: False})
    rows = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).annotate(**has).filter(lacks)
    return [(key, list(each)) for key, *each in rows.order_by("pk").values_list("key", *has)[:at_most]]


def prompts_readable(campaign: Campaign, user: User | None) -> bool:
    """Return whether a reader of the board may read its prompts. Members always may."""
    if campaign.shows_prompts or (user is not None and user.is_staff):
        return True
    return Campaign.objects.of(user).filter(pk=campaign.pk).exists()
