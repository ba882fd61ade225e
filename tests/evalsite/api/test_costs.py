"""What one request asks of the database, however large the block is and however much there is."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol, token_issue
from tests.evalsite.api.client import CLAIMS, Api, answer, judgment_url


@pytest.fixture
def api(bob: Annotator) -> Api:
    return Api(token_issue(annotator=bob))


def test_a_block_of_three_costs_as_many_queries_as_a_block_of_one(campaign: Campaign) -> None:
    costs = []
    for count in (1, 3):
        api = Api(token_issue(annotator=annotator_enrol(campaign=campaign)))
        with CaptureQueriesContext(connection) as asked:
            block = api.post(CLAIMS, {"count": count})
        assert len(block.json()["assignments"]) == count
        costs.append(len(asked))
    assert costs[0] == costs[1] <= 20


def test_an_answer_costs_few_queries(campaign: Campaign, api: Api) -> None:
    first, second, *_ = api.post(CLAIMS).json()["assignments"]
    api.post(judgment_url(first), answer())  # it opens the batch
    with CaptureQueriesContext(connection) as asked:
        assert api.post(judgment_url(second), answer()).status_code == 201
    assert len(asked) <= 10
