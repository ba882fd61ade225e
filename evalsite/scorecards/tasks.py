"""The worker's job of scorecards."""

from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.scorecards.live_conversations import live_mark
from evalsite.scorecards.live_sets import live_sets_update
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.services import SCORECARD_JOB

jobs.sweeps(live_sets_update, every_s=60.0)


@jobs.handles(SCORECARD_JOB, slow=True)
def scorecard(lease: jobs.Lease) -> None:
    """Compute the scorecard of a set, unless it was deleted meanwhile, and drop earlier ones."""
    # Imported here: every process registers this, and only the worker should pay for numpy and scikit-learn.
    from evalsite.scorecards.computing import scorecard_compute
    from evalsite.scorecards.topics import site_classifier

    found = ConversationSet.objects.filter(pk=lease.args["set"]).first()
    if found is None:
        return
    mark = live_mark(found.campaign) if found.campaign else ""
    if not mark and not found.conversations.exists():
        found.scorecards.all().delete()
        return
    made = scorecard_compute(conversation_set=found, classify=site_classifier().classify)
    with write_transaction():
        found.scorecards.filter(pk__lt=made.pk).delete()
        ConversationSet.objects.filter(pk=found.pk).update(mark=mark)
