"""A live campaign of alice's with four chatbots, whose endpoints no test reaches: outcomes are recorded by hand."""

from typing import Any

import pytest

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Campaign
from evalsite.core.env import networks
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.dialogues.steps import live_campaign_make
from tests.shared import shared


@pytest.fixture(autouse=True)
def loopback(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow calls to this machine, and keep the keys of each test apart."""
    monkeypatch.setenv("TOUCHSTONE_ENDPOINT_NETWORKS", "127.0.0.0/8")
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]


@shared
def soba(organisation: Organisation) -> Campaign:
    """SOBA with two chatbots per conversation."""
    return live_campaign_make(organisation=organisation, slug="soba")


@shared
def sata(organisation: Organisation) -> Campaign:
    """SATA with three chatbots per conversation and written replies."""
    return live_campaign_make(
        organisation=organisation,
        slug="sata",
        selection="sata",
        fallback="written",
        chatbots_per_conversation=3,
        count_first_turn=True,
    )


@shared
def emma(soba: Campaign, sata: Campaign) -> Annotator:
    """An annotator who has joined both campaigns."""
    annotator = annotator_enrol(campaign=soba)
    return annotator_enrol(campaign=sata, annotator=annotator)
