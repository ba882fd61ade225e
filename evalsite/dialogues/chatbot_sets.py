"""Choice of the chatbots of a conversation, with the probability of the choice."""

import itertools
import math
import random
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from evalsite.campaigns.models import Campaign, Entrant, LiveSettings
from evalsite.campaigns.services import plan_request
from evalsite.dialogues.models import Conversation, ConversationEntrant, PlannedSet, Turn
from evalsite.endpoints.models import Endpoint
from evalsite.endpoints.selectors import endpoint_cost
from evalsite.endpoints.states import CALLED
from evalsite.judgments.models import Annotator

RANDOM, LEAST_EXPOSED = "random", "least_exposed"
MOST_SETS = 20_000  # sets that are listed; of more, some are drawn
DRAWS = 200
MOST_READ = 50  # planned sets, for an annotator who may not have the first ones
LOW = 10  # planned sets below which a plan is requested


@dataclass(frozen=True, slots=True)
class ChosenSet:
    """Chatbots (entrant ids, ascending) with the origin and the probability of their choice."""

    entrants: tuple[int, ...]
    policy: str
    probability: float | None
    snapshot: uuid.UUID | None = None
    plan_seed: int | None = None


def set_key(entrants: Collection[int]) -> str:
    """Return the key of a set: ids in ascending order, joined by '-'."""
    return "-".join(str(number) for number in sorted(entrants))


def set_parts(key: str) -> tuple[int, ...]:
    """Return the entrant ids of a key."""
    return tuple(map(int, key.split("-")))


def entrants_available(campaign: Campaign, *, without: Collection[int] = ()) -> list[int]:
    """Return the ids of active chatbots whose endpoint is called now, that nobody paused, and that no cap stops."""
    active = Entrant.objects.filter(campaign=campaign, state=Entrant.State.ACTIVE, live_pause__isnull=True)
    callable_now = active.filter(version__endpoint__state__in=CALLED).exclude(pk__in=list(without))
    endpoints = Endpoint.objects.filter(version__entrants__in=callable_now).filter(
        Q(daily_cap__isnull=False) | Q(version_cap__isnull=False)
    )
    capped = {endpoint.version_id for endpoint in endpoints.distinct() if endpoint_cost(endpoint).at_cap}
    rows = callable_now.order_by("pk").values_list("pk", "version_id")
    return [number for number, version in rows if version not in capped]


def sets_used_up(campaign: Campaign, live: LiveSettings, annotator: Annotator) -> set[tuple[int, ...]]:
    """Return the sets of which the annotator has had as many conversations as one may have in this setting.

    In a study, conversations of all its arms with the same setting count, by the chatbots' versions.
    """
    had = Conversation.objects.filter(annotator=annotator, setting=live.setting)
    if live.study_id is None:
        counts = Counter(had.filter(campaign=campaign).values_list("chatbot_set", flat=True))
        return {set_parts(key) for key, count in counts.items() if count >= live.conversations_per_annotator}
    own = dict(Entrant.objects.filter(campaign=campaign).values_list("version_id", "pk"))
    arms = Campaign.objects.filter(live__study=live.study_id)
    versions = dict(Entrant.objects.filter(campaign__in=arms).values_list("pk", "version_id"))
    here: Counter[tuple[int, ...]] = Counter()
    for key in had.filter(campaign__in=arms).values_list("chatbot_set", flat=True):
        members = [own.get(versions.get(number, 0)) for number in set_parts(key)]
        if None not in members:
            here[tuple(sorted(number for number in members if number is not None))] += 1
    return {members for members, count in here.items() if count >= live.conversations_per_annotator}


def set_choose(
    campaign: Campaign, live: LiveSettings, available: Sequence[int], used: Collection[tuple[int, ...]], seed: int
) -> ChosenSet | None:
    """Choose the chatbots of the next conversation; None if every set is used up. Runs in the start's transaction.

    Two chatbots: the first planned set that is available. Otherwise, and for one chatbot, a random set. More than two:
    the chatbots with the fewest conversations, which counts those in progress.
    """
    size, rng = live.chatbots_per_conversation, random.Random(seed)  # noqa: S311  a draw, not a secret
    if len(available) < size:
        return None
    if size == 2 and (planned := _planned(campaign, set(available), used)) is not None:
        return planned
    if size > 2 and (exposed := _least_exposed(campaign, available, size, rng)).entrants not in used:
        return exposed
    if math.comb(len(available), size) <= MOST_SETS:
        free = [one for one in itertools.combinations(sorted(available), size) if one not in used]
        return ChosenSet(rng.choice(free), RANDOM, 1 / len(free)) if free else None
    for _ in range(DRAWS):
        one = tuple(sorted(rng.sample(sorted(available), size)))
        if one not in used:
            return ChosenSet(one, RANDOM, 1 / (math.comb(len(available), size) - len(used)))
    return None


def _planned(campaign: Campaign, available: set[int], used: Collection[tuple[int, ...]]) -> ChosenSet | None:
    """Take the next planned set whose chatbots are available. Request a plan when few are left."""
    waiting = PlannedSet.objects.filter(campaign=campaign).order_by("priority", "pk")
    rows = list(waiting[:MOST_READ])
    if len(rows) <= LOW:
        plan_request(campaign)
    for row in rows:
        parts = set_parts(row.entrants)
        if available.issuperset(parts) and parts not in used and _take(row):
            return ChosenSet(parts, row.policy, row.probability, row.snapshot, row.plan_seed)
    return None


def _take(row: PlannedSet) -> bool:
    """Delete a planned set, unless another start is taking it at this moment."""
    free = PlannedSet.objects.filter(pk=row.pk).select_for_update(skip_locked=True).first()
    return free is not None and bool(free.delete()[0])


def _least_exposed(campaign: Campaign, available: Sequence[int], size: int, rng: random.Random) -> ChosenSet:
    """Choose the chatbots with the fewest conversations; ties are drawn at random."""
    members = ConversationEntrant.objects.filter(conversation__campaign=campaign, entrant__in=available)
    had = Counter(members.values_list("entrant", flat=True))
    ordered = sorted(sorted(available), key=lambda number: had[number])
    last = had[ordered[size - 1]]
    sure = [number for number in ordered if had[number] < last]
    tied = [number for number in ordered if had[number] == last]
    drawn = rng.sample(tied, size - len(sure))
    return ChosenSet(tuple(sorted([*sure, *drawn])), LEAST_EXPOSED, 1 / math.comb(len(tied), len(drawn)))


def turns_ahead(campaign: Campaign) -> dict[str, int]:
    """Return how many judged turns the conversations in progress will still have at least, by set (key)."""
    live = LiveSettings.objects.filter(campaign=campaign).first()
    open_ones = Conversation.objects.filter(campaign=campaign, state=Conversation.State.OPEN)
    over = Count("turns", filter=~Q(turns__state__in=Turn.OPEN))
    found: Counter[str] = Counter()
    for chatbot_set, done in open_ones.annotate(done=over).values_list("chatbot_set", "done"):
        found[chatbot_set] += max(1, (live.minimum_turns if live else 1) - done)
    return dict(found)


def planned_sets_replace(campaign: Campaign, sets: Sequence[PlannedSet]) -> None:
    """Replace the planned sets of a campaign. Runs in the transaction of the plan."""
    PlannedSet.objects.filter(campaign=campaign).delete()
    PlannedSet.objects.bulk_create(sets, batch_size=200)
