"""Groups of annotators that belong together: one network, one burst of arrivals, or times as even as a program's.

Belonging together excludes nobody. It lowers the evidence of a shared preference that screening needs (`collusion`).
"""

from collections import defaultdict
from collections.abc import Sequence

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Enrolment
from evalsite.judgments.network_traces import networks_shared
from evalsite.judgments.selectors import CountedVote
from irt_engine.agreement.collusion import bursts, evenly_timed


def annotator_groups(campaign: Campaign, votes: Sequence[CountedVote]) -> list[set[int]]:
    """Return groups of annotators (keys); an annotator may be in several."""
    return [*networks_shared(campaign), *_bursts(campaign), *_evenly_timed(votes)]


def _bursts(campaign: Campaign) -> list[set[int]]:
    joined = list(Enrolment.objects.filter(campaign=campaign).order_by("pk").values_list("annotator_id", "joined_at"))
    found = bursts([at.timestamp() for _, at in joined])
    # Everybody at once is a class or a study that began, and no burst among others.
    return [{joined[place][0] for place in group} for group in found if 2 * len(group) <= len(joined)]


def _evenly_timed(votes: Sequence[CountedVote]) -> list[set[int]]:
    seconds: dict[int, list[float]] = defaultdict(list)
    for vote in votes:
        if vote.annotator is not None and vote.client_ms:
            seconds[vote.annotator].append(vote.client_ms / 1000)
    people = sorted(seconds)
    found = {people[place] for place in evenly_timed([seconds[one] for one in people])}
    return [found] if len(found) > 1 else []
