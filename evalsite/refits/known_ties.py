"""Known ties: prompts to which two chatbots reply with the same text. Nobody is asked which reply is better."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from django.db.models import Count, Max, QuerySet

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.judgments.selectors import CountedVote

Tie = tuple[int, int, int]  # a prompt and two versions, the lower id first


def known_ties(board: Board, versions: Collection[int]) -> Counter[tuple[int, int]]:
    """Two versions' ids, the lower one first -> on how many prompts they are known to tie.

    Of these versions and the prompts in force of the board's campaigns, in its category where it has one. A tie that
    nobody judged is no vote: it counts in win rates, and in the fit only where a campaign wants it (`ties_fitted`).
    """
    replies = _in_force().filter(prompt__prompt_set__in=board.campaigns.values("prompt_set"))
    found = _ties(_of(replies, versions, board.category))
    return Counter((a, b) for _, a, b in found)


def by_version(known: Counter[tuple[int, int]]) -> Counter[int]:
    """Version id -> its known ties with all others."""
    found: Counter[int] = Counter()
    for pair, count in known.items():
        for version in pair:
            found[version] += count
    return found


def ties_fitted(campaigns: Iterable[Campaign], versions: Collection[int], category: str = "") -> list[CountedVote]:
    """The known ties that belong in a fit, as tied votes of nobody: those of the campaigns that want so.

    Of these versions, which are those that were judged: what is known of a chatbot by its ties alone ranks it nowhere.
    One each, however many of the campaigns have it.
    """
    found: set[Tie] = set()
    for campaign in campaigns:
        if campaign.fits_known_ties:
            found.update(_ties(_of(_replies(campaign), versions, category)))
    return [CountedVote(a, b, prompt, None, 0, False) for prompt, a, b in sorted(found)]


def ties_of(campaign: Campaign) -> list[Tie]:
    """All known ties of whoever takes part, or took part, in this campaign, by prompt."""
    return sorted(_ties(_replies(campaign)))


def fitted_mark(campaigns: Iterable[Campaign]) -> str:
    """A hash that changes whenever `ties_fitted` may: replies and prompts are corrected by further rows, never altered.
    Empty where no campaign wants them in its fit."""
    seen = [
        (campaign.pk, *_replies(campaign).aggregate(last=Max("pk"), count=Count("pk")).values())
        for campaign in campaigns
        if campaign.fits_known_ties
    ]
    return hashlib.sha256(repr(seen).encode()).hexdigest() if seen else ""


def _replies(campaign: Campaign) -> QuerySet[Reply]:
    """Everything that can be shown of whoever takes part, or took part, in this campaign."""
    takes_part = campaign.entrants.values("version")
    return _in_force().filter(version__in=takes_part, prompt__prompt_set=campaign.prompt_set_id)


def _in_force() -> QuerySet[Reply]:
    return Reply.objects.shown().filter(prompt__corrected_by__isnull=True).order_by()


def _of(replies: QuerySet[Reply], versions: Collection[int], category: str) -> QuerySet[Reply]:
    return replies.filter(version__in=versions, **({"prompt__category": category} if category else {}))


def _ties(replies: QuerySet[Reply]) -> Iterator[Tie]:
    """Only replies whose text somebody else has on the same prompt are read one by one."""
    texts = replies.values_list("prompt", "sha256").annotate(count=Count("pk")).filter(count__gt=1)
    alike: dict[tuple[int, str | None], list[int]] = {(prompt, sha256): [] for prompt, sha256, _ in texts}
    said = replies.filter(prompt__in={prompt for prompt, _ in alike}).values_list("prompt", "sha256", "version")
    for prompt, sha256, version in said:
        if (prompt, sha256) in alike:
            alike[prompt, sha256].append(version)
    for (prompt, _), group in alike.items():
        for a, b in combinations(sorted(group), 2):
            yield prompt, a, b
