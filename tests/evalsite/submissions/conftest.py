"""A standing, moderated board of alice, and charlie who submits to it."""

import pytest

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.submissions.services import Accepted, submissions_accept
from tests.evalsite.cast import CampaignMaker
from tests.shared import shared


@shared
def board(make_campaign: CampaignMaker) -> Campaign:
    """Four chatbots on six prompts, collecting; it stands, and what is submitted waits for approval."""
    campaign = make_campaign()
    Campaign.objects.filter(pk=campaign.pk).update(standing=True)
    submissions_accept(campaign=campaign, accepted=Accepted(admission="moderated", prompts_downloadable=True))
    campaign.refresh_from_db()
    return campaign


@pytest.fixture
def open_board(board: Campaign) -> Campaign:
    """The same board, which everybody joins by themselves."""
    submissions_accept(campaign=board, accepted=Accepted(admission="open", prompts_downloadable=True))
    return board


@shared
def submitter() -> User:
    from evalsite.accounts.services import user_create

    user = user_create(username="sam", password="correct horse battery")
    user.email = "sam@example.org"
    user.save()
    return user
