"""Cost of releases: turns whose calls are recorded together advance together."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.dialogues.models import Turn
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.dialogues.steps import answer_all, begin, live_campaign_make, post

pytestmark = pytest.mark.django_db


def queries_to_release(campaign: Campaign, people: int) -> int:
    """Return the number of queries that record all calls of so many turns and release them."""
    turns = [post(begin(campaign, annotator_enrol(campaign=campaign))) for _ in range(people)]
    with CaptureQueriesContext(connection) as queries:
        assert answer_all() == 2 * people
    states = Turn.objects.filter(pk__in=[turn.pk for turn in turns]).values_list("state", flat=True)
    assert set(states) == {Turn.State.RELEASED}
    return len(queries)


def test_turns_released_together_share_their_queries(organisation: Organisation) -> None:
    campaign = live_campaign_make(organisation=organisation, chatbots=2)
    queries_to_release(campaign, 1)  # the first calls of a day create its sums of costs
    assert queries_to_release(campaign, 4) == queries_to_release(campaign, 1)
