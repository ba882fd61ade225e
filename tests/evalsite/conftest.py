"""A fixed cast: alice owns the organisation, bob and dora judge, charlie is a stranger."""

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.utils import translation

from evalsite.accounts.models import Organisation, User
from evalsite.accounts.services import user_create
from evalsite.adaptive.services import campaign_open
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.environment import PRODUCTION, REDIS_PREFIX, REDIS_URL
from tests.evalsite.cast import OPEN, CampaignMaker, run_jobs
from tests.processes import forget_redis_keys


@pytest.fixture(autouse=True)
def nobody_has_knocked() -> None:
    """What was counted of one test's people and its address does not count against the next one's.

    SQLite gives each test's alice the id of the last one's, and a run's tests all come from one address. Redis is not
    emptied: others use it too.
    """
    if PRODUCTION:
        forget_redis_keys(REDIS_URL, f"{REDIS_PREFIX}:1")  # Django's cache: the prefix, and the version of its keys
    else:
        cache.clear()


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A request leaves its reader's language behind in this thread; the next test begins with the site's own."""
    with translation.override(settings.LANGUAGE_CODE):
        yield


@pytest.fixture
def alice(db: None) -> User:
    return user_create(username="alice", password="correct horse battery")


@pytest.fixture
def charlie(db: None) -> User:
    return user_create(username="charlie", password="correct horse battery")


@pytest.fixture
def owner(alice: User) -> Client:
    """alice in her browser, logged in."""
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def organisation(alice: User) -> Organisation:
    return alice.personal_organisation


@pytest.fixture
def make_campaign(organisation: Organisation) -> CampaignMaker:
    """A campaign of `chatbots` chatbots on `prompts` prompts, opened and planned unless `start` is False."""

    def make(
        *,
        slug: str = "trial",
        design: Design = OPEN,
        chatbots: int = 4,
        prompts: int = 6,
        start: bool = True,
        organisation: Organisation = organisation,
    ) -> Campaign:
        new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "general") for n in range(prompts)]
        prompt_set = prompt_set_create(organisation=organisation, name=slug, prompts=new)
        campaign = campaign_create(
            organisation=organisation, name=slug.title(), slug=slug, prompt_set=prompt_set, design=design
        )
        for n in range(chatbots):
            version = version_create(chatbot=chatbot_create(organisation=organisation, name=f"{slug} bot {n}"))
            replies = {prompt: f"Bot {n} on {prompt.key}." for prompt in prompt_set.prompts.all()}
            replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
            entrant_add(campaign=campaign, version=version)
        if start:
            campaign_open(campaign=campaign)
            run_jobs()
        campaign.refresh_from_db()
        return campaign

    return make


@pytest.fixture
def campaign(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign()


@pytest.fixture
def bob(campaign: Campaign) -> Annotator:
    return annotator_enrol(campaign=campaign)


@pytest.fixture
def dora(campaign: Campaign) -> Annotator:
    return annotator_enrol(campaign=campaign)


@pytest.fixture
def stranger() -> Client:
    return Client()
