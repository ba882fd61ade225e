"""Library of an organisation: its chatbots and prompt sets, their campaigns and their completeness."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.chatbots.models import Chatbot, Reply, Version
from evalsite.chatbots.selectors import replies_counted
from evalsite.core.errors import NotFound
from evalsite.prompts.models import Prompt, PromptSet

MOST_CAMPAIGNS = 100
MOST_VERSIONS = 200


@dataclass(frozen=True, slots=True)
class Completeness:
    """The number of a prompt set's prompts with a reply of a version that can be shown."""

    version: Version
    prompt_set: PromptSet
    replies: int
    prompts: int

    @property
    def missing(self) -> int:
        return self.prompts - self.replies


def chatbots_owned(user: User) -> QuerySet[Chatbot]:
    """Return the chatbots of this person's organisations (staff: all), with `versions_count` and `campaigns_count`."""
    own = Chatbot.objects.all() if user.is_staff else Chatbot.objects.of(user)
    versions = Version.objects.filter(chatbot=OuterRef("pk"))
    campaigns = Entrant.objects.filter(version__chatbot=OuterRef("pk"))
    counts = {
        "versions_count": _count_subquery(versions, "chatbot", "pk"),
        "campaigns_count": _count_subquery(campaigns, "version__chatbot", "campaign"),
    }
    found: QuerySet[Chatbot] = own.select_related("organisation").annotate(**counts).order_by("name", "pk")
    return found


def prompt_sets_owned(user: User) -> QuerySet[PromptSet]:
    """Return the prompt sets of this person's organisations (staff: all), with `prompts_count` and `campaigns_count`.

    Sets that only gold uses are left out: their list would reveal which prompts are gold.
    """
    own = PromptSet.objects.all() if user.is_staff else PromptSet.objects.of(user)
    prompts = Prompt.objects.filter(prompt_set=OuterRef("pk"), corrected_by__isnull=True)
    campaigns = Campaign.objects.filter(prompt_set=OuterRef("pk"))
    counts = {
        "prompts_count": _count_subquery(prompts, "prompt_set", "pk"),
        "campaigns_count": _count_subquery(campaigns, "prompt_set", "pk"),
    }
    shown = own.filter(gold_of__isnull=True).select_related("organisation")
    found: QuerySet[PromptSet] = shown.annotate(**counts).order_by("name", "pk")
    return found


def _count_subquery(rows: QuerySet, group: str, field: str) -> Coalesce:  # type: ignore[type-arg]
    """Return a count as a subquery. A join over both tables would multiply the counts."""
    counted = rows.order_by().values(group).annotate(number=Count(field, distinct=True)).values("number")
    return Coalesce(Subquery(counted[:1], output_field=IntegerField()), 0)


def chatbot_owned(user: User, public_id: uuid.UUID) -> Chatbot:
    """Return the chatbot. Raises NotFound both for an unknown one and for one of another owner."""
    found = chatbots_owned(user).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(
            gettext("There is no such chatbot."), hint=gettext("It may belong to an organisation that you are not in.")
        )
    return found


def prompt_set_owned(user: User, public_id: uuid.UUID) -> PromptSet:
    """Return the prompt set. Raises NotFound both for an unknown one and for one of another owner."""
    found = prompt_sets_owned(user).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(
            gettext("There is no such prompt set."),
            hint=gettext("It may belong to an organisation that you are not in."),
        )
    return found


def entrants_of_chatbot(chatbot: Chatbot) -> list[Entrant]:
    """Return the past and present entrants of the chatbot's versions, newest first."""
    entrants = Entrant.objects.filter(version__chatbot=chatbot).select_related("campaign", "version__chatbot")
    return list(entrants.order_by("-pk")[:MOST_CAMPAIGNS])


def completeness_of_chatbot(versions: Sequence[Version]) -> list[Completeness]:
    """Return the completeness by version and set with at least one reply, in two queries."""
    replies = Reply.objects.shown().filter(version__in=versions, prompt__corrected_by__isnull=True)
    counted = replies.order_by().values_list("version", "prompt__prompt_set").annotate(count=Count("pk"))
    found = list(counted)
    in_force = Count("prompts", filter=Q(prompts__corrected_by__isnull=True))
    sets = PromptSet.objects.filter(pk__in={number for _, number, _ in found}).annotate(size=in_force).in_bulk()
    by_key = {version.pk: version for version in versions}
    rows = [Completeness(by_key[key], sets[number], count, sets[number].size) for key, number, count in found]
    return sorted(rows, key=lambda row: (-row.version.pk, row.prompt_set.name))


def completeness_of_set(prompt_set: PromptSet) -> list[Completeness]:
    """Return the completeness of the versions with replies, newest first."""
    prompts = prompt_set.prompts.filter(corrected_by__isnull=True).count()
    has = replies_counted(prompt_set)
    versions = Version.objects.filter(pk__in=has).select_related("chatbot").order_by("-pk")[:MOST_VERSIONS]
    return [Completeness(one, prompt_set, has[one.pk], prompts) for one in versions]


def prompts_shown(prompt_set: PromptSet, lacked_by: Version | None = None) -> QuerySet[Prompt]:
    """Return the current prompts with `replies_count`; with `lacked_by`, only those without a reply of this version."""
    prompts = prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")
    shown = Reply.objects.shown().filter(prompt=OuterRef("pk"))
    if lacked_by is not None:
        prompts = prompts.filter(~Exists(shown.filter(version=lacked_by)))
    return prompts.annotate(replies_count=_count_subquery(shown, "prompt", "version"))


def campaigns_using(prompt_set: PromptSet) -> list[Campaign]:
    """Return the campaigns that use this prompt set, newest first."""
    return list(Campaign.objects.filter(prompt_set=prompt_set).order_by("-pk")[:MOST_CAMPAIGNS])
