"""Known ties: prompts on which two chatbots reply with the same text, so that nobody has to compare them."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from django.db.models import Count, Max, QuerySet

from evalsite.boards.models import Board
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.judgments.selectors import CountedVote

Tie = tuple[int, int, int]  # Prompt and two versions, the lower ID first.


def known_ties(board: Board, versions: Collection[int]) -> Counter[tuple[int, int]]:
    """Map pairs of version IDs, the lower one first, to the number of prompts on which they tie.

    Covers these versions and the current prompts of the board's campaigns, within the board's category if it has one. A
    tie without a judgment is no vote. It counts in win rates, and in the fit only if a campaign enables that
    (`ties_fitted`).
    """
    replies = _in_force().filter(prompt__prompt_set__in=board.campaigns.values("prompt_set"))
    found = _ties(_of(replies, versions, board.category))
    return Counter((a, b) for _, a, b in found)


def by_version(known: Counter[tuple[int, int]]) -> Counter[int]:
    """Map version IDs to the number of known ties with all others."""
    found: Counter[int] = Counter()
    for pair, count in known.items():
        for version in pair:
            found[version] += count
    return found


def ties_fitted(campaigns: Iterable[Campaign], versions: Collection[int], category: str = "") -> list[CountedVote]:
    """Return the known ties to include in a fit, as tied votes without an annotator.

    Only campaigns that enable this contribute. `versions` are the judged versions, because ties alone do not rank a
    chatbot. A tie that several campaigns share counts once.
    """
    found: set[Tie] = set()
    for campaign in campaigns:
        if campaign.fits_known_ties:
            found.update(_ties(_of(_replies(campaign), versions, category)))
    return [CountedVote(a, b, prompt, None, 0, False) for prompt, a, b in sorted(found)]


def ties_of(campaign: Campaign) -> list[Tie]:
    """Return all known ties of the current and former entrants of this campaign, by prompt."""
    return sorted(_ties(_replies(campaign)))


def fitted_mark(campaigns: Iterable[Campaign]) -> str:
    """Return a hash that changes whenever the result of `ties_fitted` may change; empty if no campaign fits ties.

    Counting rows is enough, because corrections add replies and prompts and never alter them.
    """
    seen = [
        (campaign.pk, *_replies(campaign).aggregate(last=Max("pk"), count=Count("pk")).values())
        for campaign in campaigns
        if campaign.fits_known_ties
    ]
    return hashlib.sha256(repr(seen).encode()).hexdigest() if seen else ""


def _replies(campaign: Campaign) -> QuerySet[Reply]:
    """Return every visible reply of the current and former entrants of this campaign."""
    takes_part = campaign.entrants.values("version")
    return _in_force().filter(version__in=takes_part, prompt__prompt_set=campaign.prompt_set_id)


def _in_force() -> QuerySet[Reply]:
    return Reply.objects.shown().filter(prompt__corrected_by__isnull=True).order_by()


def _of(replies: QuerySet[Reply], versions: Collection[int], category: str) -> QuerySet[Reply]:
    return replies.filter(version__in=versions, **({"prompt__category": category} if category else {}))


def _ties(replies: QuerySet[Reply]) -> Iterator[Tie]:
    """Yield the ties. Read single replies only where another chatbot has the same text on the same prompt."""
    texts = replies.values_list("prompt", "sha256").annotate(count=Count("pk")).filter(count__gt=1)
    alike: dict[tuple[int, str | None], list[int]] = {(prompt, sha256): [] for prompt, sha256, _ in texts}
    duplicates = replies.filter(prompt__in={prompt for prompt, _ in alike}).values_list("prompt", "sha256", "version")
    for prompt, sha256, version in duplicates:
        if (prompt, sha256) in alike:
            alike[prompt, sha256].append(version)
    for (prompt, _), group in alike.items():
        for a, b in combinations(sorted(group), 2):
            yield prompt, a, b
