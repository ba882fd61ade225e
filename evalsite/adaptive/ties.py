"""Known ties: prompts to which two chatbots reply with the same text. Nobody is asked which reply is better."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from django.db.models import Count

from evalsite.adaptive.models import Board
from evalsite.chatbots.models import Reply


def known_ties(board: Board, versions: Sequence[int]) -> Counter[tuple[int, int]]:
    """Two versions' ids, the lower one first -> on how many prompts they are known to tie.

    Of these versions and the prompts in force of the board's campaigns, in its category where it has one. A tie that
    nobody judged is no vote: it counts in win rates and is no part of the fit.
    """
    replies = Reply.objects.filter(
        version__in=versions,
        prompt__prompt_set__in=board.campaigns.values("prompt_set"),
        prompt__corrected_by__isnull=True,
        sample=1,
        text__isnull=False,
        corrected_by__isnull=True,
    ).order_by()
    if board.category:
        replies = replies.filter(prompt__category=board.category)
    texts = replies.values_list("prompt", "sha256").annotate(count=Count("pk")).filter(count__gt=1)
    alike: dict[tuple[int, str | None], list[int]] = {(prompt, sha256): [] for prompt, sha256, _ in texts}
    said = replies.filter(prompt__in={prompt for prompt, _ in alike}).values_list("prompt", "sha256", "version")
    for prompt, sha256, version in said:
        if (prompt, sha256) in alike:
            alike[prompt, sha256].append(version)
    return Counter(pair for group in alike.values() for pair in combinations(sorted(group), 2))


def by_version(known: Counter[tuple[int, int]]) -> Counter[int]:
    """Version id -> its known ties with all others."""
    found: Counter[int] = Counter()
    for pair, count in known.items():
        for version in pair:
            found[version] += count
    return found
