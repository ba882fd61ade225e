"""What an organisation compares with: its chatbots and prompt sets, where they are used, how complete they are."""

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
    """How many of a prompt set's prompts a version has a reply to that can be shown."""

    version: Version
    prompt_set: PromptSet
    replies: int
    prompts: int

    @property
    def missing(self) -> int:
        return self.prompts - self.replies


def chatbots_owned(user: User) -> QuerySet[Chatbot]:
    """Chatbots of this person's organisations (staff: all), with `versions_count` and `campaigns_count`."""
    own = Chatbot.objects.all() if user.is_staff else Chatbot.objects.of(user)
    versions = Version.objects.filter(chatbot=OuterRef("pk"))
    campaigns = Entrant.objects.filter(version__chatbot=OuterRef("pk"))
    counts = {
        "versions_count": _number(versions, "chatbot", "pk"),
        "campaigns_count": _number(campaigns, "version__chatbot", "campaign"),
    }
    found: QuerySet[Chatbot] = own.select_related("organisation").annotate(**counts).order_by("name", "pk")
    return found


def prompt_sets_owned(user: User) -> QuerySet[PromptSet]:
    """Prompt sets of this person's organisations (staff: all), with `prompts_count` and `campaigns_count`.

    Without those that only gold is shown from: who sees a list of them sees what is gold.
    """
    own = PromptSet.objects.all() if user.is_staff else PromptSet.objects.of(user)
    prompts = Prompt.objects.filter(prompt_set=OuterRef("pk"), corrected_by__isnull=True)
    campaigns = Campaign.objects.filter(prompt_set=OuterRef("pk"))
    counts = {
        "prompts_count": _number(prompts, "prompt_set", "pk"),
        "campaigns_count": _number(campaigns, "prompt_set", "pk"),
    }
    shown = own.filter(gold_of__isnull=True).select_related("organisation")
    found: QuerySet[PromptSet] = shown.annotate(**counts).order_by("name", "pk")
    return found


def _number(rows: QuerySet, group: str, field: str) -> Coalesce:  # type: ignore[type-arg]
    """How many there are, as a subquery: one join less than counting over both would multiply."""
    counted = rows.order_by().values(group).annotate(number=Count(field, distinct=True)).values("number")
    return Coalesce(Subquery(counted[:1], output_field=IntegerField()), 0)


def chatbot_owned(user: User, public_id: uuid.UUID) -> Chatbot:
    """Raises NotFound: alike for what is not there and what is not theirs."""
    found = chatbots_owned(user).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(
            gettext("There is no such chatbot."), hint=gettext("It may belong to an organisation that you are not in.")
        )
    return found


def prompt_set_owned(user: User, public_id: uuid.UUID) -> PromptSet:
    """Raises NotFound: alike for what is not there and what is not theirs."""
    found = prompt_sets_owned(user).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(
            gettext("There is no such prompt set."),
            hint=gettext("It may belong to an organisation that you are not in."),
        )
    return found


def part_taken(chatbot: Chatbot) -> list[Entrant]:
    """Where the chatbot's versions take or took part, newest first."""
    entrants = Entrant.objects.filter(version__chatbot=chatbot).select_related("campaign", "version__chatbot")
    return list(entrants.order_by("-pk")[:MOST_CAMPAIGNS])


def completeness_of_chatbot(versions: Sequence[Version]) -> list[Completeness]:
    """By version and set, where there is at least one reply; two queries."""
    replies = Reply.objects.shown().filter(version__in=versions, prompt__corrected_by__isnull=True)
    counted = replies.order_by().values_list("version", "prompt__prompt_set").annotate(count=Count("pk"))
    found = list(counted)
    in_force = Count("prompts", filter=Q(prompts__corrected_by__isnull=True))
    sets = PromptSet.objects.filter(pk__in={number for _, number, _ in found}).annotate(size=in_force).in_bulk()
    by_key = {version.pk: version for version in versions}
    rows = [Completeness(by_key[key], sets[number], count, sets[number].size) for key, number, count in found]
    return sorted(rows, key=lambda row: (-row.version.pk, row.prompt_set.name))


def completeness_of_set(prompt_set: PromptSet) -> list[Completeness]:
    """Of the versions that have replied, the newest first."""
    prompts = prompt_set.prompts.filter(corrected_by__isnull=True).count()
    has = replies_counted(prompt_set)
    versions = Version.objects.filter(pk__in=has).select_related("chatbot").order_by("-pk")[:MOST_VERSIONS]
    return [Completeness(one, prompt_set, has[one.pk], prompts) for one in versions]


def prompts_shown(prompt_set: PromptSet, lacked_by: Version | None = None) -> QuerySet[Prompt]:
    """The prompts in force, with `replies_count`; `lacked_by`: only those to which this version has no reply."""
    prompts = prompt_set.prompts.filter(corrected_by__isnull=True).order_by("pk")
    shown = Reply.objects.shown().filter(prompt=OuterRef("pk"))
    if lacked_by is not None:
        prompts = prompts.filter(~Exists(shown.filter(version=lacked_by)))
    return prompts.annotate(replies_count=_number(shown, "prompt", "version"))


def campaigns_using(prompt_set: PromptSet) -> list[Campaign]:
    """Newest first."""
    return list(Campaign.objects.filter(prompt_set=prompt_set).order_by("-pk")[:MOST_CAMPAIGNS])
