"""An annotator's program, and what it was given to judge."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from tests.evalsite.api.client import CLAIMS, Api
from tests.evalsite.api.operations import Tenant, tenant_make
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared


@pytest.fixture
def api(campaign: Campaign) -> Api:
    answer = Api().post("/api/v1/annotators", {"campaign": campaign.slug, "kind": "simulated"})
    assert answer.status_code == 201
    return Api(answer.json()["token"])


@pytest.fixture
def block(api: Api) -> Any:
    return api.post(CLAIMS).json()["assignments"]


@pytest.fixture
def assignment(block: Any) -> Any:
    return block[0]


@shared
def there(make_campaign: CampaignMaker, alice: User, charlie: User) -> Tenant:
    """alice's campaigns, with one of everything; charlie has an account."""
    return tenant_make(make_campaign, alice, "trial")


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Requests share the test's connection and transaction, as those of Django's own test client do."""
    ends = (request_started, request_finished)
    for signal in ends:
        signal.disconnect(close_old_connections)
    yield
    for signal in ends:
        signal.connect(close_old_connections)
