"""Fixtures of a fixed cast: alice owns the organisation, bob and dora judge, charlie is a stranger."""

from collections.abc import Iterator
from functools import partial

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import user_create
from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import CampaignMaker, campaign_make
from tests.processes import forget_cache
from tests.shared import shared


@pytest.fixture(autouse=True)
def nobody_has_knocked() -> None:
    """What was counted of one test's people and its address does not count against the next one's.

    SQLite gives each test's alice the id of the last one's, and a run's tests all come from one address.
    """
    forget_cache()


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A request leaves its reader's language behind in this thread; the next test begins with the site's own."""
    with translation.override(settings.LANGUAGE_CODE):
        yield


@shared
def alice() -> User:
    return user_create(username="alice", password="correct horse battery")


@shared(late=True)
def charlie() -> User:
    return user_create(username="charlie", password="correct horse battery")


@pytest.fixture
def owner(alice: User) -> Client:
    """alice in her browser, logged in."""
    client = Client()
    client.force_login(alice)
    return client


@shared
def organisation(alice: User) -> Organisation:
    return alice.personal_organisation


@shared
def make_campaign(organisation: Organisation) -> CampaignMaker:
    """A campaign of `chatbots` chatbots on `prompts` prompts, opened and planned unless `start` is False."""
    return partial(campaign_make, organisation_id=organisation.pk)


@shared
def campaign(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign()


@shared
def bob(campaign: Campaign) -> Annotator:
    return annotator_enrol(campaign=campaign)


@shared
def dora(campaign: Campaign) -> Annotator:
    return annotator_enrol(campaign=campaign)


@pytest.fixture
def stranger() -> Client:
    return Client()
