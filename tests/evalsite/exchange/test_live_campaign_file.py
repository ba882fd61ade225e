"""A live campaign as a file: its settings come back as they were, and wrong ones name line and key."""

from typing import Any

import pytest
import yaml

from evalsite.accounts.models import Organisation
from evalsite.campaigns.models import Aspect
from evalsite.chatbots.services import chatbot_create
from evalsite.core.env import networks
from evalsite.core.errors import Conflict
from evalsite.endpoints.options import EndpointSettings
from evalsite.endpoints.services import endpoint_register
from evalsite.exchange.campaign_file import CampaignFileError, campaign_read, campaign_take, campaign_write

GOOD = """\
touchstone: 1
campaign:
  name: Talks
  slug: talks
  mode: live
  pay_rate: "0.60"
live:
  selection: sata
  fallback: written
  chatbots_per_conversation: 2
  minimum_turns: 5
  maximum_turns: 12
  opening_topics: [A trip, Cooking]
  pay_per: conversation
aspects:
- key: overall
  question: Which replies fit?
chatbots:
- name: Anna
- name: Bert
  version: "2"
"""


@pytest.fixture
def versions(organisation: Organisation, settings: Any) -> None:
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    for name, label in (("Anna", "1"), ("Bert", "2")):
        chatbot = chatbot_create(organisation=organisation, name=name)
        address = EndpointSettings(adapter="openai", url="https://chat.example.org/v1", model="m")
        endpoint_register(chatbot=chatbot, label=label, settings=address)


@pytest.mark.usefixtures("versions")
def test_live_campaign_comes_back_as_it_was(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(GOOD))
    live = campaign.live
    assert (campaign.mode, live.setting, live.minimum_turns, live.maximum_turns) == ("live", "sata_written", 5, 12)
    assert (live.opening_topics, live.pay_per) == (["A trip", "Cooking"], "conversation")
    assert campaign.rubric.aspects.get().kind == Aspect.Kind.SELECT_ANY
    assert campaign.entrants.count() == 2
    written = yaml.safe_load(campaign_write(campaign))
    assert written["campaign"]["mode"] == "live"
    assert written["prompts"] == []
    again = campaign_read(campaign_write(campaign).replace("slug: talks", "slug: again"))
    assert again.live == {**written["live"]}


def test_live_chatbot_that_is_not_there_is_refused(organisation: Organisation) -> None:
    with pytest.raises(Conflict, match="has no live chatbot Anna of version '1'"):
        campaign_take(organisation=organisation, given=campaign_read(GOOD))
    assert not organisation.campaigns.exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "said"),
    [
        ("minimum_turns: 5", "minimum_turns: 13", 12, "live.maximum_turns", "is above the maximum"),
        (
            "chatbots_per_conversation: 2",
            "chatbots_per_conversation: 3",
            10,
            "live.chatbots_per_conversation",
            "must be at most 2",
        ),
        ("fallback: written", "fallback: none", 9, "live.fallback", "must be one of"),
        ("pay_per: conversation", "pay_by: turn", 14, "live.pay_by", "is not known here"),
        ("  mode: live\n", "", 6, "live", "needs mode: live"),
        ("chatbots:\n", "prompts:\n- {id: p, text: Hi}\nchatbots:\n", 18, "prompts", "must be empty"),
    ],
    ids=["minimum above maximum", "too many chatbots", "fallback", "unknown key", "static", "prompts"],
)
def test_wrong_setting_names_line_and_key(old: str, new: str, line: int, key: str, said: str) -> None:
    with pytest.raises(CampaignFileError) as caught:
        campaign_read(GOOD.replace(old, new))
    found = [(one.line, one.key) for one in caught.value.problems if said in one.message]
    assert found == [(line, key)]
